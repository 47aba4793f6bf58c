import { beforeAll, describe, expect, test } from 'vitest';
import type { CallEvent } from '../../../src/protocol/events.ts';
import type { LiveFeedMessage } from '../../../src/protocol/api.ts';
import { entityTypes } from '../../../src/protocol/entity-types.ts';
import { eventId, recordedEvents } from '../../support/browser/recorded-call.ts';

/** The page's own modules that need no document, as the browser runs them. */
type ViewEntry = {
  kind: string;
  key: string;
  start: number;
  text: string;
  entities: unknown[];
  sentiments: unknown[];
};
type Conversation = {
  entries: ViewEntry[];
  utterances: ViewEntry[];
  partials: Map<string, { text: string }>;
  ended: unknown;
  summary: unknown;
  take(message: LiveFeedMessage): ViewEntry[];
  judged(turnIds: string[]): ViewEntry[];
};
type CallFigures = {
  talk: Record<string, number>;
  talk_ratio: Record<string, number>;
  interruptions: Record<string, number>;
  dead_air: { total: number; longest: number; count: number };
};

const page = new URL('../../../src/console/page/', import.meta.url);
let newConversation: () => Conversation;
let figuresOf: (utterances: unknown[], lengthS: number) => CallFigures;
let format: Record<string, (...args: unknown[]) => string>;
let entityName: (type: string) => string;
let entityNames: Record<string, string>;

beforeAll(async () => {
  const conversation = await import(new URL('conversation.js', page).href);
  newConversation = () => new conversation.Conversation();
  ({ figuresOf } = await import(new URL('figures.js', page).href));
  format = await import(new URL('format.js', page).href);
  ({ entityName, entityNames } = await import(new URL('entity-names.js', page).href));
});

describe('a conversation', () => {
  test('is the same whatever the order and however often its events come', () => {
    const events = recordedEvents();
    const straight = newConversation();
    for (const event of events) straight.take(event);
    for (const order of [
      events.toReversed(),
      [...events, ...events],
      events.toSorted((a, b) => a.id.length - b.id.length),
    ]) {
      const other = newConversation();
      for (const event of order) other.take(event);
      const plain = (one: Conversation) =>
        one.entries
          .filter(({ kind }) => kind !== 'pause')
          .map(({ kind, start, text, entities, sentiments }) => ({
            ...{ kind, start, text, entities, sentiments },
          }));
      expect(plain(other)).toEqual(plain(straight));
      expect(other.ended).toEqual(straight.ended);
      expect(other.summary).toEqual(straight.summary);
    }
    expect(straight.entries.map(({ start }) => start)).toEqual(
      straight.entries.map(({ start }) => start).toSorted((a, b) => a - b),
    );
  });

  test('an utterance that was judged and has no event is neutral, in whatever order that is known', () => {
    const ids = ['utt_0', 'utt_1'];
    // The first is neutral, the second negative; nobody has judged the rest yet.
    const events = recordedEvents().filter(
      ({ type, data }) =>
        type !== 'call.sentiment' || ('utterance_id' in data && data.utterance_id === 'utt_1'),
    );
    const moods = (one: Conversation) =>
      one.utterances.map(({ sentiments }) =>
        sentiments.map((each) => (each as { sentiment: string }).sentiment).join(),
      );
    const before = newConversation();
    before.judged(ids);
    for (const event of events) before.take(event);
    const after = newConversation();
    for (const event of events) after.take(event);
    expect(after.judged(ids)).toHaveLength(1);
    expect(after.judged(ids)).toHaveLength(0);
    expect(moods(before)).toEqual(['neutral', 'negative', '', '', '']);
    expect(moods(after)).toEqual(moods(before));
  });

  test('a partial gives way to its final and never comes back', () => {
    const conversation = newConversation();
    const final = recordedEvents().find(({ type }) => type === 'call.transcript') as CallEvent & {
      type: 'call.transcript';
    };
    const partial = {
      type: 'partial' as const,
      call_id: final.call.id,
      leg_id: final.leg?.id ?? '',
      role: 'agent' as const,
      utterance: { ...final.data, session_id: final.leg?.session_id ?? '', text: 'Harbor' },
    };
    conversation.take(partial);
    expect(conversation.partials.size).toBe(1);
    expect(conversation.take(final)).toHaveLength(1);
    expect(conversation.partials.size).toBe(0);
    conversation.take(partial);
    expect(conversation.partials.size).toBe(0);
  });

  test('feelings and entities without their final bring the utterance themselves', () => {
    const conversation = newConversation();
    const entities = recordedEvents().find(({ type }) => type === 'call.entities') as CallEvent;
    conversation.take(entities);
    expect(conversation.utterances[0]?.text).toContain('Oriane Vasquez');
    expect(conversation.utterances[0]?.entities).toHaveLength(2);
  });

  test('a message of a type that it does not know changes nothing', () => {
    const conversation = newConversation();
    expect(
      conversation.take({ ...recordedEvents()[0], id: eventId(99), type: 'call.later' } as never),
    ).toEqual([]);
    expect(conversation.take({ type: 'levels', levels: [] })).toEqual([]);
  });
});

describe('figures while the call goes on', () => {
  test('talk, interruptions and dead air are counted as the server counts them', () => {
    const said = (role: string, start: number, end: number) => ({ role, start, end });
    const figures = figuresOf(
      [
        said('agent', 0, 4),
        said('customer', 3.5, 6),
        said('agent', 5.9, 6.3),
        said('customer', 12, 14),
      ],
      20,
    );
    expect(figures.talk['agent']).toBeCloseTo(4.4);
    expect(figures.talk['customer']).toBeCloseTo(4.5);
    expect(figures.talk_ratio['customer']).toBeCloseTo(4.5 / 8.9);
    // The agent's short word while the customer ends is no interruption.
    expect(figures.interruptions).toEqual({ customer: 1, agent: 0 });
    expect(figures.dead_air.count).toBe(2);
    expect(figures.dead_air.total).toBeCloseTo(11.7);
    expect(figures.dead_air.longest).toBeCloseTo(6);
  });

  test('nobody has talked yet', () => {
    expect(figuresOf([], 1)).toMatchObject({
      talk_ratio: { customer: 0, agent: 0 },
      dead_air: { count: 0 },
    });
  });
});

test('times and sizes read as people say them', () => {
  expect([0, 7.9, 65, 3_723].map((seconds) => format['clock']?.(seconds))).toEqual([
    '0:00',
    '0:07',
    '1:05',
    '1:02:03',
  ]);
  expect([0, 999, 1_500, 479_000, 3_200_000].map((count) => format['bytes']?.(count))).toEqual([
    ...['0 B', '999 B', '1.5 kB', '479 kB', '3.2 MB'],
  ]);
  expect(format['parties']?.({ from: null, to: null, carrier_call_id: 'CA1' })).toBe('CA1');
  expect(format['parties']?.({ from: '+1', to: null })).toBe('+1 → unknown');
});

test('every type of entity has a name of its own that a person would use; an unknown one keeps its words', () => {
  expect(Object.keys(entityNames).sort()).toEqual([...entityTypes].sort());
  const names = entityTypes.map((type) => entityName(type));
  expect(new Set(names).size).toBe(entityTypes.length);
  expect(names.filter((name) => /_|PII|[A-Z]{4}/.test(name))).toEqual([]);
  expect(['CREDIT_CARD', 'NUMERICAL_PII', 'DOB', 'LOCATION_ZIP'].map(entityName)).toEqual([
    'Card number',
    'Reference number',
    'Date of birth',
    'Postcode',
  ]);
  expect(entityName('LOYALTY_TIER')).toBe('Loyalty tier');
  expect(entityName('constructor')).toBe('Constructor');
});

test('shares are whole percents that add up to a hundred', () => {
  const percents = format['percents'] as unknown as (shares: number[]) => string[];
  expect(percents([0.535, 0.465])).toEqual(['54 %', '46 %']);
  expect(percents([1 / 3, 1 / 3, 1 / 3])).toEqual(['34 %', '33 %', '33 %']);
  expect(percents([0, 0])).toEqual(['0 %', '0 %']);
});
