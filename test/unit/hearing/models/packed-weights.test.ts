import { expect, test } from 'vitest';
import { PackedWeights } from '../../../../src/hearing/making/sentence-encoder/packed-weights.ts';

/** The head of the one known file with an empty list of pieces, and a directory of one tensor of 32 numbers. */
function fileOf({ magic = 'E5S1', vocabulary = 250_037, cut = 0 } = {}): Buffer {
  const head = Buffer.alloc(44);
  head.write(magic, 'latin1');
  for (const [at, size] of [1, 384, 12, 12, 1536, vocabulary, 512, 2].entries())
    head.writeInt32LE(size, 4 + 4 * at);
  head.writeFloatLE(1e-12, 36);
  head.writeInt32LE(32, 40);
  const pieces = Buffer.alloc(28 + 4 + 8);
  const name = Buffer.from('l0.q.w');
  const row = Buffer.alloc(4 + 2 + name.length + 21);
  row.writeInt32LE(1);
  row.writeUInt16LE(name.length, 4);
  name.copy(row, 6);
  row.writeUInt8(1, 12);
  row.writeUInt32LE(32, 13);
  row.writeBigUInt64LE(BigInt(head.length + pieces.length + row.length), 17);
  const block = Buffer.alloc(18);
  block.writeUInt16LE(0x3800); // a half
  for (let at = 0; at < 16; at++) block[2 + at] = at === 0 ? 0x0f : 0x98;
  const whole = Buffer.concat([head, pieces, row, block]);
  return whole.subarray(0, whole.length - cut);
}

test('numbers of four bits have the scale of their block', () => {
  const numbers = new PackedWeights(fileOf()).floats('encoder.layer.0.attention.self.query.weight', [1, 32]); // prettier-ignore
  expect([numbers[0], numbers[1], numbers[16], numbers[17]]).toEqual([3.5, 0, -4, 0.5]);
});

test.each([
  ['another beginning', fileOf({ magic: 'GGUF' }), 'does not begin'],
  ['other sizes', fileOf({ vocabulary: 7 }), 'its vocabulary is another one'],
  ['no directory', fileOf({ cut: 30 }), 'ends too early'],
  ['nothing in it', Buffer.alloc(0), 'does not begin'],
])('a file with %s is refused', (_, bytes, reason) => {
  expect(() => new PackedWeights(bytes)).toThrow(reason);
});

test('a file that ends inside a tensor is refused', () => {
  const weights = new PackedWeights(fileOf({ cut: 1 }));
  const of = () => weights.floats('encoder.layer.0.attention.self.query.weight', [1, 32]);
  expect(of).toThrow('ends inside l0.q.w');
});
