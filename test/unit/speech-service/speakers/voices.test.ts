import { describe, expect, test } from 'vitest';
import { eigenOf } from '../../../../src/speech-service/speakers/eigen.ts';
import {
  hintsOfChannel,
  voicesOf,
  type VoicePiece,
} from '../../../../src/speech-service/speakers/voices.ts';
import { madeUpDirection, noise } from '../../../support/speech/made-up-voice.ts';

describe('eigenvalues', () => {
  test.each([1, 2, 3, 20])('and vectors of a matrix of %i rows satisfy their equation', (n) => {
    const next = noise(n);
    const matrix = new Float64Array(n * n);
    for (let i = 0; i < n; i++)
      for (let j = 0; j <= i; j++) matrix[i * n + j] = matrix[j * n + i] = next();
    const { values, vector } = eigenOf(matrix.slice(), n, true);
    expect([...values]).toEqual([...values].toSorted((a, b) => a - b));
    for (const [index, value] of values.entries()) {
      const own = vector(index);
      expect(Math.hypot(...own)).toBeCloseTo(1, 9);
      for (let i = 0; i < n; i++) {
        let sum = 0;
        for (let j = 0; j < n; j++) sum += matrix[i * n + j]! * own[j]!;
        expect(sum).toBeCloseTo(value * own[i]!, 9);
      }
    }
  });

  test('of a graph that falls apart are zero once for each part', () => {
    const n = 9;
    const matrix = new Float64Array(n * n);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) if (i % 3 === j % 3) matrix[i * n + j] = i === j ? 2 : -1;
    const { values } = eigenOf(matrix, n, false);
    expect([...values].filter((value) => Math.abs(value) < 1e-9)).toHaveLength(3);
    expect(values[3]).toBeCloseTo(3, 9);
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
    expect(countWith({ number: 1_000_000 })).toBeLessThanOrEqual(20);
  });

  test('of a short talk are one unless somebody says otherwise', () => {
    const { pieces, truth } = talk([0, 1, 0]);
    expect(new Set(voicesOf(pieces, {})).size).toBe(1);
    expect(rightShare(voicesOf(pieces, { number: 2 }), truth)).toBe(1);
    expect(rightShare(voicesOf(pieces, { min: 2 }), truth)).toBe(1);
    expect(voicesOf([], {})).toEqual([]);
    expect(voicesOf(pieces.slice(0, 1), { number: 3 })).toEqual([0]);
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
});

test('a number of speakers counts the people of all channels, of whom each has one at least', () => {
  expect(hintsOfChannel({ number: 2 }, 1)).toEqual({ number: 2 });
  expect(hintsOfChannel({ number: 2 }, 2)).toEqual({ max: 1 });
  expect(hintsOfChannel({ number: 3, min: 2 }, 2)).toEqual({ max: 2 });
  expect(hintsOfChannel({ max: 1 }, 4)).toEqual({ max: 1 });
  expect(hintsOfChannel({ min: 2 }, 2)).toEqual({});
  expect(hintsOfChannel({ max: 0 }, 2)).toEqual({});
});
