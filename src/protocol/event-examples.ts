import {
  envelopeVersion,
  type CallEvent,
  type CallEventType,
  type EventCall,
  type EventLeg,
  type Turn,
} from './events.ts';
import type { WrapUp } from './wrap-up.ts';

/**
 * One event of each type, as a CRM receives it, for the OpenAPI document, for /docs and for testing a webhook mapping.
 * All belong to one invented call, so the examples tell its story in order.
 */
const call: EventCall = {
  id: 'call_01JK5S2M7Q8R9T0V1W2X3Y4Z5A',
  carrier: 'example',
  carrier_call_id: 'CA5b0f7d1c2e3a4b5c6d7e8f9a0b1c2d3e',
  direction: 'inbound',
  from: '+15550100123',
  to: '+15550100200',
  started_at: '2026-02-03T09:15:00.000Z',
  hung_up_at: null,
  duration: null,
};

const agent = { id: 'a17', name: 'Omar', extension: '204' };

const yesOrNo = [
  { answer: 'yes', share: 1 },
  { answer: 'no', share: 0 },
];

const overCall: EventCall = {
  ...call,
  hung_up_at: '2026-02-03T09:15:57.300Z',
  duration: 57.3,
  language: 'en',
};

const customer: EventLeg = {
  id: 'leg_01JK5S2M7S3N4P5Q6R7S8T9V0W',
  role: 'customer',
  track: 'inbound',
  session_id: '7d0c1b52-6a0e-4f1b-9b0a-2f6f4c6b8e11',
  language: 'en',
};

const agentLegId = 'leg_01JK5S2M7S9A8B7C6D5E4F3G2H';

const metadata = {
  call_id: call.id,
  carrier: call.carrier,
  carrier_call_id: call.carrier_call_id,
  direction: 'inbound',
  from: call.from,
  to: call.to,
  started_at: call.started_at,
  crmCase: 'C-20417',
};

const ofCustomer = { ...metadata, leg_id: customer.id, role: 'customer', track: 'inbound' };

const utterance = {
  start: 4.21,
  end: 6.8,
  confidence: 0.93,
  channel: 0,
  language: 'en',
  text: 'I never got the refund.',
  words: [
    { word: 'I', start: 4.21, end: 4.32, confidence: 0.97 },
    { word: 'never', start: 4.4, end: 4.85, confidence: 0.95 },
    { word: 'got', start: 4.9, end: 5.1, confidence: 0.94 },
    { word: 'the', start: 5.15, end: 5.3, confidence: 0.92 },
    { word: 'refund.', start: 5.4, end: 6.8, confidence: 0.9 },
  ],
};

const utteranceId = 'utt_5d1f8a2c90b7e634';

/** Facts about an utterance without its words, which `call.transcript` has. */
const about = {
  start: utterance.start,
  end: utterance.end,
  confidence: utterance.confidence,
  channel: utterance.channel,
  language: utterance.language,
  text: utterance.text,
};

const turns: Turn[] = [
  {
    utterance_id: 'utt_0b86e4c1f3a97d52',
    role: 'agent',
    text: 'Thank you for calling, how can I help?',
    start: 0.6,
    end: 3.2,
  },
  { utterance_id: utteranceId, role: 'customer', text: utterance.text, start: 4.21, end: 6.8 },
];

const summaryText =
  'A customer asks for a refund that never came. The agent finds the order and sends it again.';

const wrapUp: WrapUp = {
  reason: {
    text: 'Customer reported that they never got the refund.',
    utterance_ids: [utteranceId],
  },
  done: [{ text: 'Agent refunded $89.00', utterance_ids: ['utt_7c20d5b8e1f43a96'] }],
  outcome: { value: 'resolved', utterance_ids: ['utt_7c20d5b8e1f43a96'] },
  promises: [
    {
      id: 'p3f9c2a7d10be',
      who: 'agent',
      what: 'call the customer back',
      until: '2026-02-06',
      utterance_ids: ['utt_c41e9d70a2b853f6'],
    },
  ],
  facts: [
    {
      kind: 'amount',
      text: 'eighty nine dollars',
      value: '89.00',
      currency: 'USD',
      utterance_ids: ['utt_7c20d5b8e1f43a96'],
    },
  ],
  disposition: null,
  mood: { from: 'negative', to: 'neutral', utterance_ids: [utteranceId] },
};

const chapters = [
  {
    headline: 'Refund that never came',
    gist: 'missing refund',
    keywords: ['refund', 'order'],
    start: 4.21,
    end: 52.7,
    summary: 'The customer reports a missing refund.',
  },
];

const entities = [
  {
    entity_type: 'NAME',
    text: 'Oriane Vasquez',
    value: 'Oriane Vasquez',
    start: 12.1,
    end: 13.1,
    role: 'customer' as const,
  },
];

const talkFigures = {
  talk: { customer: 21.4, agent: 18.9 },
  talk_ratio: { customer: 0.531, agent: 0.469 },
  interruptions: { customer: 1, agent: 0 },
  longest_monologue: { customer: 8.2, agent: 6.4 },
  dead_air: { total: 3.9, longest: 3.9, count: 1 },
};

const shortGaps = { count: 3, seconds: 0.12, bytes: 960 };

const shared = `https://calls.example.com/shared/calls/${call.id}`;
const linkQuery = 'expires=1770714958&signature=b1s3Ndg0vC9wYJm8pQe2xK5tZ7uR4hLfA6iXo1yTnEk';

/** `sequence` and `id` give the order; `second` is the second in the call's minute. */
function head(sequence: number, second: number) {
  return {
    id: `evt_01JK5S2M${String(sequence).padStart(2, '0')}4F5G6H7J8K9M0N1P2Q`,
    version: envelopeVersion,
    sequence,
    occurred_at: `2026-02-03T09:15:${String(second).padStart(2, '0')}.120Z`,
    call,
  };
}
/** A hit of a rule of an invented playbook. */
function ofRule(rule: string) {
  const at = 6.8;
  const matched = 'never got the refund';
  return {
    hit_id: `shop/${rule}@${utteranceId}`,
    rule,
    playbook: 'shop',
    version: 3,
    digest: '9f2c41a07be35d18',
    at,
    cause: { utterance_id: utteranceId, role: 'customer' as const, start: 4.21, end: at, matched, score: 1 }, // prettier-ignore
  };
}

export const eventExamples: { [Type in CallEventType]: Extract<CallEvent, { type: Type }> } = {
  'call.started': {
    ...head(1, 0),
    type: 'call.started',
    custom_metadata: metadata,
    data: {
      legs: [leg(customer.id, 'customer', 'inbound'), leg(agentLegId, 'agent', 'outbound')],
      continues: null,
    },
  },
  'call.transcript': {
    ...head(7, 7),
    type: 'call.transcript',
    leg: customer,
    custom_metadata: ofCustomer,
    data: { utterance_id: utteranceId, ...utterance },
  },
  'call.sentiment': {
    ...head(8, 7),
    type: 'call.sentiment',
    leg: customer,
    custom_metadata: ofCustomer,
    data: {
      utterance_id: utteranceId,
      utterance: about,
      results: [
        {
          sentiment: 'negative',
          emotion: 'disappointment',
          text: 'I never got the refund.',
          start: 4.21,
          end: 6.8,
          channel: 0,
        },
      ],
    },
  },
  'call.entities': {
    ...head(11, 14),
    type: 'call.entities',
    leg: customer,
    custom_metadata: ofCustomer,
    data: {
      utterance_id: '00_00000004',
      utterance: {
        start: 11.2,
        end: 13.1,
        confidence: 0.91,
        channel: 0,
        language: 'en',
        text: 'My name is Oriane Vasquez.',
      },
      results: [
        {
          id: 'ent_7c1e09d4b2a85f36',
          entity_type: 'NAME',
          text: 'Oriane Vasquez',
          value: 'Oriane Vasquez',
          start: 12.1,
          end: 13.1,
          pieces: [{ utterance_id: '00_00000004', start: 12.1, end: 13.1 }],
        },
      ],
    },
  },
  'call.translation': {
    ...head(9, 7),
    type: 'call.translation',
    leg: customer,
    custom_metadata: ofCustomer,
    data: {
      utterance_id: utteranceId,
      utterance: about,
      original_language: 'en',
      target_language: 'fr',
      translated_utterance: {
        ...utterance,
        language: 'fr',
        text: "Je n'ai jamais reçu le remboursement.",
        words: [],
      },
    },
  },
  'call.gap': {
    ...head(12, 22),
    type: 'call.gap',
    leg: customer,
    custom_metadata: ofCustomer,
    data: {
      cause: 'carrier',
      start: 19.4,
      end: 20.2,
      duration: 0.8,
      bytes: 6400,
      detail: 'the carrier left 40 frames out of its numbering',
    },
  },
  'call.paused': {
    ...head(13, 31),
    type: 'call.paused',
    custom_metadata: metadata,
    data: { at: 30.9, by: 'operator' },
  },
  'call.resumed': {
    ...head(15, 44),
    type: 'call.resumed',
    custom_metadata: metadata,
    data: { at: 43.6, by: 'operator', duration: 12.7 },
  },
  'call.dtmf': {
    ...head(14, 35),
    type: 'call.dtmf',
    custom_metadata: metadata,
    data: { at: 34.8, digit: '*' },
  },
  'call.agent': {
    ...head(2, 1),
    call: { ...call, agent },
    type: 'call.agent',
    custom_metadata: metadata,
    data: { agent, previous: null, by: 'api', at: 0.8 },
  },
  'call.hint': {
    ...head(10, 8),
    type: 'call.hint',
    custom_metadata: metadata,
    data: {
      ...ofRule('wants-refund'),
      title: 'Look up the order and check the refund',
      say: 'Let me look at that for you. May I have the order number?',
      priority: 60,
    },
  },
  'call.alert': {
    ...head(17, 45),
    type: 'call.alert',
    custom_metadata: metadata,
    data: { ...ofRule('wants-manager'), level: 'warn', title: 'Customer asks for a manager' },
  },
  'call.checklist': {
    ...head(18, 46),
    type: 'call.checklist',
    custom_metadata: metadata,
    data: {
      ...ofRule('recorded'),
      checklist: 'opening',
      step: 'recorded',
      title: 'Say that the call is recorded',
      state: 'done',
    },
  },
  'call.tagged': {
    ...head(19, 46),
    type: 'call.tagged',
    custom_metadata: metadata,
    data: { ...ofRule('wants-refund'), added: ['refund'] },
  },
  'call.signal': {
    ...head(20, 46),
    type: 'call.signal',
    custom_metadata: metadata,
    data: { ...ofRule('churn-risk'), name: 'churn-risk', data: { campaign: 'spring' } },
  },
  'call.ended': {
    ...head(21, 58),
    call: overCall,
    type: 'call.ended',
    custom_metadata: metadata,
    data: {
      reason: 'stop',
      hung_up_at: '2026-02-03T09:15:57.300Z',
      ended_at: '2026-02-03T09:15:58.120Z',
      duration: 57.3,
      deadline: null,
      incomplete: null,
      legs: [
        endedLeg(customer.id, 'customer', 'inbound'),
        endedLeg(agentLegId, 'agent', 'outbound'),
      ],
      ...talkFigures,
      gap_count: 1,
      short_gaps: shortGaps,
      reconnects: 0,
    },
  },
  'call.summary': {
    ...head(22, 59),
    call: overCall,
    type: 'call.summary',
    custom_metadata: metadata,
    data: {
      incomplete: null,
      summary: { type: 'general', text: summaryText },
      chapters,
      entities,
      sentiment_course: {
        customer: [{ start: 4.21, end: 6.8, sentiment: 'negative', emotion: 'disappointment' }],
        agent: [{ start: 0.6, end: 3.2, sentiment: 'neutral', emotion: 'neutral' }],
      },
      transcript: turns,
    },
  },
  'call.completed': {
    ...head(23, 59),
    call: overCall,
    type: 'call.completed',
    custom_metadata: metadata,
    data: {
      ended_at: '2026-02-03T09:15:58.120Z',
      reason: 'stop',
      deadline: null,
      summary: { type: 'general', text: summaryText },
      transcript: turns,
      chapters,
      entities,
      sentiment: 'negative',
      sentiment_by_role: { customer: 'negative', agent: 'neutral' },
      ...talkFigures,
      incomplete: null,
      gaps: [{ role: 'customer', cause: 'carrier', start: 19.4, end: 20.2, duration: 0.8 }],
      gap_count: 1,
      short_gaps: shortGaps,
      page_url: `${shared}?${linkQuery}`,
      recording_url: `${shared}/recording?${linkQuery}`,
      links_expire_at: '2026-02-10T09:15:58.000Z',
    },
  },
  'call.wrapped': {
    ...head(24, 59),
    call: overCall,
    type: 'call.wrapped',
    custom_metadata: metadata,
    data: {
      wrap_up: wrapUp,
      text: 'Customer reported that they never got the refund. Agent refunded $89.00. Agent will call the customer back by Friday, 6 February.',
      revision: 1,
      edits: [],
    },
  },
  'call.scored': {
    ...head(25, 59),
    call: overCall,
    type: 'call.scored',
    custom_metadata: metadata,
    data: {
      ...{ scorecard: 'service-quality', title: 'Service quality', version: 1 },
      ...{ digest: '9f2c1d4e8a7b6c53', agent: agent.id, state: 'auto' },
      ...{ points: 10, of: 10, percent: 100, critical_failed: false, open: 1, revision: 0 },
      scored_at: '2026-02-03T09:16:04.000Z',
      by: { kind: 'rule', name: null },
      items: [
        {
          ...{ id: 'greeted', section: 'Opening', question: 'Did the agent greet?', points: 10 },
          ...{ critical: false, answers: yesOrNo, answer: 'yes', share: 1, by: 'rule' },
          rule: { answer: 'yes', share: 1 },
          evidence: [{ at: 0.6, role: 'agent', matched: 'Thank you for calling' }],
        },
        {
          ...{ id: 'solved', section: 'Closing', question: 'Was it solved?', points: 20 },
          ...{ critical: false, answers: yesOrNo, answer: null, share: null, by: null },
          evidence: [],
        },
      ],
    },
  },
  'call.transcript.revised': {
    ...head(24, 59),
    call: overCall,
    type: 'call.transcript.revised',
    custom_metadata: metadata,
    data: {
      transcript: [
        { role: 'agent', text: 'Thank you for calling, how can I help?', start: 0.6, end: 3.2 },
        { role: 'customer', text: 'I never got the refund I asked for.', start: 4.2, end: 6.9 },
      ],
      summary: { type: 'general', text: summaryText },
      chapters: [],
      entities,
    },
  },
  'call.warning': {
    ...head(24, 59),
    call: overCall,
    type: 'call.warning',
    custom_metadata: metadata,
    data: {
      code: 'NO_SECOND_PASS',
      message:
        'the recording was not read again: the speech service refused the job (422: no installed model covers sw)',
    },
  },
  'call.erased': {
    ...head(25, 59),
    type: 'call.erased',
    // Nothing of the call except our own id.
    call: { ...call, carrier_call_id: '', direction: null, from: null, to: null },
    custom_metadata: {},
    data: { erased_at: '2026-02-03T09:15:59.120Z', reason: 'request' },
  },
  'call.skipped': {
    ...head(16, 45),
    type: 'call.skipped',
    custom_metadata: metadata,
    data: {
      event_id: 'evt_01JK5S2M164F5G6H7J8K9M0N1P2Q',
      type: 'call.transcript',
      attempts: 13,
      status: 422,
      reason: 'the endpoint refused it for 72 hours',
    },
  },
};

function leg(id: string, role: 'customer' | 'agent', track: string) {
  return { id, role, track, encoding: 'wav/ulaw', sample_rate: 8000, channels: 1 };
}

function endedLeg(id: string, role: 'customer' | 'agent', track: string) {
  const ledger = {
    received: 458_400,
    acknowledged: 356_800,
    gaps: 0,
    paused: 101_600,
    filler: 101_600,
  };
  return { id, role, track, duration: 57.3, ledger };
}
