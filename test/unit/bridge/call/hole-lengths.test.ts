import { describe, expect, test } from 'vitest';
import {
  discardedS,
  holeBetweenStreams,
  longestGapS,
  lostHole,
  quietS,
  restOf,
} from '../../../../src/bridge/call/hole-lengths.ts';

describe('how long a hole is', () => {
  test('audio that a carrier lost is silence, without the silence that stands there already', () => {
    expect(lostHole(10, 2, 0)).toEqual({ hole: { start: 10, end: 12 }, silenceS: 2 });
    expect(lostHole(10, 2, 0.5)).toEqual({ hole: { start: 10, end: 12 }, silenceS: 1.5 });
    expect(lostHole(10, 2, 3).silenceS).toBe(0);
  });

  test('a length that no call has is cut to one that is a number', () => {
    expect(lostHole(1, Infinity, 0).hole).toEqual({ start: 1, end: 1 + longestGapS });
    expect(discardedS(Infinity, 0)).toBe(longestGapS);
  });

  test('a quiet carrier is believed as far as our own clock can confirm it', () => {
    expect(quietS(5, 0, 8)).toBe(5);
    expect(quietS(500, 0, 8)).toBe(8);
    expect(quietS(5, 4, 8)).toBe(1);
    expect(quietS(5, 6, 8)).toBe(0);
    expect(quietS(5, 0, -1)).toBe(0);
  });

  test('discarded audio counts without the silence that was written for it', () => {
    expect(discardedS(3, 1)).toBe(2);
    expect(discardedS(1, 3)).toBe(0);
  });

  test('the rest of a hole follows its silence', () => {
    expect(restOf(10, 700, 600)).toEqual({ start: 610, end: 710 });
    expect(restOf(10, 5, 5)).toBeUndefined();
    expect(restOf(10, 5, 4.9995)).toBeUndefined();
  });

  test('a hole between two streams begins with the last frame of the first', () => {
    expect(holeBetweenStreams(20, 0, 3)).toEqual({ start: 20, end: 23 });
    expect(holeBetweenStreams(20, 2, 3)).toEqual({ start: 18, end: 23 });
    expect(holeBetweenStreams(20, 0, 0.05)).toBeUndefined();
  });
});
