import { describe, expect, test } from 'vitest';
import { findEntities } from '../../../src/language/entities/find-entities.ts';
import { isIban, isLuhn } from '../../../src/language/text/check-digits.ts';

const found = (text: string): string[] =>
  findEntities(text).map((span) => `${span.type} ${span.text}`);

describe('what people say', () => {
  test.each([
    [
      'you can reach me at five five five, oh one two, nine nine eight one',
      ['PHONE_NUMBER five five five, oh one two, nine nine eight one'],
    ],
    [
      "it's laura dot bennett at example dot com",
      ['EMAIL_ADDRESS laura dot bennett at example dot com'],
    ],
    [
      'my account number is double four um seven, one two',
      ['ACCOUNT_NUMBER double four um seven, one two'],
    ],
    [
      'the booking code is k for kilo three nine b as in bravo',
      ['NUMERICAL_PII k for kilo three nine b as in bravo'],
    ],
    ['they charged me nineteen ninety five', ['MONEY nineteen ninety five']],
    [
      'on the twenty first of june at half past four',
      ['DATE the twenty first of june', 'TIME half past four'],
    ],
    ['between two and four p m', ['TIME two', 'TIME four p m']],
    ['my name is priya ramachandran', ['NAME priya ramachandran']],
    [
      'thank you for calling brightline energy this is omar',
      ['ORGANIZATION brightline energy', 'NAME_GIVEN omar'],
    ],
    [
      'we live at twelve hundred harbor boulevard oakland california',
      ['LOCATION_ADDRESS twelve hundred harbor boulevard oakland california'],
    ],
    [
      'the price went from the third to the nineteenth of july',
      ['DATE_INTERVAL the third to the nineteenth of july'],
    ],
    [
      'doctor patel at riverside clinic',
      ['NAME_MEDICAL_PROFESSIONAL doctor patel', 'ORGANIZATION_MEDICAL_FACILITY riverside clinic'],
    ],
  ])('%s', (text, entities) => {
    expect(found(text)).toEqual(entities);
  });
});

describe('what people write', () => {
  test.each([
    ['Card 4111 1111 1111 1111, CVV 737.', ['CREDIT_CARD 4111 1111 1111 1111', 'CVV 737']],
    ['IBAN DE89 3704 0044 0532 0130 00', ['BANK_ACCOUNT DE89 3704 0044 0532 0130 00']],
    [
      'Mr. Okafor lives in Denver, Colorado.',
      ['NAME_FAMILY Okafor', 'LOCATION_CITY Denver', 'LOCATION_STATE Colorado'],
    ],
    [
      'Send it to 48 Orchard Lane, Springfield, IL 62704.',
      ['LOCATION_ADDRESS 48 Orchard Lane, Springfield, IL 62704'],
    ],
    ['Order #77-4410 is late.', ['NUMERICAL_PII 77-4410']],
    ["It's under the name Quackenbush.", ['NAME_FAMILY Quackenbush']],
  ])('%s', (text, entities) => {
    expect(found(text)).toEqual(entities);
  });
});

test.each([
  'Good morning, may I help you?',
  'I will call you back in a second',
  'it may rain and march on',
  'have a nice day and good afternoon to you',
  'the will of the people',
  'my meter reads 48213',
  'about fifty percent of three hundred people',
  'i have a rose garden and a mark on the wall',
  'the first one and the second one',
])('nothing is found in "%s"', (text) => {
  expect(found(text)).toEqual([]);
});

test('spans are exact and none lies over another', () => {
  const text =
    'Hi, Laura Bennett here: 12 May 2024, $40, laura@example.com, +44 7700 900461, Leeds.';
  let end = 0;
  for (const span of findEntities(text)) {
    expect(text.slice(span.start, span.end)).toBe(span.text);
    expect(span.start).toBeGreaterThanOrEqual(end);
    end = span.end;
  }
  expect(end).toBeGreaterThan(70);
});

test('kinds that are no entity by default are found when they are asked for by name', () => {
  const text = 'I am 42 years old and waited three weeks';
  expect(found(text)).toEqual([]);
  expect(findEntities(text, ['AGE', 'DURATION']).map((span) => span.type)).toEqual([
    'AGE',
    'DURATION',
  ]);
});

test('a card number passes the Luhn check and an IBAN its own', () => {
  expect(isLuhn('4111111111111111')).toBe(true);
  expect(isLuhn('4111111111111112')).toBe(false);
  expect(isIban('DE89370400440532013000')).toBe(true);
  expect(isIban('DE89370400440532013001')).toBe(false);
});
