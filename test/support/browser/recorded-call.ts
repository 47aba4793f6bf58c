import type { ApiCall, Installation } from '../../../src/protocol/api.ts';
import type { ApiDelivery } from '../../../src/protocol/delivery-reports.ts';
import { eventExamples } from '../../../src/protocol/event-examples.ts';
import { envelopeVersion } from '../../../src/protocol/events.ts';
import type { CallEvent, EventLeg, Role } from '../../../src/protocol/events.ts';

/** Recorded answers for the page: one detailed call and any number of plain ones. */
type CallLine = {
  role: Role;
  start: number;
  end: number;
  text: string;
  mood?: [sentiment: 'positive' | 'negative' | 'mixed', emotion: 'anger' | 'relief' | 'confusion'];
  entities?: [type: string, text: string][];
};

const script: CallLine[] = [
  { role: 'agent', start: 0.5, end: 3.4, text: 'Harbor Books, this is Robert. How can I help?' },
  {
    ...{ role: 'customer', start: 4.1, end: 9.6, mood: ['negative', 'anger'] },
    text: 'My name is Oriane Vasquez, and order 472916 arrived damaged. I am really angry.',
    entities: [
      ['NAME', 'Oriane Vasquez'],
      ['NUMERICAL_PII', '472916'],
    ],
  },
  {
    ...{
      role: 'agent',
      start: 10.2,
      end: 13.8,
      text: 'I see it. It was $89, sent on the 21st of June.',
    },
    entities: [
      ['MONEY', '$89'],
      ['DATE', 'the 21st of June'],
    ],
  },
  { role: 'customer', start: 13.1, end: 15.2, text: 'Yes, and nobody called me back.' },
  {
    ...{ role: 'customer', start: 41.7, end: 44.9, text: 'Oh, that is wonderful. Thank you!' },
    mood: ['positive', 'relief'],
  },
];

const { call: about } = eventExamples['call.started'];
export const callId = about.id;

function leg(role: Role): EventLeg {
  const session =
    role === 'customer'
      ? '7d0c1b52-6a0e-4f1b-9b0a-2f6f4c6b8e11'
      : '19b0b7d3-0000-4000-8000-000000000001';
  return {
    id: `leg_${role}`,
    role,
    track: role === 'customer' ? 'inbound' : 'outbound',
    session_id: session,
  };
}

/** The events of the detailed call in order, up to `upTo`. */
export function recordedEvents(upTo = Infinity): CallEvent[] {
  const drafts: Omit<CallEvent, 'id' | 'sequence'>[] = [eventExamples['call.started']];
  script.forEach((line, at) => drafts.push(...lineEvents(line, at)));
  drafts.push(
    { ...eventExamples['call.gap'], leg: leg('agent') },
    eventExamples['call.paused'],
    eventExamples['call.dtmf'],
    { ...eventExamples['call.resumed'], data: { at: 40.9, by: 'operator', duration: 10 } },
    eventExamples['call.ended'],
    eventExamples['call.summary'],
  );
  return drafts
    .slice(0, upTo)
    .map((draft, at) => ({ ...draft, id: eventId(at + 1), sequence: at + 1 }) as CallEvent);
}

export function eventId(sequence: number): string {
  return `evt_01JK5S2M${String(sequence).padStart(2, '0')}4F5G6H7J8K9M0N1P2Q`;
}

function lineEvents(line: CallLine, at: number): Omit<CallEvent, 'id' | 'sequence'>[] {
  const { role, start, end, text } = line;
  const utterance = { start, end, text, language: 'en', confidence: 0.9, channel: 0 };
  const ids = { utterance_id: `utt_${at}` };
  const { custom_metadata, occurred_at } = eventExamples['call.transcript'];
  const head = {
    version: envelopeVersion,
    occurred_at,
    call: about,
    leg: leg(role),
    custom_metadata,
  };
  const ofUtterance = { ...ids, utterance };
  const [sentiment, emotion] = line.mood ?? (['neutral', 'neutral'] as const);
  const entities = (line.entities ?? []).map(([entity_type, found]) => ({
    entity_type,
    text: found,
    start,
    end,
  }));
  return [
    { ...head, type: 'call.transcript', data: { ...ids, ...utterance, words: wordsOf(line) } },
    {
      ...head,
      type: 'call.sentiment',
      data: { ...ofUtterance, results: [{ sentiment, emotion, text, start, end, channel: 0 }] },
    },
    ...(entities.length > 0
      ? [{ ...head, type: 'call.entities' as const, data: { ...ofUtterance, results: entities } }]
      : []),
  ];
}

function wordsOf({ text, start, end }: CallLine) {
  const words = text.split(' ');
  const step = (end - start) / words.length;
  return words.map((word, at) => ({
    word,
    start: start + at * step,
    end: start + (at + 1) * step,
    confidence: 0.9,
  }));
}

export function recordedCall(change: Partial<ApiCall> = {}): ApiCall {
  return {
    ...about,
    state: 'ended',
    ended_at: '2026-02-03T09:15:57.300Z',
    custom_metadata: {},
    legs: (['customer', 'agent'] as const).map((role) => ({
      id: `leg_${role}`,
      role,
      track: leg(role).track,
      encoding: 'mulaw',
      sample_rate: 8000,
      channels: 1,
      session_id: leg(role).session_id,
      ledger: { received: 458_400, acknowledged: 356_800, gaps: 0, paused: 101_600, filler: 6400 },
      state: 'done',
    })),
    transcript: script.map(({ role, text, start, end }) => ({ role, text, start, end })),
    agent: null,
    paused: false,
    recording: true,
    continues: null,
    ...change,
  };
}

/** Many live calls, for a list that must stay fast. */
export function manyCalls(count: number): ApiCall[] {
  return Array.from({ length: count }, (_, at) => {
    const id = `call_01JK5S${String(at).padStart(6, '0')}0123456789ABCD`;
    const call = recordedCall({
      id,
      state: 'live',
      ended_at: null,
      started_at: new Date().toISOString(),
    });
    const legs = call.legs.map((one) => ({ ...one, id: `${one.id}_${at}` }));
    return { ...call, from: `+1555010${String(at).padStart(4, '0')}`, legs };
  });
}

export function recordedDeliveries(): ApiDelivery[] {
  return recordedEvents().map((event, at) => {
    const state = at < 12 ? 'delivered' : at === 12 ? 'parked' : 'pending';
    return {
      id: `${event.id}.crm`,
      endpoint: 'crm',
      event_id: event.id,
      type: event.type,
      call_id: callId,
      sequence: event.sequence,
      state,
      attempts: state === 'delivered' ? 1 : state === 'parked' ? 13 : 0,
      next_attempt_at: state === 'pending' ? '2026-02-03T09:25:00.000Z' : null,
      last_attempt_at: state === 'pending' ? null : event.occurred_at,
      status: state === 'delivered' ? 200 : state === 'parked' ? 422 : null,
      reason: state === 'parked' ? 'the endpoint answers 422' : null,
      answer: state === 'parked' ? '{"error":"unknown case"}' : null,
      created_at: event.occurred_at,
      delivered_at: state === 'delivered' ? event.occurred_at : null,
    };
  });
}

export const recordedInstallation: Installation = {
  version: '0.1.0',
  node: 'v24.21.0',
  started_at: '2026-02-03T08:00:00.000Z',
  public_url: 'https://trunkline.example.net',
  roles: ['bridge', 'speech', 'console'],
  insecure: false,
  health: {
    store: { state: 'ok' },
    disk: { state: 'degraded', detail: 'syncs take 21 ms' },
    recogniser: { state: 'ok', detail: 'model moonshine-tiny-en' },
    outbox: { state: 'down', detail: 'endpoint crm is switched off' },
  },
  recogniser: {
    state: 'ready',
    detail: 'model moonshine-tiny-en',
    model: 'moonshine-tiny-en',
    languages: ['en'],
    streams: 6,
    capacity: 40,
  },
  memory_bytes: 148_000_000,
  features: [
    {
      name: 'Public address',
      on: true,
      detail: 'https://trunkline.example.net',
      setting: 'TRUNKLINE_PUBLIC_URL',
    },
    {
      name: 'Redaction',
      on: false,
      detail: 'Numbers and names are stored as they are said.',
      setting: 'TRUNKLINE_REDACT',
    },
    { name: 'Language model', on: true, detail: 'some-model', setting: 'TRUNKLINE_LLM_URL' },
  ],
  settings: [
    {
      name: 'http.publicUrl',
      env: 'TRUNKLINE_PUBLIC_URL',
      source: 'environment',
      value: 'https://trunkline.example.net',
      secret: false,
    },
    {
      name: 'carriers.twilioAuthToken',
      env: 'TWILIO_AUTH_TOKEN',
      source: 'file',
      value: '["********"]',
      secret: true,
    },
  ],
};
