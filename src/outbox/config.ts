import { z } from 'zod';
import { AuthSetting } from '../crm/auth.ts';
import { filledPreset, type ContactSteps } from '../crm/preset.ts';
import { MappingStep, RateLimits } from '../crm/step.ts';
import { reasonOf } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest-name.ts';
import {
  eventPresets,
  callEventTypes,
  eventsOnlyNamed,
  type CallEventType,
  type EventPreset,
} from '../protocol/events.ts';

/** The form of Standard Webhooks: 24 to 64 bytes, as that standard requires. */
const Secret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]+={0,2}$/, 'must be whsec_ followed by base64')
  .refine((secret) => {
    const { length } = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return length >= 24 && length <= 64;
  }, 'must hold 24 to 64 bytes')
  .meta({ secret: true });

/** HTTP's own rules for names and values of headers. No value can start a new header line. */
export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of a header, such as x-api-key');
export const headerValue = z.string().regex(/^[\t\x20-\x7e]*$/, 'must be one line of ASCII');

const Address = z.url({ protocol: /^https?$/ });

/* `call.skipped` cannot be chosen here: it goes to endpoints whose ordering rule is `skip`. */
const presetNames = Object.keys(eventPresets) as [EventPreset, ...EventPreset[]];
const eventNames = [...presetNames, ...eventPresets.all, ...eventsOnlyNamed] as const;

/** Event types, and presets that stand for several types. */
const EventNames = z.array(z.enum(eventNames)).min(1);
const EventChoice = z.union([z.enum(presetNames), EventNames], { error: ({ input }) => whyNoChoice(input) }); // prettier-ignore

function whyNoChoice(input: unknown): string {
  const wrong = [input].flat().find((name) => !(eventNames as readonly unknown[]).includes(name));
  const choice = `${presetNames.join(', ')}, or a list of types such as call.completed`;
  if (typeof wrong !== 'string') return `choose ${choice}`;
  const near = nearestName(wrong, [...eventNames]);
  return `"${wrong.slice(0, 100)}" is no type of event${near === undefined ? '' : `, did you mean ${near}?`}: choose ${choice}`;
}

const Shape = z.union([
  z.literal('envelope'),
  z
    .strictObject({ steps: z.array(MappingStep).min(1).max(16) })
    .superRefine(({ steps }, context) => {
      const known: readonly string[] = callEventTypes;
      for (const { name, on = [] } of steps)
        for (const type of on)
          if (!known.includes(type))
            context.addIssue({ code: 'custom', message: `step ${name}: ${type} is no type of event` }); // prettier-ignore
    }),
]);

/** One webhook, or a CRM by the name of its preset. */
export const EndpointSetting = z
  .strictObject({
    name: z
      .string()
      .regex(
        /^[a-z0-9][a-z0-9_-]{0,63}$/,
        'must be lower case letters, digits, _ and -, at most 64',
      ),
    url: Address.optional().describe('Left out where a preset knows it.'),
    preset: z
      .string()
      .max(40)
      .optional()
      .describe(
        'A CRM that Trunkline knows: `trunkline crm list` names them. Nothing but a token is needed.',
      ),
    token: z
      .string()
      .min(1)
      .max(8_192)
      .regex(/^[\x21-\x7e]+$/, 'must be printable characters without spaces')
      .optional()
      .meta({ secret: true })
      .describe('The token or key of the CRM, as its preset asks.'),
    auth: AuthSetting.optional().describe(
      'The proof for the CRM where a fixed header is not enough: a token that is fetched and renewed.',
    ),
    options: z
      .record(z.string().max(40), z.union([z.string().max(256), z.number(), z.boolean()]))
      .optional()
      .describe('Options of the preset; expressions of a mapping find them under `options`.'),
    limits: RateLimits.optional().describe('How many requests are sent at most.'),
    events: EventChoice.optional().describe(
      '`completed` (one event a call), `live` (all that is told during it), `all`, or a list of types; all when left out. A preset takes `call.completed`, `call.wrapped` and `call.transcript.revised` alone, and `call.erased` with `on_erase: delete`.',
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
  .refine(
    ({ secrets, shape, preset }) =>
      secrets.length > 0 || shape !== 'envelope' || preset !== undefined,
    {
      path: ['secrets'],
      message: 'a webhook address needs a secret (trunkline webhooks secret makes one)',
    },
  )
  .refine(({ url, preset }) => url !== undefined || preset !== undefined, {
    path: ['url'],
    message: 'an endpoint needs a url, or a preset that knows it',
  })
  .refine(({ shape, preset }) => preset === undefined || shape === 'envelope', {
    path: ['shape'],
    message: 'a preset brings its own steps: leave out preset or shape',
  })
  .refine(({ token, preset }) => token === undefined || preset !== undefined, {
    path: ['token'],
    message: 'a token belongs to a preset; elsewhere set auth or headers',
  })
  .superRefine((setting, context) => {
    if (setting.preset === undefined) return;
    try {
      endpointOf(setting);
    } catch (error) {
      context.addIssue({ code: 'custom', path: ['preset'], message: reasonOf(error) });
    }
  });
export type EndpointSetting = z.infer<typeof EndpointSetting>;

/** An endpoint as the outbox works with it: a preset is filled in. */
export type Endpoint = Omit<EndpointSetting, 'url' | 'token'> & {
  url: string;
  /** The word before a fetched token. */
  scheme?: string;
  /** The look-up of a contact when a call begins. */
  lookup?: ContactSteps | undefined;
  /**
   * Set for an endpoint that was connected while the process ran: its address is guarded, and of private hosts only
   * these may be dialled. An address of the settings is trusted as it is written.
   */
  guarded?: { hosts: readonly string[] };
};

/** Throws with the reason where the preset lacks something. */
export function endpointOf(setting: EndpointSetting): Endpoint {
  const { url, token: _, preset, ...rest } = setting;
  if (preset === undefined) return { ...rest, url: url ?? '' };
  const filled = filledPreset({ ...setting, preset });
  return {
    ...rest,
    preset,
    url: filled.url,
    auth: filled.auth,
    scheme: filled.scheme,
    lookup: filled.lookup,
    options: filled.options,
    events: eventsOfPreset(filled.steps, rest.events),
    limits: { ...filled.limits, ...rest.limits },
    concurrency: Math.min(rest.concurrency, filled.concurrency),
    shape: { steps: filled.steps },
  };
}

/** The steps of a preset write the record of an ended call: they have nothing to say of another event. */
function eventsOfPreset(
  steps: readonly MappingStep[],
  events: Endpoint['events'] = 'all',
): Endpoint['events'] {
  const wanted = typesOf({ events });
  const taken = eventPresets.all.filter((type) => steps.some(({ on }) => on?.includes(type)));
  const known = taken.filter((type) => type !== 'call.erased');
  const types = known.filter((type) => wanted.includes(type));
  if (types.length === 0) throw new Error(`a preset takes ${known.join(' and ')} alone`);
  // An endpoint that makes records and is to delete them needs the erasure, whatever else was chosen.
  return taken.filter((type) => type === 'call.erased' || types.includes(type));
}

/** The event types that the endpoint gets, without `call.skipped`. */
export function typesOf({ events = 'all' }: Pick<Endpoint, 'events'>): CallEventType[] {
  const chosen = typeof events === 'string' ? [events] : events;
  const types = chosen.flatMap((one): readonly CallEventType[] =>
    Object.hasOwn(eventPresets, one) ? eventPresets[one as EventPreset] : [one as CallEventType],
  );
  return [...new Set(types)];
}

/** The types with these names, where a name may be a preset. If a name is unknown, an error message. */
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
    crm: z.string().max(40).optional().meta({
      env: 'TRUNKLINE_CRM',
      description: 'A CRM by the name of its preset: an endpoint named `crm`, without a file.',
    }),
    crmToken: z
      .string()
      .regex(/^[\x21-\x7e]{1,8192}$/, 'must be printable characters without spaces')
      .optional()
      .meta({ env: 'TRUNKLINE_CRM_TOKEN', description: 'Its token or key.', secret: true }),
    crmUrl: Address.optional().meta({
      env: 'TRUNKLINE_CRM_URL',
      description: 'The address of its API, where the preset does not know it.',
    }),
    crmOptions: z.string().max(1_024).optional().meta({
      env: 'TRUNKLINE_CRM_OPTIONS',
      description: 'Options of the preset, such as `subdomain=example,email=omar@example.com`.',
    }),
    endpoints: z.array(EndpointSetting).max(64).default([]).meta({
      description: 'Further webhooks: each with name, url, secrets and its own rules.',
    }),
    connectHosts: z.array(z.string().min(1)).default([]).meta({
      env: 'TRUNKLINE_CONNECT_HOSTS',
      description:
        'Private hosts that an endpoint connected on the page or by `trunkline crm connect` may have; public ones need no entry.',
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
    if (config.crm !== undefined) {
      names.push('crm');
      try {
        settingsOf({ ...config, webhookUrl: undefined, endpoints: [] });
      } catch (error) {
        const message =
          error instanceof z.ZodError ? (error.issues[0]?.message ?? '') : reasonOf(error);
        context.addIssue({ code: 'custom', path: ['crm'], message });
      }
    }
    for (const [index, name] of names.entries())
      if (names.indexOf(name) !== index)
        context.addIssue({
          code: 'custom',
          path: ['endpoints'],
          message: `two endpoints are named ${name}`,
        });
  });
export type OutboxConfig = z.infer<typeof OutboxConfig>;

/** The endpoints of the settings; those of environment variables are like any other, named `webhook` and `crm`. */
export function endpointsOf(config: OutboxConfig): Endpoint[] {
  return settingsOf(config).map(endpointOf);
}

function settingsOf(config: OutboxConfig): EndpointSetting[] {
  const settings: EndpointSetting[] = [];
  if (config.webhookUrl !== undefined && config.webhookSecret !== undefined)
    settings.push(
      EndpointSetting.parse({
        name: 'webhook',
        url: config.webhookUrl,
        secrets: [
          config.webhookSecret,
          ...(config.webhookSecretOld ? [config.webhookSecretOld] : []),
        ],
        events: config.webhookEvents,
      }),
    );
  if (config.crm !== undefined)
    settings.push(
      EndpointSetting.parse({
        name: 'crm',
        preset: config.crm,
        token: config.crmToken,
        url: config.crmUrl,
        options: config.crmOptions === undefined ? undefined : optionsIn(config.crmOptions),
      }),
    );
  return [...settings, ...config.endpoints];
}

/** `subdomain=example, email=omar@example.com` as options. */
function optionsIn(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '')
      .map((one) => {
        const at = one.indexOf('=');
        return at < 0 ? [one, 'true'] : [one.slice(0, at).trim(), one.slice(at + 1).trim()];
      }),
  );
}
