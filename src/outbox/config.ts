import { z } from 'zod';
import { nearestName } from '../lib/nearest-name.ts';
import { eventPresets, type CallEventType, type EventPreset } from '../protocol/events.ts';

/** Standard Webhooks form; 24 to 64 bytes, as that standard asks. */
const Secret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]+={0,2}$/, 'must be whsec_ followed by base64')
  .refine((secret) => {
    const { length } = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return length >= 24 && length <= 64;
  }, 'must hold 24 to 64 bytes')
  .meta({ secret: true });

/** Names and values of headers as HTTP writes them: nothing that could begin a line of its own. */
export const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/);
export const headerValue = z.string().regex(/^[\t\x20-\x7e]*$/);

const Address = z.url({ protocol: /^https?$/ });

/* `call.skipped` is not chosen here: it goes to endpoints whose ordering rule is `skip`. */
const presetNames = Object.keys(eventPresets) as [EventPreset, ...EventPreset[]];
const eventNames = [...presetNames, ...eventPresets.all] as const;

/** Types, and presets that stand for several. */
const EventNames = z.array(z.enum(eventNames)).min(1);
const EventChoice = z.union([z.enum(presetNames), EventNames], { error: ({ input }) => whyNoChoice(input) }); // prettier-ignore

function whyNoChoice(input: unknown): string {
  const wrong = [input].flat().find((name) => !(eventNames as readonly unknown[]).includes(name));
  const choice = `${presetNames.join(', ')}, or a list of types such as call.completed`;
  if (typeof wrong !== 'string') return `choose ${choice}`;
  const near = nearestName(wrong, [...eventNames]);
  return `"${wrong.slice(0, 100)}" is no type of event${near === undefined ? '' : `, did you mean ${near}?`}: choose ${choice}`;
}

/** One request of a mapping: an expression that makes it, or nothing when this event needs none. */
const MappingStep = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,31}$/)
    .describe('Later steps find the answer under `answers.<name>`.'),
  request: z
    .string()
    .min(1)
    .max(16_384)
    .describe(
      'JSONata over {event, answers}: {"method", "path", "headers", "body"}, or nothing to leave the step out.',
    ),
  accept: z
    .array(z.int().min(200).max(599))
    .optional()
    .describe('Further statuses that count as an answer, such as 404 of a lookup.'),
  example: z
    .strictObject({ status: z.int().min(200).max(599), body: z.unknown() })
    .optional()
    .describe('An answer of the CRM: with it, the steps after this one are tried at the start.'),
});
type MappingStep = z.infer<typeof MappingStep>;

const Shape = z.union([
  z.literal('envelope'),
  z.strictObject({ steps: z.array(MappingStep).min(1).max(16) }),
]);

/** One webhook. */
export const Endpoint = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/),
    url: Address,
    events: EventChoice.optional().describe(
      '`completed` (one event a call), `live` (all that is told during it), `all`, or a list of types; all when left out.',
    ),
    secrets: z
      .array(Secret)
      .max(2)
      .default([])
      .describe(
        'The first signs; during a rotation both do. Without one nothing is signed: only for a `shape` of steps, as the API of a CRM checks no signature.',
      ),
    headers: z
      .record(headerName, headerValue)
      .default({})
      .meta({ secret: true })
      .describe("Sent with every request: a CRM's bearer token."),
    timeoutMs: z.int().min(100).max(60_000).default(15_000),
    ordering: z
      .enum(['block', 'skip'])
      .default('block')
      .describe(
        'What an event that is refused for good does: hold its call, or give way to a marker.',
      ),
    concurrency: z.int().min(1).max(1_000).default(50).describe('Calls delivered at once.'),
    shape: Shape.default('envelope'),
  })
  .refine(({ secrets, shape }) => secrets.length > 0 || shape !== 'envelope', {
    path: ['secrets'],
    message: 'a webhook address needs a secret (trunkline webhooks secret makes one)',
  });
export type Endpoint = z.infer<typeof Endpoint>;

/** The event types that the endpoint gets, `call.skipped` aside. */
export function typesOf({ events = 'all' }: Pick<Endpoint, 'events'>): CallEventType[] {
  const chosen = typeof events === 'string' ? [events] : events;
  const types = chosen.flatMap((one): readonly CallEventType[] =>
    Object.hasOwn(eventPresets, one) ? eventPresets[one as EventPreset] : [one as CallEventType],
  );
  return [...new Set(types)];
}

/** The types that a person or a program names, presets among them, or what is wrong with the names. */
export function typesNamed(names: readonly string[]): CallEventType[] | { problem: string } {
  const chosen = EventNames.safeParse(names);
  return chosen.success ? typesOf({ events: chosen.data }) : { problem: whyNoChoice([...names]) };
}

const day = 86_400_000;

export const OutboxConfig = z
  .strictObject({
    webhookUrl: Address.optional().meta({
      env: 'TRUNKLINE_WEBHOOK_URL',
      description:
        'The simplest CRM endpoint: our envelope, all event types unless TRUNKLINE_WEBHOOK_EVENTS says which.',
    }),
    webhookSecret: Secret.optional().meta({
      env: 'TRUNKLINE_WEBHOOK_SECRET',
      description: 'Signs that endpoint: whsec_ and base64 of 24 to 64 bytes.',
      secret: true,
    }),
    webhookSecretOld: Secret.optional().meta({
      env: 'TRUNKLINE_WEBHOOK_SECRET_OLD',
      description: 'The secret before, while receivers change over: both sign.',
      secret: true,
    }),
    webhookEvents: EventNames.optional().meta({
      env: 'TRUNKLINE_WEBHOOK_EVENTS',
      description:
        'The events that this endpoint gets: `completed` (one event a call), `live`, `all`, or types of event.',
    }),
    endpoints: z.array(Endpoint).max(64).default([]).meta({
      description: 'Further webhooks: each with name, url, secrets and its own rules.',
    }),
    retainDeliveredMs: z
      .int()
      .min(0)
      .max(36_500 * day)
      .default(30 * day)
      .meta({
        env: 'TRUNKLINE_EVENTS_RETAIN_MS',
        description:
          'Delivered events are kept this long, for replay and for GET /api/calls/{id}/events.',
      }),
    retainUndeliveredMs: z
      .int()
      .min(0)
      .max(36_500 * day)
      .default(90 * day)
      .meta({
        env: 'TRUNKLINE_EVENTS_RETAIN_UNDELIVERED_MS',
        description:
          'Events that never arrived are kept this long; a notice is logged a day before they go.',
      }),
    retryBudgetMs: z
      .int()
      .min(1_000)
      .max(366 * day)
      .default(3 * day)
      .meta({
        env: 'TRUNKLINE_WEBHOOK_RETRY_BUDGET_MS',
        description: 'An event is tried for this long; then its call is parked.',
      }),
    refusedTries: z.int().min(1).max(100).default(5).meta({
      env: 'TRUNKLINE_WEBHOOK_REFUSED_TRIES',
      description:
        'Attempts for an event whose content the endpoint refuses (400, 413, 422 and the like).',
    }),
    leaseMs: z.int().min(1_000).max(day).default(30_000).meta({
      env: 'TRUNKLINE_WEBHOOK_LEASE_MS',
      description: 'A claimed call belongs to this process for this long without a renewal.',
    }),
    pollMs: z.int().min(50).max(day).default(1_000).meta({
      env: 'TRUNKLINE_WEBHOOK_POLL_MS',
      description: 'Waiting calls are looked for this often when nothing else wakes the outbox.',
    }),
  })
  .superRefine((config, context) => {
    if (config.webhookUrl !== undefined && config.webhookSecret === undefined)
      context.addIssue({
        code: 'custom',
        path: ['webhookSecret'],
        message:
          'a webhook address needs a secret: set TRUNKLINE_WEBHOOK_SECRET (trunkline webhooks secret makes one)',
      });
    const names = config.endpoints.map((endpoint) => endpoint.name);
    if (config.webhookUrl !== undefined) names.push('webhook');
    for (const [index, name] of names.entries())
      if (names.indexOf(name) !== index)
        context.addIssue({
          code: 'custom',
          path: ['endpoints'],
          message: `two endpoints are named ${name}`,
        });
  });
export type OutboxConfig = z.infer<typeof OutboxConfig>;

/** The endpoint of the two environment variables is one like any other, named `webhook`. */
export function endpointsOf(config: OutboxConfig): Endpoint[] {
  if (config.webhookUrl === undefined || config.webhookSecret === undefined)
    return config.endpoints;
  const secrets = [
    config.webhookSecret,
    ...(config.webhookSecretOld ? [config.webhookSecretOld] : []),
  ];
  return [
    Endpoint.parse({
      name: 'webhook',
      url: config.webhookUrl,
      secrets,
      ...(config.webhookEvents === undefined ? {} : { events: config.webhookEvents }),
    }),
    ...config.endpoints,
  ];
}
