import type { RecognisedWord } from '../recogniser.ts';
import { withoutCrowd } from './crowd.ts';
import { leastVoicedS } from './unread.ts';
import { overBy, spelled, spokenBy } from './word-lengths.ts';

const rateHz = 16000;

/** A word of a reading with the model's own signs for it. Times are seconds of the stream. */
export type SpelledWord = RecognisedWord & { ids: readonly number[] };

/** The word as it is told: nobody outside knows the model's signs. */
export function withoutIds({ ids: _, ...word }: SpelledWord): RecognisedWord {
  return word;
}

/**
 * Where one piece of speech ends and the next begins: inside speech, but between two words. The next piece is read
 * from some words before it, which are given to the model as known.
 */
export type Seam = {
  /** The sample at which the first word of the next piece begins. */
  at: number;
  known: readonly SpelledWord[];
};

/** So many seconds of known words are read again before the first new one, at least. */
export const contextS = 1;
/** And at most, where speech was cut: with more of them the model goes on with what it wrote, not with what is said. */
export const mostContextS = 2.5;
/** So much that the model did not write before a cut is read with the next piece, at most. */
const mostLeftS = 2.5;
/** What was said before a pause is read again with what follows, after so short a pause. */
const shortPauseS = 1;
/** So many seconds of it at most. */
const earlierS = 8;
/** A word that nothing follows may go on beyond the audio, unless it began so long before its end. */
const longWordS = 1;

/**
 * Divides the words of a piece that was read beyond its cut. Those that begin before the cut are its own, whole. A word
 * that the audio may have ended inside of is left to the next piece, wherever it began:
 *
 *     audio     ...  the  com|pany has cal...
 *     cut                    ^
 *     own       ...  the  company
 *     next                        has called
 *
 * So is a crowd of words at one moment, which the model made up of the little that it heard, but only if it begins in the
 * piece itself. And so is a little speech behind the last word that the model did not write: with more of what comes it
 * does. What is read at once is never longer than two pieces and that little.
 */
export function divideAt(
  words: readonly SpelledWord[],
  { from, to, heardTo }: { from: number; to: number; heardTo: number },
): { own: number; seam: Seam | undefined } {
  let own = 0;
  for (const [index, word] of words.entries()) {
    const followed = index + 1 < words.length;
    const longAgo = word.start < heardTo / rateHz - longWordS;
    const whole = followed || (longAgo && (index === 0 || !isSpelled(word.word)));
    if (word.start * rateHz >= to || !whole) break;
    own = index + 1;
  }
  own = withoutCrowd(words, own, from / rateHz);
  const last = words[own - 1];
  if (!last) return { own, seam: undefined };
  const at = beginOfNext(last, words[own], to);
  const known = knownBefore(words.slice(0, own), at / rateHz, mostContextS);
  return { own, seam: { at, known } };
}

/**
 * The sample at which the next piece begins: where its first word does, or where the last of this one is over. So it has
 * every stretch that `unreadIn` would tell and `isLeft` leaves to it.
 */
function beginOfNext(last: SpelledWord, next: SpelledWord | undefined, to: number): number {
  const overS = overBy(last);
  const follows = next && (next.start * rateHz < to || next.start - overS < leastVoicedS);
  if (follows) return Math.round(next.start * rateHz);
  if (!isLeft(spokenBy(last) * rateHz, to)) return to;
  return Math.round(Math.max(overS * rateHz, to - mostLeftS * rateHz));
}

/** What is said digit by digit or letter by letter is one word for the model, and lasts for seconds. */
function isSpelled(word: string): boolean {
  return /\d/.test(word) || spelled.test(word);
}

/** Whether what is heard of a piece from a sample on is so little that it is read with the next one. */
export function isLeft(from: number, to: number): boolean {
  return from >= to - mostLeftS * rateHz;
}

/** The sample at which the known words begin. */
export function firstKnown({ at, known: [first] }: Seam): number {
  return first ? Math.round(first.start * rateHz) : at;
}

/** The model's signs for the known words. */
export function signsOf({ known }: Seam): number[] {
  return known.flatMap(({ ids }) => ids);
}

/** The seam with only the last seconds of its known words. */
export function nearest({ at, known }: Seam, seconds: number): Seam {
  return { at, known: knownBefore(known, at / rateHz, seconds) };
}

/** The last of some words, from about a second before this second on. */
export function knownBefore(
  words: readonly SpelledWord[],
  atS: number,
  seconds = contextS,
): SpelledWord[] {
  let first = Math.max(0, words.length - 1);
  while (first > 0 && (words[first]?.start ?? 0) > atS - seconds) first--;
  return words.slice(first);
}

/** What a piece that begins after a pause may go on after: the last words of a piece that ended in one. */
export function pauseAfter(
  words: readonly SpelledWord[],
  { to, cutAfter }: { to: number; cutAfter: boolean },
): Seam | undefined {
  if (cutAfter || words.length === 0) return undefined;
  return nearest({ at: to, known: words }, earlierS);
}

/** Whether the pause behind these words is still so short at a sample that what follows may belong to them. */
export function isNear({ at }: Seam, sample: number): boolean {
  return sample >= at && sample - at <= shortPauseS * rateHz;
}
