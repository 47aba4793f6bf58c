import { beforeAll, expect, test } from 'vitest';

type PageWord = { start: number; word: string };
type PagePlace = { start: number; end: number; item: PageWord };
let wordPlaces: (text: string, words: readonly PageWord[]) => PagePlace[];

beforeAll(async () => {
  const page = new URL('../../../src/console/page/', import.meta.url);
  ({ wordPlaces } = await import(new URL('word-places.js', page).href));
});

const words = (said: string): PageWord[] => said.split(' ').map((word, start) => ({ start, word }));
const shown = (text: string, said: string) =>
  wordPlaces(text, words(said)).map(({ start, end, item }) => [text.slice(start, end), item.start]);

test('each digit of a written number is the word that was said for it', () => {
  expect(shown('It is 472, thanks.', 'it is, four, seven, two, thanks.')).toEqual([
    ['It', 0],
    ['is', 1],
    ['4', 2],
    ['7', 3],
    ['2,', 4],
    ['thanks.', 5],
  ]);
  // A hesitation and the marks of a telephone number are in between.
  expect(shown('212-05', 'two one uh two oh five').map(([, at]) => at)).toEqual([0, 1, 3, 4, 5]);
});

test('a number that is not said digit by digit is the place of its first word', () => {
  expect(shown('I paid $89 today.', 'i paid eighty nine dollars today.')).toEqual([
    ['I', 0],
    ['paid', 1],
    ['$89', 2],
    ['today.', 5],
  ]);
  expect(shown('On March 3rd', 'on march third').at(-1)).toEqual(['3rd', 2]);
});

test('a digit of a number is not taken for a word that comes later', () => {
  expect(shown('My phone 21 and one phone', 'my phone two one and one phone').slice(2)).toEqual([
    ['2', 2],
    ['1', 3],
    ['and', 4],
    ['one', 5],
    ['phone', 6],
  ]);
});

test('words without spaces between them, and a text without words, have their places', () => {
  expect(shown('你好世界', '你好 世界')).toEqual([
    ['你好', 0],
    ['世界', 1],
  ]);
  expect(wordPlaces('Hello', [])).toEqual([]);
  expect(wordPlaces('', words('hello'))).toEqual([]);
});
