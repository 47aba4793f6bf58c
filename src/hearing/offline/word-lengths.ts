import type { RecognisedWord } from '../recogniser.ts';

/** A word lasts at most so long: a part for its end, and one for each letter that is spoken. */
const wordS = 0.25;
const letterS = 0.07;
/** A digit, a letter by itself and each sign of an address are written with one sign and spoken with so many letters. */
const lettersOfSign = 5;
/** And a digit of a short group with more: "342" is "three hundred and forty two". */
const lettersOfDigit = 8;

/** Digits that are said as a number, and not one by one. */
const number = /(?<!\d)\d{1,3}(?!\d)/g;
/** What is spelled, with something between its letters. */
export const spelled = /(?<!\p{L})\p{L}[-.]\p{L}(?!\p{L})/u;
/** What is said sign by sign, too: an address, or an abbreviation of capitals. */
const signBySign = /[.@/:_]\D|^\p{Lu}{2,4}$/u;

/** The second at which a word is over at the latest, by what is written. */
export function spokenBy({ word, start }: RecognisedWord): number {
  const bare = word.replace(/[\p{P}\p{S}]+$/u, '');
  const inNumbers = (bare.match(number) ?? []).join('').length;
  const digits = bare.replace(/\D/g, '').length;
  const bySigns = spelled.test(bare) || signBySign.test(bare);
  const signs = bySigns ? bare.length - digits : 0;
  const others = bare.length - digits - signs;
  const letters =
    others + lettersOfDigit * inNumbers + lettersOfSign * (digits - inNumbers + signs);
  return start + wordS + letterS * letters;
}

/**
 * The second at which a word is over that nothing follows. Its end is the end of the audio where somebody spoke on and
 * the model wrote no more.
 */
export function overBy(word: RecognisedWord): number {
  return Math.min(word.end, spokenBy(word));
}
