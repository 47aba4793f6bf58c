import { expect, test } from 'vitest';
import { newMultiply } from '../../../../src/speech-service/speakers/kernel.ts';
import { VoiceEncoder } from '../../../../src/speech-service/speakers/encoder.ts';
import { melBands, melFrames } from '../../../../src/speech-service/speakers/mel.ts';
import { melOfWindow } from '../../../../src/speech-service/speakers/windows.ts';
import {
  madeUpSound,
  madeUpWeights,
  noise,
  reference,
} from '../../../support/speech/made-up-voice.ts';

test('the kernel adds the product of matrices that fill no register evenly', () => {
  const [rows, depth, columns] = [8, 7, 24];
  const memory = new WebAssembly.Memory({ initial: 1 });
  const a = new Float32Array(memory.buffer, 0, rows * depth);
  const w = new Float32Array(memory.buffer, 1_024, depth * columns);
  const c = new Float32Array(memory.buffer, 4_096, rows * columns);
  const next = noise(3);
  for (const matrix of [a, w, c]) matrix.forEach((_, at) => (matrix[at] = next()));
  const before = c.slice();
  newMultiply(memory)(0, 1_024, 4_096, rows / 4, depth, columns / 8, 4 * depth, 4 * columns);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      let sum = before[row * columns + column]!;
      for (let k = 0; k < depth; k++) {
        const panel = Math.floor(column / 8) * depth * 8;
        sum += a[row * depth + k]! * w[panel + k * 8 + (column % 8)]!;
      }
      expect(c[row * columns + column]).toBeCloseTo(sum, 5);
    }
});

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
