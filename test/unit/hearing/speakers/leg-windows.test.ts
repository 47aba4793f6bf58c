import { expect, test } from 'vitest';
import { LegWindows, maxDirections } from '../../../../src/hearing/speakers/leg-windows.ts';
import { madeUpDirection, noise } from '../../../support/speech/made-up-voice.ts';

/** A leg in which `voiceAt` says who speaks in each window of 0.8 s; asked after so many of them each time. */
function talk(voiceAt: (at: number) => number, asks: readonly number[]) {
  const leg = new LegWindows({ max: 4 });
  const next = noise(11);
  let at = 0;
  const answers = asks.map((count) => {
    for (; at < count; at++)
      leg.add([
        {
          ...{ from: at * 12_800, to: (at + 1) * 12_800, seconds: 1.6 },
          embedding: madeUpDirection(voiceAt(at), next, 0.4),
        },
      ]);
    return leg.turns();
  });
  const heard = (answer: (typeof answers)[number] | undefined) =>
    Array.from({ length: at }, (_, window) => {
      const middle = (window + 0.5) * 0.8;
      return answer?.find(({ start, end }) => start <= middle && middle < end)?.voice;
    });
  return { leg, answers, heard };
}

test('one voice stays one, however long it speaks', () => {
  const { answers } = talk(() => 3, [20, 60, 120, 320]);
  for (const answer of answers) expect(new Set(answer.map(({ voice }) => voice))).toEqual(new Set([0])); // prettier-ignore
});

test('two voices are numbered as they come up, and keep their numbers whoever speaks more', () => {
  const { answers, heard } = talk(
    (at) => (at < 60 ? Math.floor(at / 5) % 2 : at % 9 === 0 ? 0 : 1),
    [8, 60, 120, 240, 320, 330],
  );
  expect(answers[0]?.map(({ voice }) => voice)).toEqual([0]);
  for (const answer of answers.slice(1)) expect(heard(answer).slice(0, 10)).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1]); // prettier-ignore
  expect(heard(answers.at(-1)).slice(320, 330)).toEqual(
    Array.from({ length: 10 }, (_, at) => ((at + 320) % 9 === 0 ? 0 : 1)),
  );
});

test('a talk of hours keeps so many directions and no more, and what was told of its beginning stays', () => {
  const voiceAt = (at: number): number => Math.floor(at / 6) % 2;
  const { leg, answers, heard } = talk(voiceAt, [100, 3_000, maxDirections + 1_500]);
  expect(leg.directions).toBeLessThanOrEqual(maxDirections);
  expect(leg.directions).toBeGreaterThan(maxDirections / 2);
  const right = heard(answers.at(-1)).filter((voice, at) => voice === voiceAt(at)).length;
  expect(right / (maxDirections + 1_500)).toBeGreaterThan(0.98);
});
