import { expect, test } from 'vitest';
import {
  answerAfter,
  answerAtEnd,
  isUnfinished,
} from '../../../../src/hearing/offline/unfinished.ts';

const never = { expects: false };

test.each([
  'Six, seven, seven,',
  'My account number is 836-423.',
  'Zero.',
  'four four one uh',
  'Double seven',
  'The reference is',
  'my email is',
  'My email is susan.brenner.',
  'jane dot doe at',
  'it was on January',
  'on the fourth of',
  'eighty nine dollars and',
  'eighty nine dollars and forty',
  'H-a-r-t.',
  'F. A. I. R.',
  'B as in Bravo',
  'K Delta',
  'three point',
])('%j may go on', (text) => {
  expect(isUnfinished(text, never)).toBe(true);
});

test.each([
  'I waited for two.',
  'The box arrived at four.',
  'I am twenty three.',
  'In 1994.',
  'At nine a.m.',
  'the U.S. and the U.K.',
  'I was born on October 4th.',
  'eighty nine dollars',
  'What are you looking at?',
  'My last name is Fairley.',
  'You can write to peter.whitlock at outlook.com.',
  'Oh, I see',
  'So I, I',
  'No.',
  '',
  'One, two, three, four. Five, six, seven, eight. Nine, one, two, three. Four, five, six, seven.',
])('%j is over', (text) => {
  expect(isUnfinished(text, never)).toBe(false);
});

test('one number at the end of other words goes on only where a number is expected', () => {
  expect(isUnfinished('yes, I think four', never)).toBe(false);
  expect(isUnfinished('yes, I think four', { expects: true })).toBe(true);
  expect(isUnfinished('Yes, one moment.', { expects: true })).toBe(false);
});

test('the expected continuation is of the kind that was being said', () => {
  expect(answerAtEnd('The number is four four')).toBe('digits');
  expect(answerAtEnd('The code is Kilo Delta')).toBe('code');
  expect(answerAtEnd('K, D, four, four')).toBe('code');
  expect(answerAtEnd('it was on January')).toBeUndefined();
  expect(answerAfter('My last name is Whitlock.')).toBe('letters');
  expect(answerAfter('My last name is Whitlock, and I am late.')).toBeUndefined();
});

test.each([
  '1',
  '1 ',
  'four ',
  'fourteen-',
  'b ',
  'b, ',
  'b 4 ',
  'kilo ',
  'dot ',
  'as in ',
  'double ',
  ', ',
  'uh ',
])('a long row of %j is looked at once, whatever stands around it', (unit) => {
  for (const before of ['', 'b ', 'the code is '])
    for (const after of ['', ' hello', '!', '.'])
      for (const count of [30, 400]) {
        const text = `${before}${unit.repeat(count)}${after}`;
        isUnfinished(text, { expects: true });
        answerAtEnd(text);
        answerAfter(text);
      }
});
