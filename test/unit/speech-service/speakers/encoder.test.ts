import { expect, test } from 'vitest';
import { VoiceEncoder } from '../../../../src/speech-service/speakers/encoder.ts';
import { melBands, melFrames } from '../../../../src/speech-service/speakers/mel.ts';
import { melOfWindow } from '../../../../src/speech-service/speakers/windows.ts';
import { madeUpSound, madeUpWeights, reference } from '../../../support/speech/made-up-voice.ts';

test('embeddings are those of another program, whatever else is in the batch', () => {
  const encoder = new VoiceEncoder(madeUpWeights());
  const sound = madeUpSound();
  const window = melOfWindow(melFrames(sound), sound, { at: 0, length: sound.length });
  const silence = new Float32Array(160 * melBands);
  // Seventeen windows are a full batch and one more.
  const embeddings = encoder.embed([window, ...Array<Float32Array>(15).fill(silence), window]);
  expect(embeddings).toHaveLength(17);
  for (const embedding of [embeddings[0]!, embeddings[16]!]) {
    const furthest = Math.max(
      ...embedding.map((value, k) => Math.abs(value - reference.madeUp[k]!)),
    );
    expect(furthest).toBeLessThan(1e-5);
  }
  expect(embeddings[1]).not.toEqual(embeddings[0]);
});
