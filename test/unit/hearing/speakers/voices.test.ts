import { describe, expect, test } from 'vitest';
import { groupsAfter, unionsOf } from '../../../../src/hearing/speakers/clusters.ts';
import {
  hintsOfChannel,
  voicesOf,
  type VoicePiece,
} from '../../../../src/hearing/speakers/voice-groups.ts';
import { madeUpDirection, noise } from '../../../support/speech/made-up-voice.ts';

describe('groups of directions', () => {
  const at = (degrees: number): Float32Array =>
    Float32Array.of(Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180));
  const alike = (...degrees: number[]): number =>
    degrees.reduce((sum, one) => sum + Math.cos((one * Math.PI) / 180), 0) / degrees.length;

  test('become one again and again, the most alike first, by the mean of all their pairs', () => {
    const unions = unionsOf([0, 100, 10, 130, 180].map(at));
    expect(unions.map(({ one, other }) => [one, other])).toEqual([
      [0, 2],
      [1, 3],
      [1, 4],
      [0, 1],
    ]);
    const likeness = [alike(10), alike(30), alike(80, 50), alike(100, 130, 180, 90, 120, 170)];
    for (const [index, union] of unions.entries())
      expect(union.likeness).toBeCloseTo(likeness[index] ?? NaN, 6);
    expect(groupsAfter(unions.slice(0, 2), 5)).toEqual([0, 1, 0, 1, 4]);
    expect(groupsAfter(unions.slice(0, 3), 5)).toEqual([0, 1, 0, 1, 1]);
    expect(groupsAfter(unions, 5)).toEqual([0, 0, 0, 0, 0]);
  });

  test('are none of nothing, and one of one', () => {
    expect(unionsOf([])).toEqual([]);
    expect(groupsAfter(unionsOf([at(0)]), 1)).toEqual([0]);
  });

  test('are those of the voices', () => {
    const next = noise(11);
    const pieces = Array.from({ length: 40 }, (_, index) => madeUpDirection(index % 3, next));
    const groups = groupsAfter(unionsOf(pieces).slice(0, 37), 40);
    for (const [index, group] of groups.entries()) expect(group % 3).toBe(index % 3);
  });
});

/** Turns of ten pieces, each 0.4 s, of these voices. */
function talk(
  turns: readonly number[],
  spread?: number,
): { pieces: VoicePiece[]; truth: number[] } {
  const next = noise(5);
  const truth = turns.flatMap((voice) => Array<number>(10).fill(voice));
  const pieces = truth.map((voice) => ({
    embedding: madeUpDirection(voice, next, spread),
    seconds: 1.6,
    spanS: 0.4,
  }));
  return { pieces, truth };
}

/** The share of pieces that are right when each voice found is given the name that suits it best. */
function rightShare(voices: readonly number[], truth: readonly number[]): number {
  const pairs = new Map<string, number>();
  for (const [index, voice] of voices.entries()) {
    const pair = `${voice} ${truth[index]}`;
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  let right = 0;
  const used = new Set<string>();
  for (const [pair, count] of [...pairs].toSorted(([, a], [, b]) => b - a)) {
    const [voice = '', name = ''] = pair.split(' ');
    if (used.has(`v${voice}`) || used.has(`n${name}`)) continue;
    used.add(`v${voice}`).add(`n${name}`);
    right += count;
  }
  return right / voices.length;
}

describe('voices', () => {
  test.each([
    [1, [0, 0, 0, 0, 0, 0, 0]],
    [2, [0, 1, 0, 1, 0, 1, 1]],
    [3, [0, 1, 2, 0, 1, 2, 1, 0, 2]],
    [4, [0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3]],
  ])('are as many as there are: %i', (count, turns) => {
    const { pieces, truth } = talk(turns);
    const voices = voicesOf(pieces, {});
    expect(new Set(voices).size).toBe(count);
    expect(rightShare(voices, truth)).toBeGreaterThan(0.98);
  });

  test('are as many as a client says, and within its bounds', () => {
    const { pieces } = talk([0, 1, 2, 0, 1, 2, 1, 0, 2]);
    const countWith = (hints: object): number => new Set(voicesOf(pieces, hints)).size;
    expect(countWith({ number: 1 })).toBe(1);
    expect(countWith({ number: 2 })).toBe(2);
    expect(countWith({ number: 5 })).toBe(5);
    expect(countWith({ max: 1 })).toBe(1);
    expect(countWith({ max: 2 })).toBe(2);
    expect(countWith({ max: 0 })).toBe(3);
    expect(countWith({ min: 4 })).toBe(4);
    expect(countWith({ min: 1, max: 6 })).toBe(3);
    expect(countWith({ number: 1_000_000 })).toBe(20);
  });

  test('of a short talk are found as those of a long one', () => {
    const { pieces, truth } = talk([0, 1, 0]);
    expect(rightShare(voicesOf(pieces, {}), truth)).toBe(1);
    expect(new Set(voicesOf(talk([0]).pieces, {})).size).toBe(1);
    expect(new Set(voicesOf(talk([0]).pieces, { number: 2 })).size).toBe(2);
    expect(voicesOf([], {})).toEqual([]);
    expect(voicesOf(pieces.slice(0, 1), {})).toEqual([0]);
    expect(voicesOf(pieces.slice(0, 1), { number: 3 })).toEqual([0]);
  });

  test('whose number is given are those that speak, not what stands out of a voice', () => {
    const { pieces, truth } = talk([0, 1, 0, 1, 0]);
    const next = noise(13);
    const [odd, pieceOfOdd] = [[4, 17, 33], () => madeUpDirection(7, next)];
    const mixed = pieces.map((piece, at) =>
      odd.includes(at) ? { ...piece, embedding: pieceOfOdd() } : piece,
    );
    const voices = voicesOf(mixed, { number: 2 });
    const known = voices.filter((_, at) => !odd.includes(at));
    expect(rightShare(known, truth.filter((_, at) => !odd.includes(at)))).toBe(1); // prettier-ignore
  });

  test('that speak less than three seconds are part of another, unless their number is given', () => {
    const { pieces } = talk([0, 1, 0, 1, 0, 1]);
    const next = noise(9);
    const aside = Array.from({ length: 5 }, () => ({
      embedding: madeUpDirection(2, next),
      seconds: 1.6,
      spanS: 0.4,
    }));
    const voices = voicesOf([...pieces, ...aside], {});
    expect(new Set(voices).size).toBe(2);
    expect(new Set(voicesOf([...pieces, ...aside], { number: 3 }).slice(-5)).size).toBe(1);
    expect(new Set(voicesOf([...pieces, ...aside], { number: 3 })).size).toBe(3);
  });

  test('of short pieces follow those of the long ones', () => {
    const { pieces, truth } = talk([0, 1, 0, 1, 0, 1]);
    const mixed = pieces.map((piece, at) => (at % 10 === 3 ? { ...piece, seconds: 0.5 } : piece));
    expect(rightShare(voicesOf(mixed, {}), truth)).toBe(1);
  });

  test('of a talk of two hours are found in a choice of it', () => {
    const turns = Array.from({ length: 1_000 }, (_, at) => at % 3);
    const { pieces, truth } = talk(turns);
    const voices = voicesOf(pieces, {});
    expect(new Set(voices).size).toBe(3);
    expect(rightShare(voices, truth)).toBeGreaterThan(0.98);
  });

  test.each([{}, { number: 2 }, { min: 2, max: 2 }, { max: 2 }, { number: 3 }])(
    'of a long talk with a cough in it, %o: the cough is nobody',
    (hints) => {
      const count = hints.number ?? 2;
      const turns = Array.from({ length: 300 }, (_, at) => at % count);
      const { pieces, truth } = talk(turns);
      const next = noise(17);
      // Piece 1,000 of 3,000 is among the 300 that are grouped.
      const coughed = pieces.map((piece, at) =>
        at === 1_000 ? { ...piece, embedding: madeUpDirection(9, next) } : piece,
      );
      expect(rightShare(voicesOf(coughed, hints), truth)).toBeGreaterThan(0.98);
      // Nor is it one of fewer than there are.
      const fewer = voicesOf(coughed, { number: count - 1 || 1 });
      const seconds = [...new Set(fewer)].map((voice) => fewer.filter((one) => one === voice).length); // prettier-ignore
      expect(seconds).toHaveLength(count - 1 || 1);
      expect(Math.min(...seconds)).toBeGreaterThan(900);
    },
  );
});

test('a number of speakers counts the people of all channels, of whom each has one at least', () => {
  expect(hintsOfChannel({ number: 2 }, 1)).toEqual({ number: 2 });
  expect(hintsOfChannel({ number: 2 }, 2)).toEqual({ max: 1 });
  expect(hintsOfChannel({ number: 3, min: 2 }, 2)).toEqual({ max: 2 });
  expect(hintsOfChannel({ max: 1 }, 4)).toEqual({ max: 1 });
  expect(hintsOfChannel({ min: 2 }, 2)).toEqual({});
  expect(hintsOfChannel({ max: 0 }, 2)).toEqual({});
});
