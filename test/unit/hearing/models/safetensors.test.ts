import { expect, test } from 'vitest';
import { Safetensors } from '../../../../src/hearing/making/sentence-encoder/safetensors.ts';

function fileOf(header: unknown, numbers: readonly number[], length?: bigint): Buffer {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(length ?? BigInt(text.length));
  return Buffer.concat([size, text, Buffer.from(Float32Array.from(numbers).buffer)]);
}
const floats = ['F', 32].join('');
const two = { w: { dtype: floats, shape: [1, 2], data_offsets: [0, 8] } };

test('a tensor has the numbers at its place', () => {
  expect([...new Safetensors(fileOf(two, [1.5, -2])).floats('w', [1, 2])]).toEqual([1.5, -2]);
});

test.each([
  ['no header', fileOf('', [], 2n ** 60n), 'no table of contents'],
  ['a header that is no JSON', fileOf('{', []), 'no JSON'],
  ['too few bytes', Buffer.from('abc'), 'no table of contents'],
])('a file with %s is refused', (_, bytes, reason) => {
  expect(() => new Safetensors(bytes)).toThrow(reason);
});

test.each([
  ['a missing tensor', two, 'x', [1, 2], 'x is missing'],
  ['another shape', two, 'w', [2, 1], `w is ${floats} 1×2 instead of ${floats} 2×1`],
  ['an end before its numbers', { w: { ...two.w, data_offsets: [8, 16] } }, 'w', [1, 2], 'ends inside w'],
  ['a place of another length', { w: { ...two.w, data_offsets: [0, 4] } }, 'w', [1, 2], 'ends inside w'],
])('%s is refused', (_, header, name, shape, reason) => {
  expect(() => new Safetensors(fileOf(header, [1, 2])).floats(name, shape)).toThrow(reason);
}); // prettier-ignore
