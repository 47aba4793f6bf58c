import { z } from 'zod';
import { page } from './page.ts';
import { DateTime } from './values.ts';

export const ApiDeliveryState = z.enum(['pending', 'delivered', 'parked', 'skipped']);
export type ApiDeliveryState = z.infer<typeof ApiDeliveryState>;

/** One event on its way to one endpoint. */
const ExchangeHeaders = z
  .record(z.string(), z.string())
  .describe('Those that may hold a secret are blanked.');

/** One request of an attempt, and its answer. */
const ApiExchange = z.object({
  step: z.string().optional().describe('Of the mapping; none where the event is sent as it is.'),
  request: z.object({
    method: z.string(),
    url: z.string().describe('Without user name and values of the query.'),
    headers: ExchangeHeaders,
    body: z.string().nullable(),
    is_event: z.literal(true).optional(),
  }),
  response: z
    .object({ status: z.int(), headers: ExchangeHeaders, body: z.string() })
    .optional()
    .describe('Its first 4,096 characters.'),
  failure: z.string().optional().describe('Why there is no answer.'),
});
export type ApiExchange = z.infer<typeof ApiExchange>;

export const ApiDelivery = z
  .object({
    id: z.string(),
    endpoint: z.string().describe('Its name in the configuration.'),
    event_id: z.string(),
    type: z.string(),
    call_id: z.string(),
    sequence: z.int(),
    state: ApiDeliveryState,
    attempts: z.int(),
    next_attempt_at: DateTime.nullable(),
    last_attempt_at: DateTime.nullable(),
    status: z
      .int()
      .nullable()
      .describe('HTTP status of the last answer; null when there was none.'),
    reason: z.string().nullable().describe('Why it is not delivered, for a person.'),
    answer: z.string().nullable().optional().describe('First bytes of the last answer.'),
    behind: z
      .int()
      .optional()
      .describe('Events of the call that wait behind this one; in a list with `by=call`.'),
    created_at: DateTime,
    delivered_at: DateTime.nullable(),
    history: z
      .array(
        z.object({
          at: DateTime,
          ms: z.number(),
          status: z.int().nullable(),
          error: z.string().nullable(),
        }),
      )
      .optional()
      .describe('The last attempts, when one delivery is read.'),
    exchanges: z
      .array(ApiExchange)
      .optional()
      .describe('What the last attempt sent and what came back, when one delivery is read.'),
  })
  .meta({ id: 'Delivery' });
export type ApiDelivery = z.infer<typeof ApiDelivery>;

export const DeliveryPage = page(ApiDelivery).meta({ id: 'DeliveryPage' });
export type DeliveryPage = z.infer<typeof DeliveryPage>;

/** An endpoint, and whether it takes what it is sent. */
export const ApiEndpoint = z
  .object({
    name: z.string(),
    disabled_at: DateTime.nullable().describe('Set when deliveries to it were switched off.'),
    reason: z.string().nullable().describe('Why they were switched off.'),
    host: z.string().nullable().describe('Where it is; null if this process does not know it.'),
    preset: z.string().nullable().describe('The CRM that it is, by the name of its preset.'),
    connected: z.boolean().describe('True where it was connected while the process ran.'),
    last_success_at: DateTime.nullable().describe('When it last took an event.'),
    last_failure: z
      .object({
        at: DateTime,
        status: z.int().nullable(),
        reason: z.string().nullable(),
        call_id: z.string(),
      })
      .nullable()
      .describe('The last attempt at an event that it has not taken yet.'),
    waiting_calls: z.int().describe('Calls with events that wait for it.'),
    parked_calls: z.int().describe('Calls that it refused: somebody has to act.'),
  })
  .meta({ id: 'Endpoint' });
export type ApiEndpoint = z.infer<typeof ApiEndpoint>;

export const EndpointPage = page(ApiEndpoint).meta({ id: 'EndpointPage' });
export type EndpointPage = z.infer<typeof EndpointPage>;

export const ApiCallDeliveryState = z.enum(['pending', 'parked', 'delivered']);

/** A call at an endpoint: the number of its events in each state, and the one that the others wait for. */
export const ApiCallDelivery = z
  .object({
    call_id: z.string(),
    endpoint: z.string(),
    state: ApiCallDeliveryState.describe(
      '`parked`: one of its events is; `pending`: one waits, and none is parked.',
    ),
    from: z.string().nullable(),
    to: z.string().nullable(),
    started_at: DateTime.nullable(),
    test: z.boolean().describe('True for an example that somebody sent.'),
    counts: z.object({
      delivered: z.int(),
      pending: z.int(),
      parked: z.int(),
      skipped: z.int(),
    }),
    head: z
      .object({
        id: z.string().describe('Of the delivery.'),
        type: z.string(),
        sequence: z.int(),
        attempts: z.int(),
        status: z.int().nullable(),
        reason: z.string().nullable(),
        next_attempt_at: DateTime.nullable(),
      })
      .nullable()
      .describe('The first event that is not delivered; the others wait for it.'),
    last_attempt_at: DateTime.nullable(),
    delivered_at: DateTime.nullable().describe('When it last took an event of the call.'),
  })
  .meta({ id: 'CallDelivery' });
export type ApiCallDelivery = z.infer<typeof ApiCallDelivery>;

export const CallDeliveryPage = page(ApiCallDelivery).meta({ id: 'CallDeliveryPage' });
export type CallDeliveryPage = z.infer<typeof CallDeliveryPage>;

/** POST /api/calls/{id}/deliveries/retry: sends every event of the call again from the given one on. */
export const RetryCallRequest = z
  .strictObject({ from: z.int().min(1).default(1), endpoint: z.string().optional() })
  .meta({ id: 'RetryCallRequest' });

/** POST /api/calls/{id}/deliveries/release. */
export const ReleaseCallRequest = z
  .strictObject({
    endpoint: z.string().optional().describe('Only at this endpoint; at every one when left out.'),
  })
  .meta({ id: 'ReleaseCallRequest' });
