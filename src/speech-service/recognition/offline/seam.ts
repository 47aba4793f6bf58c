import type { RecognisedWord } from '../recogniser.ts';

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
  /** The sample at which the known words begin. */
  from: number;
  given: readonly number[];
};

/** So many seconds of known words are read again before the first new one. */
const contextS = 1;
/** What was said before a pause is read again with what follows, after so short a pause. */
const shortPauseS = 1;
/** So many seconds of it at most. */
const earlierS = 8;
/** Words that begin nearer to one another than they can be said were not heard there: the model ran ahead of the audio. */
const crowdedS = 0.05;
/** So far before the cut a crowd may begin: the next piece is read from there on, and long pieces are read less well. */
const crowdWithinS = 2;
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
 * So is a crowd of words at one moment, which the model made up of the little that it heard.
 */
export function divideAt(
  words: readonly SpelledWord[],
  { to, heardTo }: { to: number; heardTo: number },
): { own: number; seam: Seam | undefined } {
  let own = 0;
  for (const [index, word] of words.entries()) {
    const followed = index + 1 < words.length || word.start < heardTo / rateHz - longWordS;
    if (word.start * rateHz >= to || !followed) break;
    own = index + 1;
  }
  own = withoutCrowd(words, own, to / rateHz - crowdWithinS);
  const last = words[own - 1];
  if (!last) return { own, seam: undefined };
  const next = words[own];
  const at = next ? next.start * rateHz : Math.max(to, last.end * rateHz);
  const known = knownBefore(words.slice(0, own), at / rateHz);
  return {
    own,
    seam: {
      at: Math.round(at),
      from: Math.round((known[0]?.start ?? 0) * rateHz),
      given: known.flatMap(({ ids }) => ids),
    },
  };
}

/**
 * How many of these first words there are before the crowd that they end in; all of them where the crowd begins before
 * that second, or with the first word.
 */
function withoutCrowd(words: readonly SpelledWord[], own: number, sinceS: number): number {
  const startOf = (index: number): number => words[index]?.start ?? Infinity;
  const isCrowded = (index: number): boolean => startOf(index + 1) - startOf(index) < crowdedS;
  let before = own;
  while (before > 0 && (isCrowded(before - 1) || (before > 1 && isCrowded(before - 2)))) before--;
  return before === 0 || startOf(before) < sinceS ? own : before;
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

/** The last words before a pause, and the sample at which they ended. */
export type Earlier = { to: number; words: readonly SpelledWord[] };

/** What a piece that begins after a pause may go on after: the last words of a piece that ended in one. */
export function earlierOf(
  words: readonly SpelledWord[],
  { to, cutAfter }: { to: number; cutAfter: boolean },
): Earlier | undefined {
  if (cutAfter || words.length === 0) return undefined;
  return { to, words: knownBefore(words, to / rateHz, earlierS) };
}

/** Whether the pause behind these words is still so short at a sample that what follows may belong to them. */
export function isNear({ to }: Earlier, sample: number): boolean {
  return sample >= to && sample - to <= shortPauseS * rateHz;
}

/** The first sample of these words. */
export function beginOf({ to, words }: Earlier): number {
  return Math.round((words[0]?.start ?? to / rateHz) * rateHz);
}

/** The seam between the last seconds of these words and what begins at a sample, behind the pause. */
export function seamAfter({ to, words }: Earlier, at: number, seconds: number): Seam {
  const known = knownBefore(words, to / rateHz, seconds);
  const from = beginOf({ to, words: known });
  return { at: Math.max(to, at), from, given: known.flatMap(({ ids }) => ids) };
}
