import { expect, test } from 'vitest';
import { writtenUtterance } from '../../../src/language/values/written-words.ts';

function said(text: string, words = text.split(/(?= )/)) {
  return {
    start: 0,
    end: words.length,
    confidence: 1,
    channel: 0,
    language: 'en',
    text,
    words: words.map((word, start) => ({ word, start, end: start + 0.5, confidence: 1 - start / 100 })), // prettier-ignore
  };
}

test('a number is one word with the times of its spoken words, and its marks stay', () => {
  const { text, words } = writtenUtterance(
    said('It is (four, seven, two, nine, one, six), thanks.'),
  );
  expect(text).toBe('It is (472916), thanks.');
  expect(words.map(({ word, start, end }) => [word, start, end])).toEqual([
    ['It', 0, 0.5],
    [' is', 1, 1.5],
    [' (472916),', 2, 7.5],
    [' thanks.', 8, 8.5],
  ]);
  expect(words[2]?.confidence).toBeCloseTo(0.93);
});

test('two numbers of one utterance are two words', () => {
  const { words } = writtenUtterance(said('I paid eighty nine dollars on March third.'));
  expect(words.map(({ word }) => word.trim())).toEqual(['I', 'paid', '$89', 'on', 'March 3rd.']);
});

test('an utterance without numbers, or whose words are others, stays as it was', () => {
  for (const utterance of [
    said('I waited and nobody came.'),
    said('It is four, seven, two, nine, one, six.', ['It', ' was', ' somebody']),
    { ...said('vier sieben zwei neun eins sechs'), language: 'de' },
  ])
    expect(writtenUtterance(utterance)).toEqual(utterance);
});
