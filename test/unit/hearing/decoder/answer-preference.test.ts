import { expect, test } from 'vitest';
import { AnswerPreference, isAnswer } from '../../../../src/hearing/decoder/answer-preference.ts';
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
