import { z } from 'zod';
import { defaultRoleRules, roleRuleSchema } from './roles.ts';
import { AgentSetting } from '../protocol/agents.ts';
import { languagesNamed } from '../protocol/language-names.ts';
import { longestNumberPauseS } from '../protocol/session-hints.ts';
import { SharedSecret } from '../port/secrets.ts';
import { redactionProblem } from '../language/redaction/redaction-names.ts';
import { SessionTemplate } from './session/session-template.ts';

/** An origin: scheme, host and perhaps a port, as browsers name the page around a frame. */
const PanelOrigin = z
  .string()
  .refine(
    (given) =>
      /^https?:$/.test(URL.parse(given)?.protocol ?? '') && URL.parse(given)?.origin === given,
    'must be a scheme and a host, perhaps with a port, and nothing after them: https://crm.example.com',
  );

const day = z.number().min(0).max(36_500);

/**
 * Refuses unknown names and types that no detector finds. They would mark calls as redacted although the words are
 * still there.
 */
const RedactedType = z
  .string()
  .min(1)
  .superRefine((name, context) => {
    const problem = redactionProblem(name);
    if (problem !== undefined)
      context.addIssue({ code: 'custom', message: `"${name}" ${problem}` });
  });

export const BridgeConfig = z.strictObject({
  rejoinWaitMs: z.number().int().min(0).max(600_000).default(5_000).meta({
    env: 'TRUNKLINE_REJOIN_WAIT_MS',
    description:
      'A call whose stream closed without a stop message waits this long for a new stream of the same call.',
  }),
  finalsWaitMs: z.number().int().min(100).max(600_000).default(10_000).meta({
    env: 'TRUNKLINE_FINALS_WAIT_MS',
    description:
      'The last finals may take this long after the hang-up while the speech service answers.',
  }),
  finishWithinMs: z
    .number()
    .int()
    .min(1_000)
    .max(366 * 24 * 3_600_000)
    .default(24 * 3_600_000)
    .meta({
      env: 'TRUNKLINE_FINISH_WITHIN_MS',
      description:
        'After the hang-up, audio that the speech service has not acknowledged is kept this long. After that it is declared a gap.',
    }),
  quietFillMs: z.number().int().min(0).max(60_000).default(3_000).meta({
    env: 'TRUNKLINE_QUIET_FILL_MS',
    description:
      'Once no frame has come for this long, silence keeps a leg on the clock of its call and lets the last utterance end; 0 writes none.',
  }),
  numberPauseS: z.number().min(0).max(longestNumberPauseS).default(1.5).meta({
    env: 'TRUNKLINE_NUMBER_PAUSE_S',
    description:
      'An utterance that ends inside a number, a spelling, a date or an address waits this much longer for the rest; all others end as ever. Only our own speech service does this; 0 waits for nothing.',
  }),
  summaryWaitMs: z.number().int().min(100).max(600_000).default(60_000).meta({
    env: 'TRUNKLINE_SUMMARY_WAIT_MS',
    description: 'The longest time that the summary of a call may take.',
  }),
  tokenLifeMs: z.number().int().min(1_000).max(86_400_000).default(30_000).meta({
    env: 'TRUNKLINE_STREAM_TOKEN_LIFE_MS',
    description: 'A stream token of POST /api/streams may wait this long for its stream.',
  }),
  maxLegs: z.number().int().min(1).max(1_000_000).default(2_000).meta({
    env: 'TRUNKLINE_MAX_LEGS',
    description: 'Legs held at once; further streams are refused with the reason.',
  }),
  roles: z.array(roleRuleSchema).default(defaultRoleRules).meta({
    description:
      'Rules that say which track is the customer and which the agent, by carrier, direction and track; the most specific rule wins.',
  }),
  agents: z.array(AgentSetting).max(10_000).default([]).meta({
    description:
      'Agents by id, with their name, extension and numbers: a call that names an extension, or on one of the numbers, is theirs.',
  }),
  dispositions: z
    .array(
      z.strictObject({
        name: z.string().trim().min(1).max(100),
        means: z.string().trim().min(1).max(300),
        examples: z.array(z.string().trim().min(1).max(300)).max(20).default([]),
      }),
    )
    .max(100)
    .default([])
    .refine(
      (list) => new Set(list.map(({ name }) => name)).size === list.length,
      'two have the same name',
    ) // prettier-ignore
    .meta({
      description:
        "The list of dispositions: each with a name, a sentence that says what it means, and sentences of customers as examples. A call's wrap-up suggests one where there is no doubt, and people choose from the list.",
    }),
  panelOrigins: z.array(PanelOrigin).max(100).default([]).meta({
    env: 'TRUNKLINE_PANEL_ORIGINS',
    description:
      'The addresses of desktops whose pages may show the panel in a frame, such as https://crm.example.com; none by default.',
  }),
  panelSecret: SharedSecret.min(
    32,
    'must have at least 32 characters: make one with openssl rand -hex 32',
  )
    .optional()
    .meta({
      env: 'TRUNKLINE_PANEL_SECRET',
      secret: true,
      description:
        'The secret with which a desktop signs tokens of the panel itself; without it only minted tokens open the panel.',
    }),
  stereoRoles: z
    .tuple([z.enum(['customer', 'agent']), z.enum(['customer', 'agent'])])
    .default(['customer', 'agent'])
    .meta({
      description: 'The roles of channel 0 and 1 of a stereo stream that is not split.',
    }),
  session: SessionTemplate.default({}).meta({
    description:
      'Fields of POST /v2/live laid over the telephony defaults: language_config, endpointing, realtime_processing and so on.',
  }),
  region: z.enum(['us-west', 'eu-west']).optional().meta({
    env: 'TRUNKLINE_REGION',
    description: 'Region asked for at the speech service.',
  }),
  callParameters: z
    .array(z.enum(['language', 'vocabulary']))
    .default(['language', 'vocabulary'])
    .meta({
      description: 'Carrier parameters that may change the session of their own call.',
    }),
  numberLanguages: z
    .record(
      z
        .string()
        .regex(
          /^\+?[\d\s().-]{0,40}\*?$|^sips?:.{1,200}$/,
          'must be a number, or the beginning of one and *',
        ),
      z
        .string()
        .refine(
          (named) => languagesNamed(named) !== undefined,
          'must be languages: es, Spanish, "de, fr, it", or auto',
        ),
    )
    .default({})
    .refine((all) => Object.keys(all).length <= 10_000, 'has more than 10000 numbers')
    .meta({
      description:
        'The languages of calls by the number that was called, such as { "+34910000000": "es", "+41*": "de, fr, it" }; a parameter of the call itself comes first.',
    }),
  dtmfEvents: z.boolean().default(false).meta({
    env: 'TRUNKLINE_DTMF_EVENTS',
    description: 'Key presses become call.dtmf events; the digit is masked in any case.',
  }),
  consentWithdrawKey: z
    .string()
    .regex(/^[0-9*#]$/, 'one key of a telephone: 0 to 9, * or #')
    .optional()
    .meta({
      env: 'TRUNKLINE_CONSENT_WITHDRAW_KEY',
      description:
        'The key with which a caller withdraws the consent: the call stays paused, and its audio is erased at its end. Not every carrier brings key presses.',
    }),
  consentWithdrawPhrases: z.array(z.string().min(2).max(200)).max(50).default([]).meta({
    env: 'TRUNKLINE_CONSENT_WITHDRAW_PHRASES',
    description:
      'Words with which a caller withdraws the consent, such as "do not record me"; what an agent says does not count.',
  }),
  neutralSentiment: z.boolean().default(false).meta({
    env: 'TRUNKLINE_NEUTRAL_SENTIMENT',
    description:
      'Utterances without a feeling are call.sentiment events too; call.summary and call.completed count them in any case.',
  }),
  agentSentiment: z.boolean().default(true).meta({
    env: 'TRUNKLINE_AGENT_SENTIMENT',
    description:
      'The feelings in what agents say are found, kept and told, like those of customers; `false` leaves them out, and with them those of legs on which both speak.',
  }),
  linkGeneration: z.string().max(100).default('').meta({
    env: 'TRUNKLINE_LINK_GENERATION',
    description:
      'Part of what links in call.completed are signed with; another text, at all nodes, makes the links useless that were given before.',
  }),
  linkLifeHours: z
    .number()
    .min(0)
    .max(366 * 24)
    .default(7 * 24)
    .meta({
      env: 'TRUNKLINE_LINK_LIFE_HOURS',
      description:
        'The links in call.completed open the page and the recording of their call without a key for this long; 0 gives none.',
    }),
  summaryType: z.enum(['general', 'bullet_points', 'concise']).default('general').meta({
    env: 'TRUNKLINE_SUMMARY_TYPE',
    description: 'The form of the summary in call.summary.',
  }),
  wrapUpS: z.coerce
    .number()
    .min(0)
    .max(7 * 86_400)
    .default(60)
    .meta({
      env: 'TRUNKLINE_WRAP_UP_S',
      description:
        'A wrap-up that nobody edited goes out as call.wrapped this many seconds after the summary.',
    }),
  redactEntities: z.array(RedactedType).default([]).meta({
    env: 'TRUNKLINE_REDACT',
    description:
      'Entity types that are redacted in everything that is stored and leaves for the CRM; the live feed then has no partials.',
  }),
  redactForm: z.enum(['MARKER', 'MASK']).default('MARKER').meta({
    env: 'TRUNKLINE_REDACT_FORM',
    description: 'The form of redacted text: the type in brackets, or the characters masked.',
  }),
  recording: z.enum(['auto', 'on', 'off']).default('auto').meta({
    env: 'TRUNKLINE_RECORDING',
    description:
      '`on` keeps the audio of calls; `auto` does so only while the process listens on loopback.',
  }),
  secondPass: z.enum(['on', 'auto', 'off']).default('auto').meta({
    env: 'TRUNKLINE_SECOND_PASS',
    description:
      '`on` reads the recording of an ended call again with care, for call.transcript.revised; `auto` does so for calls with a mixed leg, to tell its speakers apart.',
  }),
  secondPassesAtOnce: z.number().int().min(1).max(16).default(2).meta({
    env: 'TRUNKLINE_SECOND_PASSES_AT_ONCE',
    description: 'Recordings that are with the speech service at once; the others wait.',
  }),
  secondPassPieceS: z.number().int().min(10).max(86_400).default(7_200).meta({
    env: 'TRUNKLINE_SECOND_PASS_PIECE_S',
    description:
      'Seconds of a recording that one job of a second pass reads; a longer one is cut where nobody speaks. A service that refuses a piece as too long gets shorter ones.',
  }),
  secondPassWithinMs: z
    .number()
    .int()
    .min(1_000)
    .max(30 * 24 * 3_600_000)
    .default(24 * 3_600_000)
    .meta({
      env: 'TRUNKLINE_SECOND_PASS_WITHIN_MS',
      description:
        'A revised transcript may come this long after the summary; then call.warning says that none comes.',
    }),
  retentionDays: z
    .strictObject({
      calls: day.default(90).meta({
        env: 'TRUNKLINE_RETENTION_DAYS_CALLS',
        description: 'Days that an ended call is kept, with all that belongs to it.',
      }),
      recordings: day.default(30).meta({
        env: 'TRUNKLINE_RETENTION_DAYS_RECORDINGS',
        description: 'Days that the recording of an ended call is kept.',
      }),
      events: day.default(90).meta({
        env: 'TRUNKLINE_RETENTION_DAYS_EVENTS',
        description:
          'Days that delivered events are kept, where that is less than TRUNKLINE_EVENTS_RETAIN_MS.',
      }),
    })
    .prefault({}),
  liveBufferEvents: z.number().int().min(10).max(100_000).default(2_000).meta({
    description: 'Messages kept in memory for pages that come back with Last-Event-ID.',
  }),
});

export type BridgeConfig = z.output<typeof BridgeConfig>;
