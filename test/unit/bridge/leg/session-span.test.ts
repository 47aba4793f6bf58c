import { expect, test } from 'vitest';
import { withinSpan, type SpokenSpan } from '../../../../src/bridge/leg/session-span.ts';
import type { ServerMessage } from '../../../../src/protocol/live-messages.ts';

const envelope = { session_id: 's', created_at: '2026-02-03T09:15:02.207Z' };
const words = ['my', 'card,', 'is', 'lost'].map((word, at) => ({
  word: ` ${word}`,
  start: at,
  end: at + 0.8,
  confidence: 1,
}));
const utterance = {
  start: 0,
  end: 3.8,
  confidence: 1,
  channel: 0,
  words,
  text: ' my card, is lost',
  language: 'en' as const,
};
const final: ServerMessage = {
  ...envelope,
  type: 'transcript',
  data: { id: '00_0', is_final: true, utterance },
};

const before = (endS: number): SpokenSpan => ({ fromS: () => 0, toS: () => endS });
const from = (startS: number): SpokenSpan => ({ fromS: () => startS, toS: () => Infinity });

test.each([
  [5, ' my card, is lost', 3.8],
  [3.8, ' my card, is lost', 3.8],
  // The greater part of the last word, and the smaller.
  [3.5, ' my card, is lost', 3.8],
  [3.3, ' my card, is', 2.8],
  [1.9, ' my card,', 1.8],
])('an utterance that goes over %s s is cut between two words', (endS, text, end) => {
  const told = withinSpan(final, before(endS));
  expect(told).toMatchObject({ data: { id: '00_0', utterance: { text, end } } });
});

test('nothing is left of what begins behind the border or has no word before it', () => {
  expect(withinSpan(final, before(0))).toBeUndefined();
  expect(withinSpan(final, before(0.1))).toBeUndefined();
  const end: ServerMessage = { ...envelope, type: 'speech_end', data: { time: 2, channel: 0 } };
  expect(withinSpan(end, before(2))).toBeUndefined();
  expect(withinSpan(end, before(2.1))).toBe(end);
});

test('the add-ons of an utterance are cut with it', () => {
  const results = [
    { entity_type: 'CREDIT_CARD', text: 'card', start: 1, end: 1.8 },
    { entity_type: 'EVENT', text: 'lost', start: 3, end: 3.8 },
  ];
  const entities: ServerMessage = {
    ...envelope,
    type: 'named_entity_recognition',
    error: null,
    data: { utterance_id: '00_0', utterance, results },
  };
  expect(withinSpan(entities, before(2))).toMatchObject({
    data: { utterance: { text: ' my card,' }, results: [{ text: 'card' }] },
  });
  const failed: ServerMessage = { ...entities, error: { message: 'no' }, data: null };
  expect(withinSpan(failed, before(2))).toBe(failed);
});

test('a text that is written otherwise than its words is made of the words', () => {
  const told = withinSpan(
    { ...final, data: { ...final.data, utterance: { ...utterance, text: 'MY CARD IS LOST' } } },
    before(2),
  );
  expect(told).toMatchObject({ data: { utterance: { text: 'my card,' } } });
});

test.each([
  [0, ' my card, is lost', 0],
  [0.3, ' my card, is lost', 0],
  [0.5, 'card, is lost', 1],
  [1.9, 'is lost', 2],
  [3.3, 'lost', 3],
])('what an earlier session said up to %s s is not said again', (startS, text, start) => {
  const told = withinSpan(final, from(startS));
  expect(told).toMatchObject({ data: { utterance: { text, start, end: 3.8 } } });
});

test('each channel has its own border: one party may have been heard further than the other', () => {
  const span: SpokenSpan = { fromS: (channel) => (channel === 1 ? 10 : 0), toS: () => Infinity };
  const onChannel = (channel: number): ServerMessage => ({
    ...final,
    data: { ...final.data, utterance: { ...utterance, channel } },
  });
  expect(withinSpan(onChannel(0), span)).toEqual(onChannel(0));
  expect(withinSpan(onChannel(1), span)).toBeUndefined();
});
