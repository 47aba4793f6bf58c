import { expect, test } from 'vitest';
import {
  agreement,
  alignedWords,
  closest,
  isPressed,
  doubtsSparingly,
  earlierSecondsFor,
  marginsTogether,
  readsSideBySide,
  readingsFor,
} from '../../../../src/hearing/offline/readings.ts';

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

test('quality gives way before lateness does', () => {
  expect(readingsFor({ needed: 0.1, latenessMs: 0, togetherMs: 0 })).toEqual({ first: 3, most: 7 });
  expect(readingsFor({ needed: 0.4, latenessMs: 0, togetherMs: 0 })).toEqual({ first: 3, most: 3 });
  expect(readingsFor({ needed: 0.8, latenessMs: 0, togetherMs: 0 })).toEqual({ first: 1, most: 1 });
  expect(readingsFor({ needed: 0.1, latenessMs: 900, togetherMs: 0 })).toEqual({
    first: 1,
    most: 1,
  });
});

test('under load nothing is read with what was said before it, and then a doubted piece with fewer margins', () => {
  const quiet = { needed: 0.07, latenessMs: 0, togetherMs: 0 };
  const tenLegs = { ...quiet, needed: 0.12 };
  expect(marginsTogether(tenLegs)).toBe(3);
  expect(readsSideBySide(tenLegs)).toBe(true);
  expect(doubtsSparingly(tenLegs)).toBe(false);
  expect(earlierSecondsFor(tenLegs)).toBe(0);
  expect(marginsTogether(quiet)).toBe(3);
  expect(readsSideBySide(quiet)).toBe(false);
  expect(doubtsSparingly(quiet)).toBe(false);
  expect(earlierSecondsFor(quiet)).toBeGreaterThan(2);
  for (const busy of [{ needed: 0.2 }, { latenessMs: 100 }, { togetherMs: 1_200 }]) {
    const load = { ...quiet, ...busy };
    expect(marginsTogether(load)).toBe(2);
    expect(readsSideBySide(load)).toBe(true);
    expect(doubtsSparingly(load)).toBe(true);
    expect(earlierSecondsFor(load)).toBe(0);
    // A file can wait.
    expect(earlierSecondsFor({ ...load, isPatient: true })).toBeGreaterThan(2);
  }
});

test('further readings are given up before anything is late, when all who speak may stop together', () => {
  const quiet = { needed: 0.1, latenessMs: 0 };
  expect(readingsFor({ ...quiet, togetherMs: 900 })).toEqual({ first: 3, most: 7 });
  expect(readingsFor({ ...quiet, togetherMs: 1_200 })).toEqual({ first: 3, most: 3 });
  expect(readingsFor({ ...quiet, togetherMs: 2_500 })).toEqual({ first: 1, most: 1 });
});

test('the beams of a reading are given up last, when its other readings are gone already', () => {
  const busy = { needed: 0.55, latenessMs: 0, togetherMs: 0 };
  expect(readingsFor(busy).most).toBe(1);
  expect(isPressed(busy)).toBe(false);
  expect(isPressed({ needed: 0.65, latenessMs: 0, togetherMs: 0 })).toBe(true);
  expect(isPressed({ needed: 0, latenessMs: 200, togetherMs: 0 })).toBe(true);
});
