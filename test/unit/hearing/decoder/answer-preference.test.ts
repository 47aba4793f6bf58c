import { expect, test } from 'vitest';
import {
  AnswerPreference,
  isAnswer,
  soundingLike,
} from '../../../../src/hearing/decoder/answer-preference.ts';
import { TokenTable } from '../../../../src/hearing/making/token-table.ts';

const tokens = ['▁zero', '▁four', '▁fo', 'ur', 'r', ',', '▁a', 'teen', '▁I', '▁know', '4', '-'];
const table = TokenTable.read(
  tokens
    .map((token, index) => `${Buffer.from(token).toString('base64')} ${String(index)}\n`)
    .join(''),
);

/** The sum of all changes after some tokens. */
function priceOf(said: string[]): number {
  const preference = new AnswerPreference('digits', table);
  let state = preference.start;
  let sum = 0;
  for (const token of said) {
    const next = preference.after(state, tokens.indexOf(token));
    state = next.state;
    sum += next.change;
  }
  return 0 - sum;
}

test('digits and figures are free, however they are divided, and each other word has its price once', () => {
  expect(priceOf(['▁zero', ',', '▁fo', 'ur', ',', '▁four', 'teen', ',', '4', '-', '4', ','])).toBe(
    0,
  );
  const price = priceOf(['▁zero', '▁fo', 'r', ',']);
  expect(price).toBeGreaterThan(0);
  expect(priceOf(['▁I', '▁know', ','])).toBe(2 * price);
  // A beginning of a digit is a word of its own once it ends.
  expect(priceOf(['▁fo', ','])).toBe(price);
});

test('a text is the answer only if all of it is', () => {
  expect(isAnswer('One, two, oh.', 'digits')).toBe(true);
  expect(isAnswer('47-29', 'digits')).toBe(true);
  expect(isAnswer('One to nine.', 'digits')).toBe(false);
  expect(isAnswer('I know.', 'digits')).toBe(false);
  expect(isAnswer('', 'digits')).toBe(false);
});

test('fillers stand between the parts of an answer, and are none', () => {
  expect(isAnswer('Four, uh, four, four, no wait, five.', 'digits')).toBe(true);
  expect(isAnswer('No, no. Wait.', 'digits')).toBe(false);
  // "Eight" is heard as "wait"; only "no wait" is a correction.
  expect(isAnswer('Four, oh wait.', 'digits')).toBe(false);
  expect(isAnswer('Whiskey M3467.', 'code')).toBe(true);
  expect(isAnswer('Whiskey M3467.', 'digits')).toBe(false);
  expect(isAnswer('Kilo, D as in Delta, 47.', 'code')).toBe(true);
  expect(isAnswer('Kilo four', 'digits')).toBe(false);
  expect(isAnswer('The fourth of March, 27.', 'date')).toBe(true);
  expect(isAnswer('Of four, twenty seven.', 'date')).toBe(false);
  expect(isAnswer('W-h-i-t', 'letters')).toBe(true);
});

test('a word that sounds like one of the answer stands for it, and only where it belongs to none itself', () => {
  expect(soundingLike('to', 'digits')).toBe('two');
  expect(soundingLike('or', 'digits')).toBe('oh');
  expect(soundingLike('For', 'digits')).toBe('four');
  expect(soundingLike('way', 'digits')).toBe('wait');
  expect(soundingLike('but', 'digits')).toBe('uh');
  expect(soundingLike('a', 'code')).toBeUndefined();
  expect(soundingLike('house', 'digits')).toBeUndefined();
});
