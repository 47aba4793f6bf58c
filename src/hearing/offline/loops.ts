/**
 * Removes loops. A model that writes one word after the other can fall into one: "Hello, my name is Marie-le-le-le-le".
 * Loops begin where speech is cut inside a word, and end only at the model's limit. Two signs distinguish a loop from a
 * caller who repeats himself: the same words come again and again without others between them, and there are more of
 * them than anybody can say in the time.
 */

/**
 * Callers say two to four words per second. The models write at most six or seven words per second of audio, and a loop
 * reaches that maximum. This rate lies between the two.
 */
const hurriedWordsEachSecond = 4.5;
/** At most four digits are spoken per second, and a number is worth more than a clean text. */
const hurriedDigitsEachSecond = 5.5;
/** Rates are computed for at least this length: in shorter audio a reading's margin distorts them. */
const leastSeconds = 0.7;

/** This many repetitions of one word, or of a group of words, are a loop in a fast text. */
const hurriedLoop = { ofOne: 4, ofGroup: 3, ofDigits: 5, ofInterjection: 8 };
/**
 * This many repetitions are a loop at any rate. Digits are not listed: at a calm rate no repetition of digits is a
 * loop.
 */
const calmLoop = { ofOne: 6, ofGroup: 5, ofInterjection: 8 };
/** The longest group of words that is searched for. */
const longestGroup = 8;

const digit =
  /^[\d\p{P}]+$|^(?:oh|zero|one|two|three|four|five|six|seven|eight|nine|ten|double|triple|hundred|thousand)$/u;
/** Callers say these several times in a row. */
const interjection =
  /^(?:no|yes|yeah|bye|ok|okay|hello|hi|hey|ha|la|very|well|please|sorry|wait|stop)$/;

/** A group of digits that occurs five times in one number: "212-212-212-212-212-21". */
const digitLoop = /^(\d{2,4})(?:-\1){4,}(?:-\d{1,4})?([.,;:?!]*)$/;

/**
 * A word that repeats its own end: "Marie-le-le-le", "Marielelelele". The repeated letters are at least two, because
 * people say "hmmm" and "sooo". With a hyphen three repetitions are enough, without one four.
 */
const wordLoop =
  /^(.*?)(?:([-'’][\p{L}]{1,8})\2{2,}|([\p{L}]{2,8}?)\3{3,})[-'’]?\p{L}{0,8}([.,;:?!…]*)$/iu;

/** A group of two or three parts that repeats: "E-S-E-S-E-S-E-S-E". No spelled word repeats a group four times. */
const turnsLoop =
  /^(.+?)((?:[-'’]\p{L}{1,8}){2,3}?)\2{3,}(?:[-'’]\p{L}{1,8}){0,2}[-'’]?([.,;:?!…]*)$/iu;

/**
 * The words without loops, each with its index among the given words. The first of a repeated group stays. `seconds` is
 * the length of the audio that the words were read from.
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

/** The longest group of signs that is searched for, and the least number of signs that must repeat. */
const longestSigns = 16;
const leastSignsBack = 12;

/**
 * True if the text contains the same signs of the model three times or more in a row. Unlike words, signs show
 * repetitions inside a word, such as spelled letters ("S-N-Y-T-E-S-N-Y-T-E-S-N-Y-T-E"). A caller may repeat himself, so
 * this alone removes nothing.
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

/** Removes loops from words with further fields, which the remaining words keep. */
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

/** The word up to its loop. The whole word if it has no loop or is nothing but one. */
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
  // A syllable joined by a hyphen is not part of the word. If nothing stands before the loop, one repetition stays:
  // "hahahaha".
  const stem = hyphened === '' ? before + plain : before || hyphened.slice(1);
  return /\p{L}/u.test(stem) ? stem.replace(/[-'’]+$/, '') + mark : word;
}

/** The length of the group that begins here and how often it repeats: one word, once, if there is no loop. */
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

/** `rate` is the number of words per second in the whole text. */
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
