import type { RecognisedWord } from '../recogniser.ts';

/** The longest duration of a word: a fixed time, and a time for each spoken letter. */
const wordS = 0.25;
const letterS = 0.07;
/** A digit, a single letter and each sign of an address are written as one sign but spoken as this many letters. */
const lettersOfSign = 5;
/** A digit of a short group is spoken with more letters: "342" is "three hundred and forty two". */
const lettersOfDigit = 8;

/** Digits that are spoken as one number. */
const number = /(?<!\d)\d{1,3}(?!\d)/g;
/** Spelled letters with a sign between them. */
export const spelled = /(?<!\p{L})\p{L}[-.]\p{L}(?!\p{L})/u;
/** Other text that is said sign by sign: an address, or an abbreviation in capitals. */
const signBySign = /[.@/:_]\D|^\p{Lu}{2,4}$/u;

/**
 * The latest second at which a word can end, judged by its spelling. A number or a spelled word lasts at least until
 * the end of its last digit or letter, because people read numbers from a card slowly.
 */
export function spokenBy(of: RecognisedWord & { lastSignS?: number }): number {
  const { word, start, lastSignS = start } = of;
  const bare = word.replace(/[\p{P}\p{S}]+$/u, '');
  const inNumbers = (bare.match(number) ?? []).join('').length;
  const digits = bare.replace(/\D/g, '').length;
  const bySigns = spelled.test(bare) || signBySign.test(bare);
  const signs = bySigns ? bare.length - digits : 0;
  const others = bare.length - digits - signs;
  const letters =
    others + lettersOfDigit * inNumbers + lettersOfSign * (digits - inNumbers + signs);
  const byLetters = start + wordS + letterS * letters;
  const isSaidBySigns = bySigns || digits > 0;
  return isSaidBySigns
    ? Math.max(byLetters, lastSignS + wordS + letterS * lettersOfSign)
    : byLetters;
}

/**
 * The end of a word that no other word follows. Its `end` is the end of the audio if somebody continued to speak and
 * the model wrote nothing more.
 */
export function overBy(word: RecognisedWord): number {
  return Math.min(word.end, spokenBy(word));
}
