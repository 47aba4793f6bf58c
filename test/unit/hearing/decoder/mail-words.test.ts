import { expect, test } from 'vitest';
import { isAnswer, soundsLikeAnswer } from '../../../../src/hearing/decoder/answer-preference.ts';
import { isMailAddress, mailWordFor } from '../../../../src/hearing/decoder/mail-words.ts';
import { leadOf } from '../../../../src/hearing/decoder/answer-lead.ts';

test.each([
  'peter.whitlock at outlook.com',
  'Maria Dot Draper at Outlook Dot Com.',
  'anna_7@example.co.uk',
  'maria dot draper',
  'at gmail.com',
])('"%s" is an address of mail, or half of one', (text) => {
  expect(isMailAddress(text)).toBe(true);
});

test.each([
  'I do not have one, sorry.',
  'have a look at the invoice',
  'Peter Whitlock',
  `${'a.'.repeat(5_000)}@`,
])('"%s" is none', (text) => {
  expect(isMailAddress(text)).toBe(false);
});

test('in an address "mail dot com" is gmail, and anywhere else it is what it is', () => {
  const before = (text: string) => [{ text }];
  expect(mailWordFor('mail', before('peter.whitlock at'), '.com')).toBe('gmail');
  expect(mailWordFor('meal', before('At'), ' dot')).toBe('gmail');
  expect(mailWordFor('mail', before('the'), '.com')).toBeUndefined();
  expect(mailWordFor('mail', before('look at'), ' and')).toBeUndefined();
  expect(mailWordFor('Doc', before('John'), ' Whitlock')).toBe('dot');
});

test('a family name of an address is written as the one that sounds like it', () => {
  const before = (text: string) => [{ text }];
  expect(mailWordFor('witlock', before('john.'), ' at')).toBe('whitlock');
  expect(mailWordFor('Witlock', before('john dot '), ' at')).toBe('whitlock');
  expect(mailWordFor('witlock', before('john.'), '@')).toBe('whitlock');
  // Another name, a name on the list, and a word of a sentence stay.
  expect(mailWordFor('wetlock', before('john.'), ' at')).toBeUndefined();
  expect(mailWordFor('clarke', before('john.'), ' at')).toBeUndefined();
  expect(mailWordFor('Witlock', before('call Mister '), ' at')).toBeUndefined();
  expect(mailWordFor('com', before('gmail.'), undefined)).toBeUndefined();
});

test('the words before an address announce it', () => {
  expect(leadOf('My email is peter.witlock at mail.com.')).toEqual({ kind: 'email', text: 'My email is' }); // prettier-ignore
  expect(leadOf('You can write to Sean.Costillin')?.kind).toBe('email');
});

test('amounts and days are answers of their own, and thousands are no code', () => {
  expect(isAnswer('forty five dollars and twenty cents', 'amount')).toBe(true);
  expect(isAnswer('I think so', 'amount')).toBe(false);
  expect(isAnswer('next tuesday', 'date')).toBe(true);
  expect(isAnswer('12,000,4275', 'code')).toBe(false);
  expect(soundsLikeAnswer('For a, to', 'digits')).toBe(true);
  expect(soundsLikeAnswer('I cannot see the number here', 'digits')).toBe(false);
});
