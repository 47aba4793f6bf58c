import { describe, expect, test } from 'vitest';
import {
  incompleteOf,
  tellsOfTheWhole,
  type GapSpan,
} from '../../../../src/bridge/records/incomplete.ts';

const gap = (cause: GapSpan['cause'], start: number, end: number): GapSpan => ({
  cause,
  start,
  end,
});

describe('what a call lacks', () => {
  test('seconds that two legs or two causes share count once, the worst cause comes first', () => {
    const gaps = [gap('carrier', 4, 6), gap('refused', 5, 9), gap('refused', 5, 9)];
    expect(incompleteOf(gaps, 20)).toEqual({
      seconds: 5,
      causes: [
        { cause: 'refused', seconds: 4 },
        { cause: 'carrier', seconds: 2 },
      ],
    });
  });

  test('a few lost frames leave it whole, many do not', () => {
    const frames = (count: number): GapSpan[] =>
      Array.from({ length: count }, (_, at) => gap('carrier', at, at + 0.02));
    expect(incompleteOf(frames(20), 60)).toBeNull();
    expect(incompleteOf(frames(30), 60)).toMatchObject({ seconds: 0.6 });
  });

  test('a hole that a carrier makes up is no longer than the call', () => {
    expect(incompleteOf([gap('carrier', 3, 1e6)], 10)).toMatchObject({ seconds: 7 });
    expect(incompleteOf([gap('carrier', 12, 1e6)], 10)).toBeNull();
  });

  test('figures of the rest stand for the whole only while little is missing', () => {
    expect(tellsOfTheWhole([gap('service', 0, 1)], 10)).toBe(true);
    expect(tellsOfTheWhole([gap('service', 0, 1.1)], 10)).toBe(false);
    expect(tellsOfTheWhole([], 0)).toBe(true);
  });
});
