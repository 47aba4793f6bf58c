import { z } from 'zod';
import { Chapter, NamedEntity, Sentiment, SentimentItem, Utterance, Word } from './addons.ts';
import {
  CallAlertData,
  CallChecklistData,
  CallHintData,
  CallSignalData,
  CallTaggedData,
} from './assist-events.ts';
import { CallScoredData } from './call-scores.ts';
import { AgentChangeData, EventAgent } from './agents.ts';
import { WrappedData } from './wrap-up.ts';
import { DateTime, FreeObject, LanguageCode, Seconds } from './values.ts';

/**
 * The events that tell the CRM about a call: one envelope, and the data of each type. Times in `data` are seconds of
 * the call, on one clock for both legs. `sequence` rises by one per event of a call.
 */
export const Role = z
  .enum(['customer', 'agent', 'mixed'])
  .describe('Who speaks; `mixed` where the carrier sends all parties in one channel.');
export type Role = z.infer<typeof Role>;
/** The side of a speaker whose side is known. */
export type Party = Exclude<Role, 'mixed'>;

export const EventCall = z
  .object({
    id: z.string(),
    carrier: z.string(),
    carrier_call_id: z.string().describe('Empty in call.erased.'),
    direction: z.enum(['inbound', 'outbound']).nullable(),
    from: z.string().nullable(),
    to: z.string().nullable(),
    started_at: DateTime,
    hung_up_at: DateTime.nullable()
      .optional()
      .describe('When the phone call was over; null in events of before.'),
    duration: Seconds.nullable()
      .optional()
      .describe('Of the phone call, from its start to the hang-up; null in events of before.'),
    agent: EventAgent.optional().describe('Who has the call; left out where nobody is known.'),
    language: LanguageCode.optional().describe(
      'In which the customer speaks; left out while that is in doubt.',
    ),
  })
  .meta({ id: 'EventCall' });
export type EventCall = z.infer<typeof EventCall>;

export const EventLeg = z
  .object({
    id: z.string(),
    role: Role,
    track: z.string(),
    session_id: z.string().nullable().describe('The speech session; null before there is one.'),
    language: LanguageCode.nullable()
      .optional()
      .describe(
        'In which this party speaks now: the one that was asked for, or the one that was heard; null while it is in doubt.',
      ),
  })
  .meta({ id: 'EventLeg' });
export type EventLeg = z.infer<typeof EventLeg>;

/**
 * Accounts for every byte of a leg's audio: received = acknowledged + gaps + paused. Filler and carrier losses are not
 * included.
 */
export const LedgerFigures = z
  .object({
    received: z.int(),
    acknowledged: z.int(),
    gaps: z.int(),
    paused: z.int(),
    filler: z.int().optional().describe('Silence that we added; in none of the others.'),
  })
  .meta({ id: 'Ledger' });
export type LedgerFigures = z.infer<typeof LedgerFigures>;

/** Made from the leg, the session and the session's own id, which starts again with every leg and session. */
const UtteranceId = z
  .string()
  .describe('Unique in its call, and the same in every event about the utterance.');

/** One party's uninterrupted words in the merged conversation. */
export const Turn = z
  .object({
    utterance_id: UtteranceId.optional().describe(
      'As in call.transcript; a revised transcript has none.',
    ),
    role: Role,
    speaker: z.int().min(0).optional().describe('Which voice of a mixed leg, from 0.'),
    speaker_provisional: z
      .boolean()
      .optional()
      .describe(
        'True where the voices were told apart during the call: the reading of its recording may change it.',
      ),
    text: z.string(),
    start: Seconds,
    end: Seconds,
  })
  .meta({ id: 'Turn' });
export type Turn = z.infer<typeof Turn>;

const StartedLeg = z.object({
  id: z.string(),
  role: Role,
  track: z.string(),
  encoding: z.string(),
  sample_rate: z.int(),
  channels: z.int(),
});

const CallStartedData = z.object({
  legs: z
    .array(StartedLeg)
    .describe('Those known when the call began; a later stream may add to them.'),
  continues: z.string().nullable().describe('The ended call that this one goes on from.'),
});

const utteranceIds = { utterance_id: UtteranceId };

/** The words with their times are only in `call.transcript`. Other events about an utterance do not repeat them. */
const AboutUtterance = Utterance.omit({ words: true }).meta({ id: 'AboutUtterance' });

const CallTranscriptData = z.object({
  ...utteranceIds,
  start: Seconds,
  end: Seconds,
  text: z.string(),
  language: LanguageCode,
  confidence: z.number(),
  channel: z.int(),
  words: z.array(Word),
});

/** Set if the add-on failed for this utterance. `results` is then empty. */
const addonFailure = z.object({ message: z.string() }).optional();

const CallSentimentData = z.object({
  ...utteranceIds,
  utterance: AboutUtterance,
  results: z.array(SentimentItem),
  error: addonFailure,
});

const JoinedEntity = NamedEntity.extend({
  id: z
    .string()
    .optional()
    .describe('Stays when more of the entity is said: the later event has all of it.'),
  pieces: z
    .array(z.object({ utterance_id: z.string(), start: Seconds, end: Seconds }))
    .optional()
    .describe('The utterances that it was said in, in order.'),
}).meta({ id: 'JoinedEntity' });
export type JoinedEntity = z.infer<typeof JoinedEntity>;

const CallEntitiesData = z.object({
  ...utteranceIds,
  utterance: AboutUtterance,
  results: z.array(JoinedEntity),
  error: addonFailure,
});

const CallTranslationData = z.object({
  ...utteranceIds,
  utterance: AboutUtterance,
  original_language: LanguageCode,
  target_language: LanguageCode,
  translated_utterance: Utterance,
});

/**
 * `carrier`: the audio was lost or discarded before it reached us. `journal`: our disk refused it while the service was
 * away. `damaged`: the journal of an earlier run could not be read here. `service`: the service acknowledged it but, by
 * its own count after a dropped socket, no longer has it. `deadline`: the time for finals ran out. `sessions`: the leg
 * reached its limit of sessions. `refused`: the service accepts no session of this kind. `node`: the audio was on the
 * disk of a node that is lost.
 */
export const GapCause = z.enum([
  'carrier',
  'journal',
  'damaged',
  'service',
  'deadline',
  'sessions',
  'refused',
  'node',
]);
export type GapCause = z.infer<typeof GapCause>;

/** The seconds in which somebody's words are missing. In the total, seconds with two causes count once. */
export const Incomplete = z
  .object({
    seconds: Seconds,
    causes: z.array(z.object({ cause: GapCause, seconds: Seconds })),
  })
  .meta({ id: 'Incomplete' });
export type Incomplete = z.infer<typeof Incomplete>;

/** Adjacent gaps are joined. Gaps below half a second only appear as a figure in `call.ended`. */
const CallGapData = z.object({
  cause: GapCause,
  start: Seconds,
  end: Seconds,
  duration: Seconds,
  bytes: z
    .int()
    .describe('Of the leg as received; 0 when the audio arrived and only its words are missing.'),
  detail: z.string().optional().describe('One line for a person.'),
});

const CallPausedData = z.object({
  at: Seconds,
  by: z.enum(['operator', 'carrier', 'consent', 'rule']),
});

const CallResumedData = z.object({
  at: Seconds,
  by: z.enum(['operator', 'carrier', 'rule']),
  duration: Seconds.describe('How long it was paused.'),
});

const CallDtmfData = z.object({
  at: Seconds,
  digit: z.string().describe('Masked as `*` unless the operator allowed digits.'),
});

export const EndReason = z.enum(['stop', 'close', 'error', 'idle', 'drain', 'refused', 'restart']);
export type EndReason = z.infer<typeof EndReason>;

const perRole = { customer: Seconds, agent: Seconds };

const notOfThePart =
  'This and the next four are null where more than a tenth of the call has no words, and count what was heard otherwise. Of a mixed leg nobody knows who spoke: only dead_air is told.';

/** Talk figures of the conversation, from the finals of all legs. */
const talkFigures = {
  talk: z.object(perRole).nullable().describe(`Seconds that each spoke. ${notOfThePart}`),
  talk_ratio: z.object(perRole).nullable().describe('Share of all talk, 0 to 1.'),
  interruptions: z
    .object({ customer: z.int(), agent: z.int() })
    .nullable()
    .describe('Times each cut in.'),
  longest_monologue: z.object(perRole).nullable(),
  dead_air: z
    .object({ total: Seconds, longest: Seconds, count: z.int() })
    .nullable()
    .describe('Silence of both; gaps and pauses are none.'),
};

const ShortGaps = z
  .object({ count: z.int(), seconds: Seconds, bytes: z.int() })
  .describe('Gaps under half a second: no events, no rows, but counted.');

const CallEndedData = z.object({
  reason: EndReason,
  hung_up_at: DateTime.optional().describe('When the phone call was over.'),
  ended_at: DateTime.describe('When its last words were there.'),
  duration: Seconds.describe('Of the phone call, from its start to the hang-up.'),
  deadline: z
    .string()
    .nullable()
    .describe('Names the wait that ran out before every final was there; null when all are.'),
  legs: z.array(
    z.object({
      id: z.string(),
      role: Role,
      track: z.string(),
      duration: Seconds,
      ledger: LedgerFigures,
    }),
  ),
  incomplete: Incomplete.nullable()
    .optional()
    .describe('What of the call has no words, and why; null for a call that is whole.'),
  ...talkFigures,
  gap_count: z.int().describe('How many call.gap there are.'),
  short_gaps: ShortGaps,
  reconnects: z.int(),
});

const Link = z.url().nullable();

const SentimentPoint = z.object({
  start: Seconds,
  end: Seconds,
  sentiment: z.string(),
  emotion: z.string(),
});

/** A chapter without its words, which the transcript beside it has. */
const EventChapter = Chapter.pick({
  headline: true,
  gist: true,
  keywords: true,
  start: true,
  end: true,
  summary: true,
}).meta({ id: 'EventChapter' });

const EntityOfRole = NamedEntity.extend({ role: Role });

const summaryErrors = z
  .array(z.object({ part: z.string(), message: z.string() }))
  .optional()
  .describe('What of the above could not be made, and why.');

const SummaryText = z.object({
  type: z.enum(['general', 'bullet_points', 'concise']),
  text: z.string(),
});

/** An event of more than 1 MiB is not delivered, so the event of a very long call omits what can be read elsewhere. */
const ofLongCall = {
  truncated: z
    .literal(true)
    .optional()
    .describe(
      'There where the call is too long for one event: the turns have no text, or the lists have less than all.',
    ),
  transcript_url: Link.optional().describe(
    'The whole transcript as JSON, without a key where links are on; only beside `truncated`.',
  ),
};

const CallSummaryData = z.object({
  incomplete: Incomplete.nullable()
    .optional()
    .describe('As in call.ended: what the summary could not know.'),
  summary: SummaryText,
  chapters: z.array(EventChapter),
  entities: z.array(EntityOfRole),
  sentiment_course: z.object({
    customer: z.array(SentimentPoint),
    agent: z.array(SentimentPoint),
    mixed: z.array(SentimentPoint).optional().describe('Only of a call with a mixed leg.'),
  }),
  transcript: z.array(Turn),
  ...ofLongCall,
  errors: summaryErrors,
});

const CallCompletedData = z
  .object({
    ended_at: DateTime.describe('When every final was there, or given up.'),
    reason: EndReason.describe('As in call.ended.'),
    deadline: z.string().nullable().describe('As in call.ended.'),
    summary: SummaryText,
    transcript: z.array(Turn),
    ...ofLongCall,
    chapters: z.array(EventChapter),
    entities: z.array(EntityOfRole),
    sentiment: Sentiment.describe(
      'Of the whole call; `unknown` where nobody spoke, or the sentiment was not asked for.',
    ),
    sentiment_by_role: z.object({
      customer: Sentiment,
      agent: Sentiment,
      mixed: Sentiment.optional().describe('Only of a call with a mixed leg.'),
    }),
    incomplete: Incomplete.nullable().optional().describe('As in call.ended.'),
    ...talkFigures,
    gaps: z
      .array(
        z.object({ role: Role, cause: GapCause, start: Seconds, end: Seconds, duration: Seconds }),
      )
      .describe('The longest, 100 at most, in order of time.'),
    gap_count: z.int().describe('How many there are in all.'),
    short_gaps: ShortGaps,
    page_url: Link.describe('A page of the call to read and hear, without a key.'),
    recording_url: Link.describe(
      'Stereo WAV, without a key; null without one, and where redacted.',
    ),
    links_expire_at: DateTime.nullable(),
    errors: summaryErrors,
  })
  .describe(
    'All that is known of the call beside the envelope, in one event, for a receiver that wants no other.',
  );

const CallErasedData = z.object({
  erased_at: DateTime,
  reason: z
    .enum(['request', 'retention'])
    .describe('Somebody asked for it, or the time was over for which calls are kept.'),
});

const CallTranscriptRevisedData = CallSummaryData.pick({
  incomplete: true,
  transcript: true,
  summary: true,
  chapters: true,
  entities: true,
  errors: true,
  truncated: true,
  transcript_url: true,
}).describe('The recording read again with care: stands in place of what was heard live.');

const CallWarningData = z.object({
  code: z.string().describe('What is the matter, for programs: `NO_SECOND_PASS`.'),
  message: z.string().describe('The same with the reason, for a person.'),
});

const CallSkippedData = z.object({
  event_id: z.string(),
  type: z.string(),
  attempts: z.int(),
  status: z.int().nullable(),
  reason: z.string(),
});

const eventData = {
  'call.started': CallStartedData,
  'call.transcript': CallTranscriptData,
  'call.sentiment': CallSentimentData,
  'call.entities': CallEntitiesData,
  'call.translation': CallTranslationData,
  'call.gap': CallGapData,
  'call.paused': CallPausedData,
  'call.resumed': CallResumedData,
  'call.dtmf': CallDtmfData,
  'call.agent': AgentChangeData,
  'call.hint': CallHintData,
  'call.alert': CallAlertData,
  'call.checklist': CallChecklistData,
  'call.tagged': CallTaggedData,
  'call.signal': CallSignalData,
  'call.ended': CallEndedData,
  'call.summary': CallSummaryData,
  'call.completed': CallCompletedData,
  'call.wrapped': WrappedData,
  'call.scored': CallScoredData,
  'call.transcript.revised': CallTranscriptRevisedData,
  'call.warning': CallWarningData,
  'call.erased': CallErasedData,
  'call.skipped': CallSkippedData,
} as const;

export type CallEventType = keyof typeof eventData;
export type CallEventData<Type extends CallEventType> = z.infer<(typeof eventData)[Type]>;
export const callEventTypes = Object.keys(eventData) as [CallEventType, ...CallEventType[]];

/** For agents at once, and the figures of agents: a CRM gets them only where it names them. */
export const eventsOnlyNamed = [
  'call.hint',
  'call.checklist',
  'call.scored',
] as const satisfies CallEventType[];

/** Event types by purpose. Each preset may stand in a list of types. */
export const eventPresets = {
  /** For a CRM that wants little: the finished call, and later changes to it. */
  completed: ['call.completed', 'call.transcript.revised', 'call.erased'],
  /** For live assistance: everything that is told while people speak. */
  live: [
    'call.started',
    'call.transcript',
    'call.sentiment',
    'call.entities',
    'call.translation',
    'call.gap',
    'call.paused',
    'call.resumed',
    'call.dtmf',
    'call.agent',
    'call.hint',
    'call.alert',
    'call.checklist',
    'call.tagged',
    'call.signal',
    'call.ended',
    'call.erased',
  ],
  all: callEventTypes.filter(
    (type) => type !== 'call.skipped' && !(eventsOnlyNamed as readonly string[]).includes(type),
  ),
} as const satisfies Record<string, readonly CallEventType[]>;
export type EventPreset = keyof typeof eventPresets;

/** Raised if a field changes its name, form or meaning. New fields and types do not change it. */
export const envelopeVersion = 2 as const;

function envelope<Type extends CallEventType>(type: Type) {
  return z.object({
    id: z.string(),
    type: z.literal(type),
    version: z.literal(envelopeVersion).describe('Of this envelope and of the data in it.'),
    sequence: z.int().min(1),
    occurred_at: DateTime,
    test: z
      .literal(true)
      .optional()
      .describe('There where nobody called: an example that was sent to try the receiver.'),
    call: EventCall,
    leg: EventLeg.optional(),
    custom_metadata: FreeObject,
    data: eventData[type],
  });
}

const CallStarted = envelope('call.started').meta({ id: 'CallStarted' });
const CallTranscript = envelope('call.transcript').meta({ id: 'CallTranscript' });
const CallSentiment = envelope('call.sentiment').meta({ id: 'CallSentiment' });
const CallEntities = envelope('call.entities').meta({ id: 'CallEntities' });
const CallTranslation = envelope('call.translation').meta({ id: 'CallTranslation' });
const CallGap = envelope('call.gap').meta({ id: 'CallGap' });
const CallPaused = envelope('call.paused').meta({ id: 'CallPaused' });
const CallResumed = envelope('call.resumed').meta({ id: 'CallResumed' });
const CallDtmf = envelope('call.dtmf').meta({ id: 'CallDtmf' });
const CallAgent = envelope('call.agent').meta({ id: 'CallAgentChanged' });
const CallHint = envelope('call.hint').meta({ id: 'CallHint' });
const CallAlert = envelope('call.alert').meta({ id: 'CallAlert' });
const CallChecklist = envelope('call.checklist').meta({ id: 'CallChecklist' });
const CallTagged = envelope('call.tagged').meta({ id: 'CallTagged' });
const CallSignal = envelope('call.signal').meta({ id: 'CallSignal' });
const CallEnded = envelope('call.ended').meta({ id: 'CallEnded' });
const CallSummary = envelope('call.summary').meta({ id: 'CallSummary' });
const CallCompleted = envelope('call.completed').meta({ id: 'CallCompleted' });
const CallWrapped = envelope('call.wrapped').meta({ id: 'CallWrapped' });
const CallScored = envelope('call.scored').meta({ id: 'CallScored' });
const CallTranscriptRevised = envelope('call.transcript.revised').meta({
  id: 'CallTranscriptRevised',
});
const CallWarning = envelope('call.warning').meta({ id: 'CallWarning' });
const CallErased = envelope('call.erased').meta({ id: 'CallErased' });
const CallSkipped = envelope('call.skipped').meta({ id: 'CallSkipped' });

export const CallEvent = z
  .discriminatedUnion('type', [
    CallStarted,
    CallTranscript,
    CallSentiment,
    CallEntities,
    CallTranslation,
    CallGap,
    CallPaused,
    CallResumed,
    CallDtmf,
    CallAgent,
    CallHint,
    CallAlert,
    CallChecklist,
    CallTagged,
    CallSignal,
    CallEnded,
    CallSummary,
    CallCompleted,
    CallWrapped,
    CallScored,
    CallTranscriptRevised,
    CallWarning,
    CallErased,
    CallSkipped,
  ])
  .meta({ id: 'CallEvent' });
export type CallEvent = z.infer<typeof CallEvent>;

/** An event before the outbox gives it an id and a sequence. Times are in ms since 1970. */
export type NewCallEvent = {
  [Type in CallEventType]: {
    callId: string;
    type: Type;
    occurredAt: number;
    /** The end of a transcript's speech, used for measuring and not sent. */
    speechEndedAt?: number | undefined;
    /** True for an example event, whose call never existed. */
    isTest?: true;
    leg?: EventLeg;
    call: EventCall;
    customMetadata: Record<string, unknown>;
    data: CallEventData<Type>;
  };
}[CallEventType];
