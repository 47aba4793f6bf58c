import { expect, test } from 'vitest';
import { inOrderOfTime } from '../../../../src/bridge/api/statuses.ts';

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, at) =>
    permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]),
  );
}

const time = (second: number): string => `2026-03-04T10:11:0${second}Z`;
const sequences = {
  'times of Twilio': [1, 2, 3, 4].map((second) => ({ Timestamp: time(second) })),
  'one second, by number': [0, 1, 2, 3].map((number) => ({
    Timestamp: time(1),
    SequenceNumber: String(number),
  })),
  'times of Telnyx': [1, 2, 3, 4].map((second) => ({ occurred_at: time(second) })),
};

test.each(Object.entries(sequences))(
  '%s: however callbacks arrive, they stand in the order in which it happened',
  (_name, statuses) => {
    for (const arrived of permutations<Record<string, unknown>>(statuses)) {
      const kept = arrived.map((status, at) => ({ received_at: at, status }));
      expect(inOrderOfTime(kept).map(({ status }) => status)).toEqual(statuses);
    }
  },
);

test('without a time of their own they stand as they came', () => {
  const kept = [2, 0, 1].map((at) => ({ received_at: at, status: { Event: String(at) } }));
  expect(inOrderOfTime(kept).map(({ status }) => status.Event)).toEqual(['0', '1', '2']);
});
