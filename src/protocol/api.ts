import { z } from 'zod';
import { CallEvent, callEventTypes, Incomplete, LedgerFigures, Role, Turn } from './events.ts';
import { Sentiment } from './addons.ts';
import { ApiAgent } from './agents.ts';
import { CallContact } from './contact.ts';
import { page } from './page.ts';
import { DateTime, FreeObject, LanguageCode, Seconds, Uuid } from './values.ts';

/** The operator API: bodies of /api/*. Names of schemas (`meta`) are public: they appear in the API description. */

export const NewStreamRequest = z
  .strictObject({
    carrier: z.string().min(1),
    call_id: z
      .string()
      .min(1)
      .optional()
      .describe("The carrier's id of the call, when it is known."),
    metadata: FreeObject.optional().describe('Goes into custom_metadata; the token never does.'),
  })
  .meta({ id: 'NewStreamRequest' });
export type NewStreamRequest = z.infer<typeof NewStreamRequest>;

export const NewStream = z
  .object({
    url: z.string().describe('Enough by itself for a carrier that cannot send parameters.'),
    parameters: z.object({ token: z.string() }),
    expires_at: DateTime,
  })
  .meta({ id: 'NewStream' });
export type NewStream = z.infer<typeof NewStream>;

const maxTags = 50;

/** The notes that people write about a call. A missing field stays as it is. */
export const CallNotes = z
  .strictObject({
    notes: z.string().max(20_000).nullable().optional(),
    tags: z.array(z.string().trim().min(1).max(100)).max(maxTags).optional(),
  })
  .meta({ id: 'CallNotes' });

export const CallTranscript = z
  .object({
    call_id: z.string(),
    state: z.enum(['live', 'finishing', 'ended']).describe('`live`: more words may come.'),
    items: z.array(Turn),
  })
  .meta({ id: 'CallTranscriptFile' });

export const ApiCallState = z.enum(['live', 'finishing', 'ended']);
export type ApiCallState = z.infer<typeof ApiCallState>;

export const ApiLeg = z
  .object({
    id: z.string(),
    role: Role,
    track: z.string(),
    encoding: z.string(),
    sample_rate: z.int(),
    channels: z.int(),
    session_id: z.string().nullable(),
    ledger: LedgerFigures,
    state: z
      .enum(['waiting', 'live', 'resuming', 'finishing', 'done', 'failed'])
      .optional()
      .describe('Of the speech session behind it.'),
    language: LanguageCode.nullable()
      .optional()
      .describe('In which this party speaks now; null while it is in doubt.'),
    languages: z
      .array(LanguageCode)
      .optional()
      .describe('Every language that was sure on this leg, the latest last.'),
  })
  .meta({ id: 'CallLeg' });
export type ApiLeg = z.infer<typeof ApiLeg>;

export const CallMood = Sentiment.exclude(['unknown']);

const callFields = {
  id: z.string(),
  carrier: z.string(),
  carrier_call_id: z.string(),
  state: ApiCallState,
  direction: z.enum(['inbound', 'outbound']).nullable(),
  from: z.string().nullable(),
  to: z.string().nullable(),
  started_at: DateTime,
  hung_up_at: DateTime.nullable().optional().describe('When the phone call was over.'),
  duration: Seconds.nullable()
    .optional()
    .describe('Of the phone call, from its start to the hang-up; null while it goes on.'),
  ended_at: DateTime.nullable().describe('When its last words were there.'),
  custom_metadata: FreeObject,
  language: LanguageCode.nullable()
    .optional()
    .describe('In which the customer speaks; null while it is in doubt.'),
  legs: z.array(ApiLeg),
  paused: z.boolean().optional(),
  recording: z.boolean().optional().describe('Whether there is a recording to fetch.'),
  continues: z.string().nullable().optional(),
  end_reason: z.string().nullable().optional(),
  deadline: z
    .string()
    .nullable()
    .optional()
    .describe('The wait that ran out before every final came.'),
  warnings: z.unknown().optional().describe('What the operator should know about this call.'),
  incomplete: Incomplete.nullable()
    .optional()
    .describe('What of an ended call has no words, and why; null for one that is whole.'),
  counts: z.unknown().optional().describe('Frames lost, repeated or late, gaps and reconnects.'),
  statistics: z
    .unknown()
    .optional()
    .describe('Talk, interruptions and dead air, as in call.ended.'),
  summary: z.unknown().optional().describe('As in call.summary, once it is made.'),
  mood: CallMood.nullable()
    .optional()
    .describe('Of the whole call; null before its summary, and where sentiment was not asked for.'),
  notes: z.string().nullable().optional().describe('What people wrote beside the call.'),
  tags: z.array(z.string()).optional().describe('As people wrote them, in their order.'),
  agent: ApiAgent.nullable().optional().describe('Who has the call; null where nobody is known.'),
  contact: CallContact.nullable()
    .optional()
    .describe('The other party, as the CRM had it when the call began; null where it knew none.'),
};

export const ApiCall = z
  .object({
    ...callFields,
    transcript: z.array(Turn),
    judged_turns: z
      .array(z.string())
      .optional()
      .describe(
        'The `utterance_id` of each utterance whose sentiment is known: one without a call.sentiment is neutral.',
      ),
  })
  .meta({ id: 'Call' });
export type ApiCall = z.infer<typeof ApiCall>;

export const CallSort = z.enum(['newest', 'oldest', 'longest', 'shortest']);

export const LastTurn = Turn.pick({
  role: true,
  speaker: true,
  speaker_provisional: true,
  text: true,
});

/** A call in a list. `GET /api/calls/{id}` adds its words. */
export const CallItem = z
  .object({
    ...callFields,
    last_turn: LastTurn.nullable().describe(
      'The beginning of the last turn of an ended call, at most 200 characters.',
    ),
  })
  .meta({ id: 'CallItem' });
export type CallItem = z.infer<typeof CallItem>;

/** The carrier's own status callbacks about a call. */
export const CallStatusPage = page(z.object({ received_at: DateTime, status: z.unknown() })).meta({
  id: 'CallStatusPage',
});

/** Requests another reading of a recording. The words follow as call.transcript.revised. */
export const TranscribeAgain = z
  .object({
    status: z
      .enum(['ordered', 'already', 'waiting'])
      .describe(
        '`already`: it is on its way; `waiting`: the call is not over for us, its audio waits in the journal.',
      ),
  })
  .meta({ id: 'TranscribeAgain' });
export type TranscribeAgain = z.infer<typeof TranscribeAgain>;

export const TranscribeAllAgain = z
  .object({
    ordered: z.int(),
    already: z.int().describe('Are on their way.'),
    without_recording: z.int().describe('Cannot be read again: nothing of their audio is left.'),
    waiting: z.int().describe('Not over for us: their audio waits in the journal.'),
    next: z
      .string()
      .nullable()
      .describe('Where to go on: one request looks through 1,000 calls. Pass it as `before`.'),
  })
  .meta({ id: 'TranscribeAllAgain' });
export type TranscribeAllAgain = z.infer<typeof TranscribeAllAgain>;

export const CallPage = page(CallItem).meta({ id: 'CallPage' });
export const CallEventPage = page(CallEvent).meta({ id: 'CallEventPage' });
export type CallPage = z.infer<typeof CallPage>;
export type CallEventPage = z.infer<typeof CallEventPage>;

/**
 * Server-sent events of /api/live and /api/calls/{id}/live. The data of every message is one JSON object with a `type`,
 * and the SSE event has the same name. The CRM's events come in their envelopes, with an SSE id to resume from by
 * Last-Event-ID. Other messages have no id, since each replaces the one before.
 */
export const PartialMessage = z
  .object({
    type: z.literal('partial'),
    call_id: z.string(),
    leg_id: z.string(),
    role: Role,
    utterance: z.object({
      utterance_id: z.string(),
      session_id: z.string(),
      start: Seconds,
      end: Seconds,
      text: z.string(),
      language: LanguageCode,
    }),
  })
  .meta({
    id: 'PartialMessage',
    description: 'Words that are still being said. None come of calls that are redacted.',
  });

/** Changes of a call beside its events. Also sent for each call on connecting. */
const CallMessage = z
  .object({ type: z.literal('call'), call: ApiCall })
  .meta({ id: 'CallMessage' });

/** The loudness of each live leg, 0 to 1, a few times per second. */
const LevelsMessage = z
  .object({
    type: z.literal('levels'),
    levels: z.array(z.object({ call_id: z.string(), leg_id: z.string(), level: z.number() })),
  })
  .meta({ id: 'LevelsMessage' });

/** The requested position is no longer known, so the client must load everything again. */
const ResetMessage = z.object({ type: z.literal('reset') }).meta({ id: 'ResetMessage' });

const CallDeletedMessage = z
  .object({ type: z.literal('call-deleted'), call_id: z.string() })
  .meta({ id: 'CallDeletedMessage' });

/** Tells a listener that events follow. Its id is a position to resume from before the first of them. */
const ListeningMessage = z
  .object({ type: z.literal('listening') })
  .meta({ id: 'ListeningMessage' });

export const LiveFeedMessage = z
  .union([
    CallEvent,
    z.discriminatedUnion('type', [
      PartialMessage,
      CallMessage,
      LevelsMessage,
      ResetMessage,
      CallDeletedMessage,
      ListeningMessage,
    ]),
  ])
  .meta({ id: 'LiveFeedMessage' });
export type PartialMessage = z.infer<typeof PartialMessage>;
type CallMessage = z.infer<typeof CallMessage>;
type LevelsMessage = z.infer<typeof LevelsMessage>;
export type LiveFeedMessage = z.infer<typeof LiveFeedMessage>;

/** The arrival of frames. Drift is received audio minus elapsed time, positive if the audio is ahead. */
export const Cadence = z
  .object({ frames: z.int(), mean_ms: z.number(), longest_ms: z.int(), drift_ms: z.int() })
  .meta({ id: 'Cadence' });
export type Cadence = z.infer<typeof Cadence>;

/** Facts about one call for an engineer, beside its events: its streams, its sessions, the arrival of its frames. */
export const CallDiagnostics = z
  .object({
    zero_at: DateTime.nullable().describe("When the call's first byte came: zero of its clock."),
    hung_up_at: DateTime.nullable(),
    streams: z.array(
      z.object({
        carrier_stream_id: z.string(),
        opened_at: DateTime,
        closed_at: DateTime.nullable(),
        closed_by: z.string().nullable(),
      }),
    ),
    sessions: z.array(
      z.object({ id: z.string(), leg_id: z.string(), offset_s: Seconds, opened_at: DateTime }),
    ),
    legs: z.array(z.object({ id: z.string(), reconnects: z.int(), cadence: Cadence.nullable() })),
  })
  .meta({ id: 'CallEvidence' });
export type CallDiagnostics = z.infer<typeof CallDiagnostics>;

/** POST /api/test-events: sends an example of this type in the same way as real events. */
export const TestEventRequest = z
  .strictObject({
    type: z.enum(callEventTypes),
    endpoint: z
      .string()
      .max(64)
      .optional()
      .describe(
        'Only to this webhook. One with a mapping gets examples only when it is named: its mapping cannot see `test`, and the CRM behind it would keep an invented call.',
      ),
  })
  .meta({ id: 'TestEventRequest' });

export const TestEvent = z
  .object({
    event_id: z.string(),
    call_id: z
      .string()
      .describe('Of a call that there never was, and by which the deliveries are found.'),
    endpoints: z.array(z.string()).describe('The webhooks that get it.'),
    left_out: z
      .array(z.string())
      .describe('Webhooks with a mapping that want events of this type: `endpoint` names one.'),
  })
  .meta({ id: 'TestEvent' });
export type TestEvent = z.infer<typeof TestEvent>;

export const ChangedDeliveries = z
  .object({ changed: z.int() })
  .meta({ id: 'ChangedDeliveries', description: 'How many deliveries the request set in motion.' });

export const ApiJobCallbackState = z.enum(['pending', 'parked']);
export type ApiJobCallbackState = z.infer<typeof ApiJobCallbackState>;

/** A callback of a pre-recorded job that has not arrived. A callback that arrived is no longer listed. */
export const ApiJobCallback = z
  .object({
    id: z.string().describe('Stays the same over all attempts: the `webhook-id` of signed ones.'),
    job_id: Uuid,
    event: z.string(),
    target: z
      .enum(['request', 'webhook'])
      .describe('Whose address it is: that of the job’s request, or that of an account webhook.'),
    host: z
      .string()
      .nullable()
      .describe('Of the address; null before the first attempt, and where nothing may be kept.'),
    state: ApiJobCallbackState,
    attempts: z.int(),
    reason: z.string().nullable().describe('Why it has not arrived, for a person.'),
    created_at: DateTime,
    next_attempt_at: DateTime.nullable(),
    parked_at: DateTime.nullable().describe('Since when it waits for a person.'),
    can_retry: z.boolean().describe('False where nothing was kept that could be sent again.'),
  })
  .meta({ id: 'JobCallback' });
export type ApiJobCallback = z.infer<typeof ApiJobCallback>;

export const JobCallbackPage = page(ApiJobCallback).meta({ id: 'JobCallbackPage' });
export type JobCallbackPage = z.infer<typeof JobCallbackPage>;

export const TestCallRequest = z
  .strictObject({
    carrier: z
      .string()
      .max(40)
      .optional()
      .describe('Whose protocol is spoken; that of the first carrier unless said.'),
  })
  .meta({ id: 'TestCallRequest' });

export const TestCall = z
  .object({ call_id: z.string().nullable(), carrier: z.string(), carrier_call_id: z.string() })
  .meta({
    id: 'TestCall',
    description: 'The built-in conversation, on its way through the carrier socket.',
  });
export type TestCall = z.infer<typeof TestCall>;

const HealthState = z.object({
  state: z.enum(['ok', 'degraded', 'down']),
  detail: z.string().optional(),
});

const ApiCarrier = z
  .object({
    name: z.string().describe('As in its paths and on the command line.'),
    title: z.string(),
    state: z
      .enum(['ready', 'missing'])
      .describe('`missing`: no proof of its own is set, and only a stream token lets a stream in.'),
    set: z.array(z.string()).describe('Names of its settings that are set; never their values.'),
    missing: z.array(z.string()).describe('Names of settings that its own proof still wants.'),
    address: z.string().describe('What the carrier is told; `<...>` stands for a secret.'),
    voice: z
      .object({ address: z.string(), missing: z.array(z.string()) })
      .nullable()
      .describe('Its voice webhook, where it has one.'),
    status_address: z
      .string()
      .nullable()
      .describe('Where its status callbacks go, which bring numbers, direction and the end.'),
    steps: z.array(z.string()).describe('What to do at the carrier.'),
    last_stream_at: DateTime.nullable().describe(
      'When a stream began last, on any node; test calls show nothing of a carrier and do not count.',
    ),
    last_refused: z
      .object({ at: DateTime, reason: z.string() })
      .nullable()
      .describe('The last stream or webhook that this process refused since its start.'),
  })
  .meta({ id: 'Carrier' });
export type ApiCarrier = z.infer<typeof ApiCarrier>;

/** GET /api/carriers */
export const CarrierList = z.object({ items: z.array(ApiCarrier) }).meta({ id: 'CarrierList' });
export type CarrierList = z.infer<typeof CarrierList>;

/** GET /api/installation: what the operator's page shows about the process. It never contains a secret. */
export const ApiNode = z
  .object({
    id: z.string().describe('The name of its disk.'),
    self: z.boolean().describe('The one that answers.'),
    state: z
      .enum(['here', 'draining', 'left', 'lost'])
      .describe(
        '`draining`: it takes nothing new. `left`: it stopped and left its calls to the others. `lost`: it gave no sign of life, and the others take its calls over.',
      ),
    roles: z.array(z.string()),
    version: z.string(),
    address: z.string().nullable().describe('Where the others reach it; null where it is closed.'),
    legs: z.int(),
    capacity: z.int().describe('Legs that it takes.'),
    speech: z
      .object({ used: z.int(), capacity: z.int() })
      .nullable()
      .describe('Channels of live sessions at its speech service; null where it has none.'),
    started_at: DateTime,
    seen_at: DateTime.describe('Its latest sign of life, by the clock of the database.'),
    silent_seconds: z.number(),
    clock_ahead_seconds: z.number().describe('Of its own clock, before that of the database.'),
  })
  .meta({ id: 'Node' });
export type ApiNode = z.infer<typeof ApiNode>;

export const NodeList = z.object({ items: z.array(ApiNode) }).meta({ id: 'NodeList' });
export type NodeList = z.infer<typeof NodeList>;

export const Installation = z
  .object({
    version: z.string(),
    node: z.string(),
    started_at: DateTime,
    public_url: z.string(),
    roles: z.array(z.string()),
    insecure: z.boolean().describe('Strangers may stream or call: said loudly.'),
    health: z.record(z.string(), HealthState),
    recogniser: z
      .object({
        state: z.enum(['ready', 'starting', 'no-model', 'failed']),
        detail: z.string(),
        model: z.string().nullable(),
        languages: z.array(z.string()),
        streams: z.int(),
        capacity: z.int(),
      })
      .nullable()
      .describe('Null where this process runs no speech service.'),
    memory_bytes: z.int(),
    features: z
      .array(
        z.object({
          name: z.string(),
          on: z.boolean(),
          detail: z.string().describe('How it is, or what is missing, for a person.'),
          setting: z.string().nullable().describe('The variable that changes it.'),
        }),
      )
      .describe('What is on here and what is not.'),
    settings: z
      .array(
        z.object({
          name: z.string().describe('In the file of the settings.'),
          env: z.string().nullable().describe('In the environment; null where it has no variable.'),
          source: z.enum(['environment', 'file']),
          value: z.string().describe('As text; secrets are masked.'),
          secret: z.boolean(),
        }),
      )
      .describe('The settings that somebody chose.'),
  })
  .meta({ id: 'Installation' });
export type Installation = z.infer<typeof Installation>;
