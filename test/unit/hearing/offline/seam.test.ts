import { expect, test } from 'vitest';
import {
  divideAt,
  firstKnown,
  knownBefore,
  nearest,
  signsOf,
} from '../../../../src/hearing/offline/seam.ts';

const rate = 16_000;
/** Words that begin at these seconds; each has one sign, its number. */
const words = (...starts: number[]) =>
  starts.map((start, index) => ({
    word: 'so',
    start,
    end: start + 0.2,
    confidence: 1,
    ids: [index],
  }));

test('words that begin before the cut are its own, and the next piece goes on where the first other begins', () => {
  const { own, seam } = divideAt(words(0.5, 2, 3.9, 4.4, 4.8), {
    from: 0,
    to: 4.2 * rate,
    heardTo: 5 * rate,
  });
  expect(own).toBe(3);
  expect(seam?.at).toBeCloseTo(4.4 * rate);
});

test('a word that the audio may end inside of is left to the next piece', () => {
  const { own, seam } = divideAt(words(0.5, 2, 4.1), {
    from: 0,
    to: 4.2 * rate,
    heardTo: 4.6 * rate,
  });
  expect(own).toBe(2);
  expect(seam?.at).toBeCloseTo(4.1 * rate);
});

test('a last word long before the end of the audio is whole, and what is heard behind it is left to the next piece', () => {
  const piece = { from: 0, to: 4.2 * rate, heardTo: 4.6 * rate };
  const { own, seam } = divideAt(words(0.5, 2, 3), piece);
  expect(own).toBe(3);
  expect(seam?.at).toBeCloseTo(3.2 * rate);
  // Its end is the end of the audio where somebody spoke on and the model wrote no more: nobody says "so" for so long.
  const drawnOut = words(0.5, 2, 3).map((word) => ({ ...word, end: Math.max(word.end, 4.6) }));
  const spokenOn = divideAt(drawnOut.slice(2), piece);
  expect(spokenOn).toMatchObject({ own: 1, seam: { known: [{ start: 3 }] } });
  expect(spokenOn.seam!.at / rate).toBeGreaterThan(3.2);
  expect(spokenOn.seam!.at / rate).toBeLessThan(3.5);
});

test('speech between the last word and one behind the cut is left to the next piece, too', () => {
  const piece = { from: 0, to: 4.2 * rate, heardTo: 5.2 * rate };
  expect(divideAt(words(0.5, 3, 4.9, 5.1), piece)).toMatchObject({
    own: 2,
    seam: { at: 3.2 * rate },
  });
  // Behind more speech than that, the next piece begins at the cut; this piece reads up to there again.
  expect(divideAt(words(0.5, 4.9, 5.1), piece)).toMatchObject({ own: 1, seam: { at: 4.2 * rate } });
});

test('a long word that fell quiet early leaves no more than a little', () => {
  const [long] = words(2.4).map((word) => ({ ...word, word: 'extraordinary', end: 3.2 }));
  const { seam } = divideAt([long!], { from: 0, to: 6 * rate, heardTo: 7 * rate });
  expect(seam?.at).toBe(3.5 * rate);
});

test('so much behind the last word that the next piece would be too long is not left to it', () => {
  const { seam } = divideAt(words(0.5), { from: 0, to: 4.2 * rate, heardTo: 4.6 * rate });
  expect(seam?.at).toBe(4.2 * rate);
});

test('a number that nothing follows is left to the next piece: its digits go on for seconds', () => {
  const number = words(0.5, 2, 2.4).map((word, index) =>
    index === 2 ? { ...word, word: '555-0142' } : word,
  );
  const piece = { from: 0, to: 4.6 * rate, heardTo: 5.2 * rate };
  expect(divideAt(number, piece)).toMatchObject({ own: 2, seam: { at: 2.4 * rate } });
  const letters = number.map((word) => ({ ...word, word: word.word.replace(/.*\d/, 'S-M-Y') }));
  expect(divideAt(letters, piece)).toMatchObject({ own: 2 });
  // The piece is nothing but this: it is told, and not read for ever.
  expect(divideAt(number.slice(2), piece)).toMatchObject({ own: 1 });
});

test('words that crowd at one moment before the cut are left to the next piece, as what the model made up', () => {
  const across = words(3.06, 3.61, 3.78, 4.21, 4.24, 4.24, 4.24);
  const { own, seam } = divideAt(across, { from: 0, to: 4.24 * rate + 1, heardTo: 5 * rate });
  expect(own).toBe(3);
  expect(seam?.at).toBeCloseTo(4.21 * rate);
  // It began before the piece: whatever is read next would be longer each time.
  const before = { from: 4.22 * rate, to: 4.24 * rate + 1, heardTo: 5 * rate };
  expect(divideAt(across, before)).toMatchObject({ own: 6 });
  const behind = words(12.34, 12.79, 12.82, 12.82);
  const piece = { from: 12 * rate, to: 13.8 * rate, heardTo: 14.4 * rate };
  expect(divideAt(behind, piece)).toMatchObject({ own: 1 });
  // There is nothing before it to go on after.
  const alone = { from: 0, to: 3 * rate, heardTo: 4 * rate };
  expect(divideAt(words(1, 1.01), alone)).toMatchObject({ own: 2 });
});

test('words before the seam are known to the next piece, as many as it has room for, with their signs', () => {
  const { seam } = divideAt(words(0.5, 2, 2.9, 3.9, 4.4), {
    from: 0,
    to: 4.2 * rate,
    heardTo: 5 * rate,
  });
  expect(seam && signsOf(seam)).toEqual([0, 1, 2, 3]);
  const near = seam && nearest(seam, 1);
  expect(near && signsOf(near)).toEqual([2, 3]);
  expect(near && firstKnown(near)).toBeCloseTo(2.9 * rate);
  expect(firstKnown({ at: 7, known: [] })).toBe(7);
  expect(knownBefore([], 3)).toEqual([]);
});

test('a piece without a word of its own has no seam: the next one is read from the cut', () => {
  expect(divideAt([], { from: 0, to: 3 * rate, heardTo: 4 * rate })).toEqual({
    own: 0,
    seam: undefined,
  });
  expect(divideAt(words(3.5), { from: 0, to: 3 * rate, heardTo: 4 * rate })).toEqual({
    own: 0,
    seam: undefined,
  });
});
