import { expect, test } from 'vitest';
import { digitsOf, figureOf, isOfNumber } from '../../../../src/hearing/whisper/spoken-figures.ts';

test.each([
  ['five five five zero one four two', '5550142'],
  ['five five five oh one', '55501'],
  ['three hundred and forty two dollars and sixteen cents', '34216'],
  ['$342.16', '34216'],
  ['two thousand nineteen', '2019'],
  ['twenty twenty six', '2026'],
  ['nineteen thirty', '1930'],
  ['twenty five', '25'],
  ['two thousand three hundred forty two', '2342'],
  ['one hundred and five thousand', '105000'],
  ['nineteen hundred', '1900'],
  ['a hundred', '100'],
  ['two million', '2000000'],
  ['seven point five', '75'],
  ['twelve hundred 15', '120015'],
  ['and dollars', ''],
  ['', ''],
])('the digits of "%s" are %s', (text, digits) => {
  expect(digitsOf(text.split(' '))).toBe(digits);
});

test('a single letter is no figure, and can be part of a number', () => {
  expect(figureOf('o')).toBeUndefined();
  expect(figureOf('five')).toBe('5');
  expect(['o', '555-01', 'forty', 'dollars'].every((word) => isOfNumber(word))).toBe(true);
  expect(['order', 'star', ''].some((word) => isOfNumber(word))).toBe(false);
});
