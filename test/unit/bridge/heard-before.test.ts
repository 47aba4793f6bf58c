import { expect, test } from 'vitest';
import { heardBefore } from '../../../src/bridge/heard-before.ts';
import type { ServerMessage } from '../../../src/protocol/live-messages.ts';

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

test.each([
  [5, ' my card, is lost', 3.8],
  [3.8, ' my card, is lost', 3.8],
  // The greater part of the last word, and the smaller.
  [3.5, ' my card, is lost', 3.8],
  [3.3, ' my card, is', 2.8],
  [1.9, ' my card,', 1.8],
])('an utterance that goes over %s s is cut between two words', (endS, text, end) => {
  const told = heardBefore(final, endS);
  expect(told).toMatchObject({ data: { id: '00_0', utterance: { text, end } } });
});

test('nothing is left of what begins behind the border or has no word before it', () => {
  expect(heardBefore(final, 0)).toBeUndefined();
  expect(heardBefore(final, 0.1)).toBeUndefined();
  const end: ServerMessage = { ...envelope, type: 'speech_end', data: { time: 2, channel: 0 } };
  expect(heardBefore(end, 2)).toBeUndefined();
  expect(heardBefore(end, 2.1)).toBe(end);
});

test('what add-ons say of the utterance is cut with it', () => {
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
  expect(heardBefore(entities, 2)).toMatchObject({
    data: { utterance: { text: ' my card,' }, results: [{ text: 'card' }] },
  });
  const failed: ServerMessage = { ...entities, error: { message: 'no' }, data: null };
  expect(heardBefore(failed, 2)).toBe(failed);
});

test('a text that is written otherwise than its words is made of the words', () => {
  const told = heardBefore(
    { ...final, data: { ...final.data, utterance: { ...utterance, text: 'MY CARD IS LOST' } } },
    2,
  );
  expect(told).toMatchObject({ data: { utterance: { text: 'my card,' } } });
});
