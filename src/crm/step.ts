import { z } from 'zod';

const Expression = z.string().min(1).max(16_384);
const status = z.int().min(200).max(599);
/** Names of steps and of links: they become fields of expressions. */
const stepName = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/);

/** One request of a mapping: an expression that makes it, or nothing when this event needs none. */
export const MappingStep = z.strictObject({
  name: stepName.describe('Later steps find the answer under `answers.<name>`.'),
  request: Expression.describe(
    'JSONata over {event, answers, links, options}: {"method", "path", "headers", "body"}, or nothing to leave the step out.',
  ),
  on: z
    .array(z.string().regex(/^call\.[a-z.]{1,40}$/))
    .min(1)
    .optional()
    .describe(
      'The types of events that this step is for; every type that the endpoint gets when left out.',
    ),
  each: Expression.optional().describe(
    'JSONata over the same that makes a list of objects with an `id` (a-z, 0-9, _): the step is done for each of them, which `request` finds as `item`. Its answer is `answers.<name>_<id>`, and a link that it remembers `links.<link>_<id>`.',
  ),
  accept: z
    .array(status)
    .optional()
    .describe('Further statuses that count as an answer, such as 404 of a lookup.'),
  itemStatuses: z
    .array(status)
    .optional()
    .describe(
      'Statuses that speak of this event alone, such as a 404 of one record: the endpoint itself is well.',
    ),
  expect: Expression.optional().describe(
    'JSONata over {answer, event, answers, links, options}: true, or the reason why this answer is a refusal (a 207, a 200 that holds an error).',
  ),
  remember: z
    .record(stepName, Expression)
    .optional()
    .describe(
      "JSONata over the same that makes the id of the CRM's record: kept for the call and this endpoint, found later under `links.<name>`.",
    ),
  once: z
    .boolean()
    .optional()
    .describe(
      'The step makes a record that the CRM cannot be asked to make only once. After a lost answer all steps begin anew, not before `settleSeconds`, so that a search before this step finds the record.',
    ),
  settleSeconds: z
    .int()
    .min(0)
    .max(3_600)
    .optional()
    .describe('A new record is found by the search of the CRM after this time; 5 by default.'),
  forget: z
    .strictObject({ on: z.array(status).min(1), links: z.array(stepName).min(1) })
    .optional()
    .describe(
      'With one of these statuses the remembered record is gone: its links are forgotten and the steps begin anew, once.',
    ),
  unlink: z
    .array(stepName)
    .min(1)
    .optional()
    .describe('Links that are forgotten when the step is answered: it removed their records.'),
  example: z
    .strictObject({ status, body: z.unknown() })
    .optional()
    .describe('An answer of the CRM: with it, the steps after this one are tried at the start.'),
});
export type MappingStep = z.infer<typeof MappingStep>;

/** At most so many requests go to an endpoint. */
export const RateLimits = z.strictObject({
  perSecond: z.number().positive().max(10_000).optional(),
  perDay: z
    .int()
    .positive()
    .optional()
    .describe('Counted in the database, for all nodes, by the day of UTC.'),
});
export type RateLimits = z.infer<typeof RateLimits>;
