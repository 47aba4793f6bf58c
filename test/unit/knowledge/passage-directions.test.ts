import { expect, test } from 'vitest';
import {
  meaningFrom,
  nearnessOf,
  textOfDirections,
} from '../../../src/knowledge/passage-directions.ts';
import { directionFrom, directionSize } from '../../../src/meaning/directions.ts';

/** A direction along one of the axes, or between two. */
const along = (...axes: number[]) =>
  directionFrom(Array.from({ length: directionSize }, (_, at) => (axes.includes(at) ? 1 : 0)));

const far = along(0);
const question = { said: along(5), meant: along(5) };

test('one near sentence among many counts half, and a question that was answered counts in part', () => {
  const stored = (sentences: number[][], asked: number[][] = []) =>
    meaningFrom(
      textOfDirections(
        [far, far, far, ...asked.map((axes) => along(...axes))],
        sentences.map((axes) => along(...axes)),
      ),
    )!;
  const nearness = (...of: Parameters<typeof stored>) => nearnessOf(stored(...of), question, []);
  expect(nearness([[1], [2], [3]])).toBeCloseTo(0);
  expect(nearness([[1], [5], [3]])).toBeCloseTo(0.5);
  expect(nearness([[1], [5, 6], [3]])).toBeCloseTo(0.5 * Math.SQRT1_2);
  expect(nearness([[1]], [[5]])).toBeCloseTo(0.25);
  expect(nearnessOf(stored([[1]]), question, [along(5)])).toBeCloseTo(0.25);
  // A passage of two words has no sentence: it stands for itself.
  expect(nearness([])).toBeCloseTo(0);
});

test('directions of another model or form are not read, and the passage is understood again', () => {
  const [whole] = textOfDirections([far, far, far], [far]).split('.');
  expect(meaningFrom(textOfDirections([far, far, far], []))?.sentences).toHaveLength(0);
  expect(meaningFrom(whole!)).toBeUndefined();
  expect(meaningFrom(textOfDirections([far], [far]))).toBeUndefined();
  expect(meaningFrom('all-MiniLM-L6-v2/8:AAAA')).toBeUndefined();
  expect(meaningFrom(`${whole!}.AAAA`)).toBeUndefined();
});
