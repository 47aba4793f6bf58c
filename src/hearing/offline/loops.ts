/**
 * A model that writes one word after the other can fall into a loop: "Hello, my name is Marie-le-le-le-le". Loops
 * happen where speech is cut in the middle of a word, and end only at the model's limit. Two signs tell a loop from a
 * caller who repeats himself: the same words come again and again with no other between them, and there are more of
 * them than anybody can say in the time.
 */

/**
 * Callers speak two to four words in a second. The models write at most six or seven words for a second of audio, and a
 * loop makes them write that many: this rate lies between the two.
 */
const hurriedWordsEachSecond = 4.5;
/** Digits are spoken at four in a second at most, and a number is worth more than a clean text. */
const hurriedDigitsEachSecond = 5.5;
/** Rates are computed for at least this length: in shorter audio the margin of a reading counts too much. */
const leastSeconds = 0.7;

/** This many repetitions of one word, or of a group of words, are a loop in a hurried text. */
const hurriedLoop = { ofOne: 4, ofGroup: 3, ofDigits: 5, ofInterjection: 8 };
/**
 * This many repetitions are a loop at any rate. Digits are missing: no number of repeated digits is a loop at a calm
 * rate.
 */
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
 * A word that repeats its own end: "Marie-le-le-le", "Marielelelele". The repeated part has at least two letters,
 * because "hmmm" and "sooo" are said. With a hyphen three repetitions are enough, without one four.
 */
const wordLoop =
  /^(.*?)(?:([-'’][\p{L}]{1,8})\2{2,}|([\p{L}]{2,8}?)\3{3,})[-'’]?\p{L}{0,8}([.,;:?!…]*)$/iu;

/**
 * Groups that come back in turn, as spelled letters do: "E-S-E-S-E-S-E-S-E". Nobody spells a word with four such groups
 * in a row.
 */
const turnsLoop =
  /^(.+?)((?:[-'’]\p{L}{1,8}){2,3}?)\2{3,}(?:[-'’]\p{L}{1,8}){0,2}[-'’]?([.,;:?!…]*)$/iu;

/**
 * The words without their loops, each with its index among the given words. The first of a repeated group stays.
 * `seconds` is the length of the audio that the words were read from.
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

/** The longest group of signs that is looked for, and the least number of signs that must come back. */
const longestSigns = 16;
const leastSignsBack = 12;

/**
 * True when a text says the same three times or more in a row, by the model's signs. The check sees repetitions inside
 * words, too, such as spelled letters ("S-N-Y-T-E-S-N-Y-T-E-S-N-Y-T-E"). A caller may repeat himself, so nothing is cut
 * for this alone.
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

/** Removes loops from words that carry more than their text: each remaining word keeps its other fields. */
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

/**
 * The part of a word before its loop; the whole word when it has no loop, or when it consists of nothing but the loop.
 */
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
  // A syllable that a hyphen joins to a word is no part of that word. Where nothing comes before the loop, one
  // repetition stays: "hahahaha".
  const stem = hyphened === '' ? before + plain : before || hyphened.slice(1);
  return /\p{L}/u.test(stem) ? stem.replace(/[-'’]+$/, '') + mark : word;
}

/**
 * The length of the group of words that begins here, and the number of times that it comes in a row; one word, once,
 * where there is no loop.
 */
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

/** The form in which words are compared: without case and punctuation. */
function comparable(word: string): string {
  return word.toLowerCase().replace(/^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu, '');
}
