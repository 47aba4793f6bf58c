import { expect, test } from 'vitest';
import { entitiesOfTurns, withSpelledNames } from '../../../src/language/values/of-turns.ts';
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

test('a word that a hesitation between listed digits was heard as does not divide them', () => {
  const asked = ['What is your account number?'];
  expect(valuesOf(['It is nine, zero, two, but seven, four, three, five.'], asked)).toEqual([['ACCOUNT_NUMBER', '9027435']]); // prettier-ignore
  expect(valuesOf(['9,6,9. That. Zero, eight, three.'], asked)).toEqual([['ACCOUNT_NUMBER', '969083']]); // prettier-ignore
  expect(valuesOf(['I have two, but three of us came, not four, five.'], asked)).toEqual([]);
});

test('letters beside names of the alphabet belong to a code', () => {
  expect(valuesOf(['The code is echo z. Zero, eight, three, three.'])).toEqual([['NUMERICAL_PII', 'EZ0833']]); // prettier-ignore
  expect(valuesOf(['It is I Juliet Five, six, zero, nine.'], ['The reference, please?'])).toEqual([['NUMERICAL_PII', 'IJ5609']]); // prettier-ignore
});

test('a first name with a full stop begins an address of mail', () => {
  expect(valuesOf(['You can write to Susan. Osborne at outlook.com.'])).toEqual([['EMAIL_ADDRESS', 'susan.osborne@outlook.com']]); // prettier-ignore
});

test('a spelling that sounds like the name but for some letters is that name', () => {
  expect(valuesOf(['My last name is Draper. E-R-A-T-E-R.'])).toEqual([['NAME_FAMILY', 'Draper']]);
  expect(valuesOf(['My last name is Delusky. K. O. W. A L. S. K. I.'])).toEqual([['NAME_FAMILY', 'Kowalski']]); // prettier-ignore
  expect(valuesOf(['My last name is Kawalski.', 'K. O. W E. L. F. K. I.'])).toEqual([['NAME_FAMILY', 'Kowalski']]); // prettier-ignore
  expect(valuesOf(['My last name is Hardwell. H. A. R. T. W. E. L. L.'])).toEqual([['NAME_FAMILY', 'Hartwell']]); // prettier-ignore
});

test('doubled letters of a spelling are as many letters', () => {
  expect(valuesOf(['My last name is Hardwell, H A R T W E double L.'])).toEqual([['NAME_FAMILY', 'Hartwell']]); // prettier-ignore
});

test('a number that "reads" is one, and a meter that reads has none', () => {
  expect(valuesOf(['My membership number reads 1347219.'])).toEqual([['ACCOUNT_NUMBER', '1347219']]); // prettier-ignore
  expect(valuesOf(['The meter reads four four one nine two two.'])).toEqual([]);
  expect(valuesOf(['They have 250,000 customers and 300000 visitors.'])).toEqual([]);
});

test('an amount with a point has its decimals', () => {
  expect(valuesOf(['It was one thousand two hundred fifty point five euros.'])).toEqual([['MONEY', '1250.50']]); // prettier-ignore
  expect(valuesOf(['I paid 12 point 5 dollars.'])).toEqual([['MONEY', '12.50']]);
  expect(valuesOf(['one point two million dollars'])).toEqual([['MONEY', '1200000.00']]);
  expect(valuesOf(['four point five six seven dollars'])).toEqual([]);
});

test('a summary tells a name as it was spelled', () => {
  const turns = [
    { role: 'customer', text: 'My last name is fairly.', start: 0, end: 2 },
    { role: 'customer', text: 'F-A-I-R-L-E-Y.', start: 2.4, end: 4 },
    { role: 'agent', text: 'That is fairly quick.', start: 5, end: 6 },
  ];
  const entities = entitiesOfTurns(turns, { day: '2026-03-04' }, 'en');
  expect(withSpelledNames(turns, entities).map(({ text }) => text)).toEqual([
    'My last name is Fairley.',
    'F-A-I-R-L-E-Y.',
    'That is fairly quick.',
  ]);
});
