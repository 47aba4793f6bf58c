import { expect, test } from 'vitest';
import {
  closest,
  agreement,
  alignedWords,
} from '../../../../src/speech-service/recogniser/consensus.ts';
import { readingsFor, readTogether } from '../../../../src/speech-service/recogniser/readings.ts';

const reading = (text: string) => ({ text, words: text.split(' ') });

test('the reading closest to the others wins, and its words carry the share that agrees', () => {
  const readings = ['press star to cancel', 'pressed our to cancel', 'Press star to cancel.'].map(
    reading,
  );
  const chosen = closest(readings)!;
  expect(chosen.text).toBe('press star to cancel');
  expect(agreement(chosen, readings)).toEqual([2 / 3, 2 / 3, 1, 1]);
});

test('words are aligned in order, without case and marks', () => {
  expect(alignedWords(['One,', 'two', 'three'], ['two', 'One', 'three'])).toEqual([1, 2]);
  expect(alignedWords([], ['a'])).toEqual([]);
});

const atEase = { first: 3, most: 7 };

test('readings that agree are enough; ones that differ are joined by more', () => {
  const same = readTogether(
    () => reading('hello'),
    atEase,
    () => 0,
  );
  expect([same.readings, same.agreement]).toEqual([3, [1]]);
  const words = ['a', 'b', 'a', 'a', 'a', 'c', 'a'];
  const differing = readTogether(
    () => reading(words.shift()!),
    atEase,
    () => 0,
  );
  expect(differing.reading.text).toBe('a');
  expect(differing.readings).toBe(7);
  expect(differing.agreement[0]).toBeCloseTo(5 / 7);
});

test('whoever waits for the final does not wait for long', () => {
  let readings = 0;
  const { reading: chosen } = readTogether(
    () => reading(String(readings++)),
    atEase,
    () => readings * 0.2,
  );
  expect([readings, chosen.text]).toEqual([2, '0']);
});

test('quality gives way before lateness does', () => {
  expect(readingsFor({ busy: 0.1, latenessMs: 0 })).toEqual({ first: 3, most: 7 });
  expect(readingsFor({ busy: 0.7, latenessMs: 0 })).toEqual({ first: 3, most: 3 });
  expect(readingsFor({ busy: 0.95, latenessMs: 0 })).toEqual({ first: 1, most: 1 });
  expect(readingsFor({ busy: 0.1, latenessMs: 900 })).toEqual({ first: 1, most: 1 });
});
