import fc from 'fast-check';
import { expect, test } from 'vitest';
import { saysAgain, withoutLoops } from '../../../../src/hearing/offline/loops.ts';

const cut = (text: string, seconds: number): string =>
  withoutLoops(text.split(' '), seconds)
    .map(({ word }) => word)
    .join(' ');

test.each([
  ['Hello, my name is Marie-le-le-le-le', 2.4, 'Hello, my name is Marie'],
  ['Hello, my name is Marie-le-le-le-le-le-le-le.', 2.4, 'Hello, my name is Marie.'],
  ['Hello, my name is Marielelelelelele', 2.4, 'Hello, my name is Mariel'],
  ['Hahahahahaha', 1, 'Ha'],
  ['I wanted to ask the the the the the the the the the', 1.2, 'I wanted to ask the'],
  [`So I'm going to, ${"I'm going to, ".repeat(11)}I'm`, 2, "So I'm going to, I'm"],
  [`It is ${'on the way '.repeat(20).trim()}`, 9, 'It is on the way'],
  // The default model wrote this from telephone speech that was cut at a random point.
  [
    `Hello, Daniel, my name is Emily ${'Jolly, '.repeat(12).trim()}`,
    3.1,
    'Hello, Daniel, my name is Emily Jolly,',
  ],
  [`My phone number is 212${'-212'.repeat(7)}-21`, 2.7, 'My phone number is 212'],
  [`I found ${'number '.repeat(7).trim()}`, 0.7, 'I found number'],
  [`Two, one, two, ${'five, '.repeat(11)}five`, 1.9, 'Two, one, two, five,'],
  [`This we are ordered ${'order '.repeat(6).trim()}`, 0.7, 'This we are ordered order'],
  ['谢谢谢谢谢谢谢谢', 1.9, '谢谢'],
  [`It is spelled A-S-T-E${'-S-E'.repeat(40)}-S.`, 8.8, 'It is spelled A-S-T.'],
  [`It is A${'-B-A-T'.repeat(9)}-B`, 8.8, 'It is A'],
])('a loop of the model is cut: %s in %d s', (text, seconds, expected) => {
  expect(cut(text, seconds)).toBe(expected);
});

test.each([
  ['No, no, no, no, that is wrong.', 1.6],
  ['Bye bye bye.', 0.8],
  ['Thank you, thank you, thank you.', 1.6],
  ['It is nine nine nine nine nine nine.', 2],
  ['555-0100-5555', 2],
  ['4-4-4-4-4 0000', 1],
  ['Hmmmmm, sooo', 1],
  ['My name is Mississippi, and Barbara.', 2],
  ['I have been waiting, and I have been waiting, and I have been waiting here.', 4.5],
  ['w-w-w dot example dot com', 2],
  ['It is spelled M-I-S-S-I-S-S-I-P-P-I, B-A-N-A-N-A and C-O-C-O-C-O-A.', 6],
  ['one two three four one two three four one two three four', 3],
])('what a caller says stays as it is: %s in %d s', (text, seconds) => {
  expect(cut(text, seconds)).toBe(text);
});

test('words stay in order, and each keeps the index of its reading', () => {
  const word = fc.constantFrom('a', 'the', 'card', 'le-le-le-le', 'nine');
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 40 }),
      fc.double({ min: 0.1, max: 20, noNaN: true }),
      (words, seconds) => {
        const kept = withoutLoops(words, seconds);
        expect(kept.length).toBeLessThanOrEqual(words.length);
        for (const [at, { index }] of kept.entries())
          expect(index).toBeGreaterThan(kept[at - 1]?.index ?? -1);
      },
    ),
  );
});

test('a text that says the same three times says it again, one that says it twice does not', () => {
  const signs = (text: string) => Array.from(text, (sign) => sign.charCodeAt(0));
  expect(saysAgain(signs('it is S-M-Y-T-E-S-N-Y-T-E-S-N-Y-T-E-S-N-Y'))).toBe(true);
  expect(saysAgain(signs('S-M-Y-T-H-E, S-M-Y-T-H-E, that is'))).toBe(false);
  expect(saysAgain(signs('ha ha ha'))).toBe(false);
  expect(saysAgain(signs('000,000,000,000,000'))).toBe(true);
  expect(saysAgain([])).toBe(false);
});
