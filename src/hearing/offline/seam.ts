import type { RecognisedWord } from '../recogniser.ts';
import { withoutCrowd } from './crowd.ts';
import { leastVoicedS } from './wordless.ts';
import { overBy, spelled, spokenBy } from './word-lengths.ts';

const rateHz = 16000;

/** A word of a reading with the model's own signs. Times are seconds of the stream. */
export type SpelledWord = RecognisedWord & {
  ids: readonly number[];
  /** The second at which the last sign of the word begins, if the reading gives it. */
  lastSignS?: number;
};

/** The word without the model's signs, which are known only inside this room. */
export function withoutIds({ ids: _, lastSignS: __, ...word }: SpelledWord): RecognisedWord {
  return word;
}

/**
 * The place inside speech, between two words, where one piece ends and the next begins. The next piece is read from
 * some words before this place, which the model gets as known words.
 */
export type Seam = {
  /** The sample at which the first word of the next piece begins. */
  at: number;
  known: readonly SpelledWord[];
};

/** At least this many seconds of known words are read again before the first new word. */
export const contextS = 1;
/**
 * At a cut, at most this many seconds of known words are read again. With more, the model continues its own text
 * instead of listening.
 */
export const mostContextS = 2.5;
/** At most this much speech before a cut, for which the model wrote nothing, is read with the next piece. */
const mostLeftS = 2.5;
/** If a pause is at most this long, the speech before it is read again together with the speech after it. */
const shortPauseS = 1;
/** At most this many seconds of that speech are read again. */
const earlierS = 8;
/** A last word may extend beyond the audio, unless it began this long before the end. */
const longWordS = 1;

/**
 * Divides the words of a piece that was read beyond its cut. The words that begin before the cut are the piece's own,
 * whole. If the audio may end inside a word, that word is left to the next piece, wherever it began:
 *
 *     audio     ...  the  com|pany has cal...
 *     cut                    ^
 *     own       ...  the  company
 *     next                        has called
 *
 * A crowd of made-up words at one moment is left to the next piece as well, but only if it begins in the piece itself.
 * A
 * little speech behind the last word for which the model wrote nothing is also left, because with more audio the model
 * may write it. A reading is therefore never longer than two pieces and that little.
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
 * The sample at which the next piece begins: the start of its first word, or the end of the last word of this piece.
 * The next piece therefore has every stretch that `wordlessIn` would report and `isLeft` leaves to it.
 */
function beginOfNext(last: SpelledWord, next: SpelledWord | undefined, to: number): number {
  const overS = overBy(last);
  const follows = next && (next.start * rateHz < to || next.start - overS < leastVoicedS);
  if (follows) return Math.round(next.start * rateHz);
  if (!isLeft(spokenBy(last) * rateHz, to)) return to;
  return Math.round(Math.max(overS * rateHz, to - mostLeftS * rateHz));
}

/** True for words said digit by digit or letter by letter. One such word of the model lasts for seconds. */
function isSpelled(word: string): boolean {
  return /\d/.test(word) || spelled.test(word);
}

/** True if the audio of a piece from this sample on is short enough to be read with the next piece. */
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

/** The last known words: those from about a second before `atS` on. */
export function knownBefore(
  words: readonly SpelledWord[],
  atS: number,
  seconds = contextS,
): SpelledWord[] {
  let first = Math.max(0, words.length - 1);
  while (first > 0 && (words[first]?.start ?? 0) > atS - seconds) first--;
  return words.slice(first);
}

/** The last words of a piece that ended in a pause, for a next piece that continues after them. */
export function pauseAfter(
  words: readonly SpelledWord[],
  { to, cutAfter }: { to: number; cutAfter: boolean },
): Seam | undefined {
  if (cutAfter || words.length === 0) return undefined;
  return nearest({ at: to, known: words }, earlierS);
}

/** True if the pause after these words is short enough for speech at this sample to belong to them. */
export function isNear({ at }: Seam, sample: number): boolean {
  return sample >= at && sample - at <= shortPauseS * rateHz;
}
