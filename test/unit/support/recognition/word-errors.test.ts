import { expect, test } from 'vitest';
import {
  differences,
  normalisedEach,
  normalisedWords,
  wordErrors,
} from '../../../support/recognition/word-errors.ts';

const wrong = (said: string, heard: string) => {
  const truth = normalisedWords(said);
  return wordErrors(truth, normalisedWords(heard, truth));
};

test.each([
  ['Please leave a voicemail.', 'please leave a voice mail'],
  ["I can't, you'll see", 'I cannot, you will see'],
  ['press # now', 'press pound now'],
  ['now and forevermore', 'now and forever more'],
  ['dial extension eight five zero zero', 'dial extension 8500'],
  ['dial five hundred, not eight five zero zero', 'dial 500, not 8500'],
  ['dial eight five zero zero, not five hundred', 'dial 8500, not 500'],
  ['three hundred and forty two dollars and sixteen cents', '$342.16'],
  ['the second of nineteen eighty four', 'the 2nd of 1984'],
  ['one two three, one hundred and twenty three', '123, 123'],
])('what spelling and numbers leave open is no error: %s, %s', (said, heard) => {
  expect(wrong(said, heard)).toBe(0);
});

test('a number is taken by its place among the words of the whole, which keep apart', () => {
  const truth = normalisedWords('dial five hundred, not eight five zero zero');
  expect(normalisedEach(['Dial', '500,', 'not', '8500'], truth)).toEqual([
    ['dial'],
    ['five', 'hundred'],
    ['not'],
    ['eight', 'five', 'zero', 'zero'],
  ]);
});

test('a number that was not said is as wrong as its nearest way', () => {
  expect(wrong('dial five hundred', 'dial 600')).toBe(1);
  expect(wrong('dial zero', 'dial 1234')).toBe(3); // twelve thirty four
});

test('differences tell each word that is another, and each that was passed over or added', () => {
  const truth = normalisedWords('press one to cancel');
  expect(differences(truth, normalisedWords('press two cancel', truth))).toBe(
    'press [one>two] [-to] cancel',
  );
  expect(differences(truth, normalisedWords('press one to cancel now', truth))).toBe(
    'press one to cancel [+now]',
  );
});
