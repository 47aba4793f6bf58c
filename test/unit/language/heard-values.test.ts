import { expect, test } from 'vitest';
import { entitiesOverFinals } from '../../../src/language/values/over-finals.ts';

/** The types and values of a call in America on Wednesday, 4 March 2026. */
const valuesOf = (finals: string[], asked: string[] = []) =>
  entitiesOverFinals({
    finals,
    asked,
    about: { day: '2026-03-04', callingCode: '1' },
    language: 'en',
  }).map(({ type, value }) => [type, value]);

test('a hesitation that is written as a sentence does not divide a number', () => {
  expect(valuesOf(['The reference is six, nine, seven. Uh? Six, four, three.'])).toEqual([
    ['NUMERICAL_PII', '697643'],
  ]);
  expect(valuesOf(['9,6,9.', 'Uh.', 'Zero, eight, three.'], ['Your order number?'])).toEqual([
    ['NUMERICAL_PII', '969083'],
  ]);
  // Two sentences stay two.
  expect(valuesOf(['The reference is 697643. Uh, three people came.'])).toEqual([
    ['NUMERICAL_PII', '697643'],
  ]);
});

test('a zero that is listed before other digits is one of them, and a cry is none', () => {
  const asked = ['What is your account number?'];
  expect(valuesOf(['It is. Oh, eight, seven, two, five, nine.'], asked)).toEqual([
    ['ACCOUNT_NUMBER', '087259'],
  ]);
  expect(valuesOf(['Oh, two tickets, three seats.'], asked)).toEqual([]);
});

test('cents count without their name at the end of a sentence', () => {
  expect(valuesOf(['They charged me thirty eight dollars and thirty six.'])).toEqual([['MONEY', '38.36']]); // prettier-ignore
  expect(valuesOf(['I have forty dollars and twenty of them are yours.'])).toEqual([['MONEY', '40.00']]); // prettier-ignore
});

test('a birthday without a year is a day of any year', () => {
  expect(valuesOf(['I was born on October fifth.'])).toEqual([['DOB', '--10-05']]);
  expect(valuesOf(['I was born on the 29th of February.'])).toEqual([['DOB', '--02-29']]);
  expect(valuesOf(['I was born on October fifth nineteen eighty.'])).toEqual([['DOB', '1980-10-05']]); // prettier-ignore
});
