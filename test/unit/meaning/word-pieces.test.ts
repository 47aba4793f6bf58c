import { expect, test } from 'vitest';
import { WordPieces } from '../../../src/meaning/word-pieces.ts';

const vocabulary = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'play', '##ing', '##ed', 'cafe', "'", '!', 'do', '語']; // prettier-ignore
const pieces = new WordPieces(vocabulary.join('\n'));
const named = (text: string): string[] =>
  pieces.of(text).map((number) => vocabulary[number] ?? '?');

test.each([
  ['Playing PLAYED', ['play', '##ing', 'play', '##ed']],
  ['Café!', ['cafe', '!']],
  ["do'play", ['do', "'", 'play']],
  ['語語', ['語', '語']],
  ['play\u0000 plays', ['play', '[UNK]']],
  [`do ${'a'.repeat(101)}`, ['do', '[UNK]']],
  ['', []],
])('%j is cut into the longest known pieces', (text, expected) => {
  expect(named(text)).toEqual(['[CLS]', ...expected, '[SEP]']);
});

test('a text of any length has at most 256 pieces, with both ends', () => {
  const long = pieces.of('play! '.repeat(100_000));
  expect(long).toHaveLength(256);
  expect(long[0]).toBe(2);
  expect(long.at(-1)).toBe(3);
});

test('a list of pieces without the marks of the ends is refused', () => {
  expect(() => new WordPieces('play\n##ing')).toThrow('no marks for the ends');
});
