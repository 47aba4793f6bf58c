import { expect, test } from 'vitest';
import { KernelMemory } from '../../../../src/hearing/signal/multiply.ts';
import { noise } from '../../../support/speech/made-up-voice.ts';

test('the kernel adds the product of matrices that fill no register evenly', () => {
  const [rows, depth, columns] = [8, 7, 24];
  const memory = new KernelMemory(rows * depth + depth * columns + rows * columns);
  const next = noise(3);
  const a = memory.take(rows * depth);
  const c = memory.take(rows * columns);
  const w = Float32Array.from({ length: columns * depth }, () => next());
  for (const matrix of [a, c]) matrix.forEach((_, at) => (matrix[at] = next()));
  const before = c.slice();
  const packed = memory.pack(w, depth);
  memory.multiply(
    a.byteOffset,
    packed,
    c.byteOffset,
    rows / 4,
    depth,
    columns / 8,
    4 * depth,
    4 * columns,
  );
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      let sum = before[row * columns + column]!;
      for (let k = 0; k < depth; k++) sum += a[row * depth + k]! * w[column * depth + k]!;
      expect(c[row * columns + column]).toBeCloseTo(sum, 5);
    }
});
