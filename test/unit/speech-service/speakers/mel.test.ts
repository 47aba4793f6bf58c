import { expect, test } from 'vitest';
import { melBands, melFrames } from '../../../../src/speech-service/speakers/mel.ts';
import { madeUpSound, reference } from '../../../support/speech/made-up-voice.ts';

test('the mel frames of a sound are those of another program, at its ends too', () => {
  const mel = melFrames(madeUpSound());
  expect(mel.length).toBe(126 * melBands);
  for (const [frame, wanted] of Object.entries(reference.mel))
    for (const [band, value] of wanted.entries()) {
      const ours = mel[Number(frame) * melBands + band] ?? NaN;
      expect(Math.abs(ours - value), `frame ${frame}, band ${band}`).toBeLessThan(
        1e-5 * value + 1e-9,
      );
    }
});

test('a tone is in the bands around it, and nothing comes of silence', () => {
  const tone = Float32Array.from({ length: 16_000 }, (_, n) => Math.sin((2 * Math.PI * n) / 16));
  const frame = [...melFrames(tone).subarray(50 * melBands, 51 * melBands)];
  const loudest = frame.indexOf(Math.max(...frame));
  // 1000 Hz is mel 15 of the scale's 45.2, in 41 steps.
  expect(loudest).toBe(Math.round((15 * 41) / 45.245) - 1);
  expect(melFrames(new Float32Array(400)).every((value) => value === 0)).toBe(true);
  expect(melFrames(new Float32Array(0))).toHaveLength(melBands);
});
