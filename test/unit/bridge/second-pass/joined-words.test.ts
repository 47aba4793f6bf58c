import { expect, test } from 'vitest';
import { joinedWords } from '../../../../src/bridge/second-pass/joined-words.ts';
import type { Spoken } from '../../../../src/speech-client/jobs-api.ts';

const said = (start: number, end: number, speaker?: number): Spoken => ({
  channel: 0,
  start,
  end,
  text: `at ${start}`,
  language: 'en',
  ...(speaker === undefined ? {} : { speaker }),
});

test('words of later pieces stand at the seconds of the call, and none ends behind its piece', () => {
  const words = joinedWords(
    [
      { startS: 0, endS: 100, spoken: [said(1, 2)] },
      { startS: 100, endS: 205, spoken: [said(0.5, 3), said(104, 106)] },
      { startS: 205, endS: Infinity, spoken: [said(4, 5)] },
    ],
    [],
  );
  expect(words.map(({ start, end }) => [start, end])).toEqual([[1, 2], [100.5, 103], [204, 205], [209, 210]]); // prettier-ignore
});

test('a voice of a piece has the number that the live call gave it, whatever the piece calls it', () => {
  const live = [
    { start: 0, end: 5, speaker: 0 },
    { start: 5, end: 9, speaker: 1 },
    { start: 100, end: 104, speaker: 1 },
    { start: 104, end: 109, speaker: 0 },
  ];
  const pieces = [
    { startS: 0, endS: 100, spoken: [said(0, 5, 0), said(5, 9, 1)] },
    { startS: 100, endS: Infinity, spoken: [said(0, 4, 0), said(4, 9, 1), said(20, 22, 2)] },
  ];
  expect(joinedWords(pieces, live).map(({ speaker }) => speaker)).toEqual([0, 1, 1, 0, 2]);
});

test('voices that the live call did not tell are not taken for those of another piece', () => {
  const pieces = [
    { startS: 0, endS: 100, spoken: [said(0, 5, 0), said(5, 9, 1)] },
    { startS: 100, endS: Infinity, spoken: [said(0, 4, 0), said(4, 9)] },
  ];
  expect(joinedWords(pieces, []).map(({ speaker }) => speaker)).toEqual([0, 1, 2, undefined]);
});

test('the numbers of a recording that was read whole are left as they are', () => {
  const whole = [{ startS: 0, endS: Infinity, spoken: [said(0, 5, 1), said(5, 9, 0)] }];
  const live = [{ start: 0, end: 9, speaker: 7 }];
  expect(joinedWords(whole, live)).toEqual(whole[0]?.spoken);
});
