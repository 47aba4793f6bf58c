import { expect, test } from 'vitest';
import { leadOf } from '../../../../src/hearing/decoder/answer-lead.ts';

test.each([
  ['My account number is two sticks, zero.', 'digits', 'My account number is'],
  ['You can reach me at line four one.', 'digits', 'You can reach me at'],
  ['The references to 90925846', 'digits', 'The references'],
  ['The booking code is Carole 5113.', 'code', 'The booking code is'],
])('%j promises an answer', (text, kind, lead) => {
  expect(leadOf(text)).toEqual({ kind, text: lead });
});

test('other words promise nothing, and may still come before an answer', () => {
  expect(leadOf('Yes, it is four two')).toEqual({ kind: undefined, text: 'Yes, it is' });
  expect(leadOf('Boar, boar.')).toBeUndefined();
  expect(leadOf('The references to you')).toBeUndefined();
});
