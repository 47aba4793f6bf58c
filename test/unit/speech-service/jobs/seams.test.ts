import { expect, test } from 'vitest';
import { gridSamples, nextSeam } from '../../../../src/speech-service/jobs/seams.ts';

const rateHz = 16_000;

/** Voices at these levels for so many seconds, one after the other, over a line that rustles. */
function audio(sounds: readonly [level: number, seconds: number][], noise = 0): Int16Array {
  const samples: number[] = [];
  for (const [level, seconds] of sounds)
    for (let left = Math.round(seconds * rateHz); left > 0; left--)
      samples.push(level * Math.sin(left / 7) + noise * Math.sin(left * left));
  return Int16Array.from(samples);
}

const seamOf = (samples: Int16Array, sectionS = 3): Promise<number | undefined> =>
  nextSeam(
    {
      read: (from, count) => Promise.resolve(samples.subarray(from, from + count)),
      rateHz,
      end: samples.length,
      sectionS,
    },
    0,
  );

test.each([0, 40])('a seam lies in the longest pause, on the grid: noise %i', async (noise) => {
  const seam = await seamOf(
    audio([[3_000, 3.5], [0, 1], [2_000, 0.5], [0, 0.85], [3_000, 4]], noise), // prettier-ignore
  );
  expect(seam! % gridSamples).toBe(0);
  expect(seam! / rateHz).toBeGreaterThanOrEqual(3.8);
  expect(seam! / rateHz).toBeLessThanOrEqual(4.06);
});

test('it is looked for further on where nobody pauses, and there is none near the end', async () => {
  const late = await seamOf(audio([[3_000, 7.2], [0, 1.2], [3_000, 5]])); // prettier-ignore
  expect(late! / rateHz).toBeGreaterThan(7.5);
  expect(late! / rateHz).toBeLessThan(8);
  expect(await seamOf(audio([[3_000, 20]]))).toBeUndefined();
  expect(await seamOf(audio([[3_000, 5.3], [0, 1.2], [3_000, 0.1]]))).toBeUndefined(); // prettier-ignore
});
