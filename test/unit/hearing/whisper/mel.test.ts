import { expect, test } from 'vitest';
import { logMel, melBands } from '../../../../src/hearing/whisper/whisper-mel.ts';

const melFrames = 3_000;

/** Another program's figures for the sound below, in double precision: bands 0, 7, 20, 40 and 79 of some frames. */
const reference: Record<number, number[]> = {
  0: [0.96585, 1.04747, 0.71365, 0.62259, 0.44184],
  1: [0.45304, 0.5115, 0.43379, 0.40687, 0.38508],
  75: [0.43905, 0.13182, 0.3898, 0.48674, 0.4384],
  149: [0.14248, 0.45787, 0.43302, 0.42574, 0.41699],
  150: [0.64919, 0.86995, 0.58796, 0.28158, 0.39907],
  151: [0.20412, 0.24623, 0.03368, -0.29324, -0.45287],
  2999: [-0.66588, -0.66588, -0.66588, -0.66588, -0.66588],
};

test('the bands of a sound are those of another program, at its beginning, its end and behind it', () => {
  const sound = Float32Array.from(
    { length: 24_000 },
    (_, n) =>
      0.3 * Math.sin((2 * Math.PI * 440 * n) / 16_000) +
      0.2 * Math.sin((2 * Math.PI * (1_000 + 0.05 * n) * n) / 16_000) +
      0.05 * Math.cos(n * n * 0.37),
  );
  const mel = logMel(sound);
  expect(mel).toHaveLength(melBands * melFrames);
  for (const [frame, wanted] of Object.entries(reference))
    for (const [index, band] of [0, 7, 20, 40, 79].entries())
      expect(mel[band * melFrames + Number(frame)], `frame ${frame}, band ${band}`).toBeCloseTo(
        wanted[index] ?? NaN,
        4,
      );
});

test('no audio, and more than the model hears, are a window', () => {
  expect(new Set(logMel(new Float32Array(0)))).toEqual(new Set([-1.5]));
  const long = new Float32Array(16_000 * 31);
  long.fill(1, 16_000 * 30);
  expect(new Set(logMel(long)), 'what lies behind 30 s is not heard').toEqual(new Set([-1.5]));
});
