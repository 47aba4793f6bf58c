/**
 * A model that writes words one after the other can fall into a loop: "Hello, my name is Marie-le-le-le-le".
 * It happens where speech is cut in the middle of a word, and the loop ends only at the model's limit. A loop
 * is told from a caller who repeats himself by two things: the same words come again and again without any
 * other between them, and there are more of them than can be said in the time.
 */

/**
 * Callers speak two to four words in a second. The models write at most six or seven words for a second of
 * audio, and a loop makes them write that many: this rate lies between the two.
 */
const hurriedWordsEachSecond = 4.5;
/** Digits are spoken at four in a second at most, and a number is worth more than a clean text. */
const hurriedDigitsEachSecond = 5.5;
/** In shorter audio the margin of a reading counts too much for a rate. */
const leastSeconds = 0.7;

/** So many repetitions of one word, or of a group of words, are a loop in a hurried text. */
const hurriedLoop = { ofOne: 4, ofGroup: 3, ofDigits: 5, ofInterjection: 8 };
/** So many are a loop at any rate. No number of repeated digits is. */
const calmLoop = { ofOne: 6, ofGroup: 5, ofInterjection: 8 };
/** The longest group of words that is looked for. */
const longestGroup = 8;

const digit =
  /^[\d\p{P}]+$|^(?:oh|zero|one|two|three|four|five|six|seven|eight|nine|ten|double|triple|hundred|thousand)$/u;
/** Callers say these several times in a row. */
const interjection =
  /^(?:no|yes|yeah|bye|ok|okay|hello|hi|hey|ha|la|very|well|please|sorry|wait|stop)$/;

/** A group of digits that comes five times in one number: "212-212-212-212-212-21". */
const digitLoop = /^(\d{2,4})(?:-\1){4,}(?:-\d{1,4})?([.,;:?!]*)$/;

/**
 * A word that repeats its own end: "Marie-le-le-le", "Marielelelele". The repeated part has at least two
 * letters, because "hmmm" and "sooo" are said. With a hyphen three are enough, without four.
 */
const wordLoop =
  /^(.*?)(?:([-'’][\p{L}]{1,8})\2{2,}|([\p{L}]{2,8}?)\3{3,})[-'’]?\p{L}{0,8}([.,;:?!…]*)$/iu;

/** Parts that come back in turn, as spelled letters do: "E-S-E-S-E-S-E-S-E". Nobody spells a word with four in a row. */
const turnsLoop =
  /^(.+?)((?:[-'’]\p{L}{1,8}){2,3}?)\2{3,}(?:[-'’]\p{L}{1,8}){0,2}[-'’]?([.,;:?!…]*)$/iu;

/**
 * The words without their loops, each with its index among the given words. Of a group that repeats, the
 * first one stays. `seconds` is the length of the audio that the words were read from.
 */
export function withoutLoops(
  words: readonly string[],
  seconds: number,
): { word: string; index: number }[] {
  const whole = words.flatMap((word, index) => {
    const cut = withoutWordLoop(word);
    return cut === '' ? [] : [{ word: cut, index }];
  });
  const bare = whole.map(({ word }) => comparable(word));
  const rate = words.length / Math.max(leastSeconds, seconds);
  const kept: { word: string; index: number }[] = [];
  for (let at = 0; at < whole.length;) {
    const { group, times } = longestLoopAt(bare, at, rate);
    kept.push(...whole.slice(at, at + group));
    at += group * times;
  }
  return kept;
}

/** The longest group of signs that is looked for, and so many signs that come back are looked at. */
const longestSigns = 16;
const leastSignsBack = 12;

/**
 * Whether a text says the same three times or more in a row, by the model's signs: inside of words, too, as spelled
 * letters do ("S-N-Y-T-E-S-N-Y-T-E-S-N-Y-T-E"). A caller may, so nothing is cut for this alone.
 */
export function saysAgain(signs: readonly number[]): boolean {
  for (let group = 1; group <= longestSigns; group++) {
    let back = 0;
    for (let at = group; at < signs.length; at++) {
      back = signs[at] === signs[at - group] ? back + 1 : 0;
      if (back >= Math.max(2 * group, leastSignsBack)) return true;
    }
  }
  return false;
}

/** The same of words that carry more than their text: each keeps what it has. */
export function wordsWithoutLoops<Word extends { word: string }>(
  words: readonly Word[],
  seconds: number,
): Word[] {
  const spoken = words.map(({ word }) => word);
  return withoutLoops(spoken, seconds).flatMap(({ word, index }) => {
    const whole = words[index];
    return whole ? [{ ...whole, word }] : [];
  });
}

/** The word before its loop; the word itself when it has none, or when nothing but the loop is in it. */
function withoutWordLoop(word: string): string {
  const digits = digitLoop.exec(word);
  if (digits) return `${digits[1] ?? ''}${digits[2] ?? ''}`;
  if (/\d/.test(word)) return word;
  const match = wordLoop.exec(word);
  if (!match) {
    const turns = turnsLoop.exec(word);
    return turns ? `${turns[1] ?? ''}${turns[3] ?? ''}` : word;
  }
  const [, before = '', hyphened = '', plain = '', mark = ''] = match;
  // The syllable that a hyphen joins to a word is no part of it. Otherwise one of the loop stays: "hahahaha".
  const stem = hyphened === '' ? before + plain : before || hyphened.slice(1);
  return /\p{L}/u.test(stem) ? stem.replace(/[-'’]+$/, '') + mark : word;
}

/** The group of words that begins here and how often it comes in a row; one word, once, without a loop. */
function longestLoopAt(
  bare: readonly string[],
  at: number,
  rate: number,
): { group: number; times: number } {
  for (let group = 1; group <= longestGroup; group++) {
    const times = timesInARow(bare, at, group);
    if (isLoop(bare.slice(at, at + group), times, rate)) return { group, times };
  }
  return { group: 1, times: 1 };
}

function timesInARow(bare: readonly string[], at: number, group: number): number {
  let times = 1;
  for (let next = at + group; next + group <= bare.length; next += group) {
    for (let word = 0; word < group; word++)
      if (bare[next + word] !== bare[at + word]) return times;
    times++;
  }
  return times;
}

/** `rate` is the number of words in a second of the whole text. */
function isLoop(group: readonly string[], times: number, rate: number): boolean {
  const [first = ''] = group;
  if (group.some((word) => digit.test(word)))
    return rate > hurriedDigitsEachSecond && times >= hurriedLoop.ofDigits;
  const limits = rate > hurriedWordsEachSecond ? hurriedLoop : calmLoop;
  if (group.length > 1) return times >= limits.ofGroup;
  return times >= (interjection.test(first) ? limits.ofInterjection : limits.ofOne);
}

/** How a word is compared: without case and punctuation. */
function comparable(word: string): string {
  return word.toLowerCase().replace(/^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu, '');
}
