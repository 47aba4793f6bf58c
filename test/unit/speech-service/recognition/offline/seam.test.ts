import { expect, test } from 'vitest';
import {
  divideAt,
  knownBefore,
} from '../../../../../src/speech-service/recognition/offline/seam.ts';

const rate = 16_000;
/** Words that begin at these seconds; each has one sign, its number. */
const words = (...starts: number[]) =>
  starts.map((start, index) => ({
    word: `w${index}`,
    start,
    end: start + 0.2,
    confidence: 1,
    ids: [index],
  }));

test('words that begin before the cut are its own, and the next piece goes on where the first other begins', () => {
  const { own, seam } = divideAt(words(0.5, 2, 3.8, 4.4, 4.8), {
    to: 4.2 * rate,
    heardTo: 5 * rate,
  });
  expect(own).toBe(3);
  expect(seam?.at).toBeCloseTo(4.4 * rate);
});

test('a word that the audio may end inside of is left to the next piece', () => {
  const { own, seam } = divideAt(words(0.5, 2, 4.1), { to: 4.2 * rate, heardTo: 4.6 * rate });
  expect(own).toBe(2);
  expect(seam?.at).toBeCloseTo(4.1 * rate);
});

test('a last word long before the end of the audio is whole', () => {
  const { own, seam } = divideAt(words(0.5, 2, 3), { to: 4.2 * rate, heardTo: 4.6 * rate });
  expect(own).toBe(3);
  expect(seam?.at).toBeCloseTo(4.2 * rate);
});

test('words that crowd at one moment before the cut are left to the next piece, as what the model made up', () => {
  const across = words(3.06, 3.61, 3.78, 4.21, 4.24, 4.24, 4.24);
  const { own, seam } = divideAt(across, { to: 4.24 * rate + 1, heardTo: 5 * rate });
  expect(own).toBe(3);
  expect(seam?.at).toBeCloseTo(4.21 * rate);
  const behind = words(12.34, 12.79, 12.82, 12.82);
  expect(divideAt(behind, { to: 13.8 * rate, heardTo: 14.4 * rate })).toMatchObject({ own: 1 });
  // Long before the cut: the next piece would have to be read from there on.
  const early = words(0.5, 1, 1, 1.02, 1.02);
  expect(divideAt(early, { to: 7.8 * rate, heardTo: 8.4 * rate })).toMatchObject({ own: 5 });
  // There is nothing before it to go on after.
  expect(divideAt(words(1, 1.01), { to: 3 * rate, heardTo: 4 * rate })).toMatchObject({ own: 2 });
});

test('about a second of words before the seam is known to the next piece, with their signs', () => {
  const { seam } = divideAt(words(0.5, 2, 2.9, 3.6, 4.4), { to: 4.2 * rate, heardTo: 5 * rate });
  expect(seam?.given).toEqual([2, 3]);
  expect(seam?.from).toBeCloseTo(2.9 * rate);
  expect(knownBefore([], 3)).toEqual([]);
});

test('a piece without a word of its own has no seam: the next one is read from the cut', () => {
  expect(divideAt([], { to: 3 * rate, heardTo: 4 * rate })).toEqual({ own: 0, seam: undefined });
  expect(divideAt(words(3.5), { to: 3 * rate, heardTo: 4 * rate })).toEqual({
    own: 0,
    seam: undefined,
  });
});
