import { expect, test } from 'vitest';
import { multipliesSigned } from '../../../../src/hearing/decoder/signed-products.ts';

type TriedRows = { data: Float32Array; dims: readonly number[] };

const floats = (data: Float32Array, dims: readonly number[]): TriedRows => ({ data, dims });

/** A runtime that adds pairs of 255 · 127 with this much room for their sum. */
const runtime = (room: number) => async () =>
  Promise.resolve({
    run: ({ x }: Record<string, TriedRows>) => {
      const [rows = 0, ins = 0] = x?.dims ?? [];
      const pair = Math.min(2 * 255 * 127, room);
      const y = new Float32Array(rows * 16).fill((ins / 2) * (pair / 255));
      return { y: floats(y, [rows, 16]) };
    },
  });

test('a processor that adds products in 16 bits gets weights without a sign', async () => {
  expect(await multipliesSigned(runtime(2 ** 31), floats)).toBe(true);
  expect(await multipliesSigned(runtime(32_767), floats)).toBe(false);
});
