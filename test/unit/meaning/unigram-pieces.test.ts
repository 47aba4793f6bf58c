import { expect, test } from 'vitest';
import { UnigramPieces } from '../../../src/meaning/unigram-pieces.ts';

const pieces: [piece: string, score: number][] = [
  ['<s>', 0], ['<pad>', 0], ['</s>', 0], ['<unk>', 0],
  ['▁', -3], ['▁ho', -5], ['la', -5], ['▁hola', -6], ['h', -9], ['o', -9], ['f', -4], ['i', -4], ['fi', -5],
]; // prettier-ignore

/** A file with these pieces, in which the letter ﬁ stands for two. */
function fileOf(cut = 0): Uint8Array {
  const texts = pieces.map(([piece]) => Buffer.from(piece));
  const blob = Buffer.concat(texts);
  const head = Buffer.alloc(28);
  for (const [at, number] of [pieces.length, 0, 2, 1, 3].entries())
    head.writeInt32LE(number, 4 * at);
  head.writeBigUInt64LE(BigInt(blob.length), 20);
  const offsets = Buffer.alloc(4 * (pieces.length + 1));
  texts.reduce((sum, text, at) => offsets.writeUInt32LE(sum + text.length, 4 * (at + 1)) && sum + text.length, 0); // prettier-ignore
  const scores = Buffer.from(Float32Array.from(pieces, ([, score]) => score).buffer);
  const letters = Buffer.alloc(8 + 13);
  letters.writeInt32LE(1);
  letters.writeUInt32LE(13, 4);
  letters.writeUInt32LE('ﬁ'.codePointAt(0)!, 8);
  letters.writeUInt8(2, 12);
  letters.writeUInt32LE('f'.codePointAt(0)!, 13);
  letters.writeUInt32LE('i'.codePointAt(0)!, 17);
  const whole = Buffer.concat([head, offsets, scores, blob, letters]);
  return whole.subarray(0, whole.length - cut);
}

const cut = new UnigramPieces(fileOf());
const named = (text: string) => cut.of(text).map((number) => pieces[number]![0]);

test('of all ways to cut a text the likeliest is taken', () => {
  expect(named('hola')).toEqual(['<s>', '▁hola', '</s>']);
  expect(named('  hola   hola')).toEqual(['<s>', '▁hola', '▁hola', '</s>']);
});

test('letters that stand for others are replaced, and unknown ones are unknown', () => {
  expect(named('ﬁ')).toEqual(['<s>', '▁', 'fi', '</s>']);
  expect(named('x')).toEqual(['<s>', '▁', '<unk>', '</s>']);
  expect(named('\ud800')).toEqual(['<s>', '▁', '<unk>', '</s>']);
  expect(named('')).toEqual(['<s>', '▁', '</s>']);
});

test('an endless text is cut off', () => {
  expect(cut.of('hola '.repeat(1_000_000))).toHaveLength(256);
  expect(cut.of('x'.repeat(1_000_000))).toHaveLength(256);
});

test('a file that was cut short is refused', () => {
  expect(() => new UnigramPieces(fileOf(40))).toThrow('end too early');
});
