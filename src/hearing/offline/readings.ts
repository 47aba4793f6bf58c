import { distance } from 'fastest-levenshtein';
import type { LoadLevel } from '../engine/engine.ts';
import { commonIndexes } from '../common-indexes.ts';

export type Reading = { text: string; words: string[] };

/** The form in which words are compared: without case and punctuation. */
export function bare(word: string): string {
  return word.toLowerCase().replace(/^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu, '');
}

/** The number of letters that must change to turn one reading into the other. */
function difference(a: Reading, b: Reading): number {
  return distance(a.words.map(bare).join(' '), b.words.map(bare).join(' '));
}

/** The reading with the smallest total difference to the others. Of equal ones, the first. */
export function closest(readings: readonly Reading[]): Reading | undefined {
  let best: Reading | undefined;
  let least = Infinity;
  for (const one of readings) {
    const sum = readings.reduce((total, other) => total + difference(one, other), 0);
    if (sum >= least) continue;
    least = sum;
    best = one;
  }
  return best;
}

export function agree(readings: readonly Reading[]): boolean {
  const [first, ...rest] = readings;
  return first !== undefined && rest.every((other) => difference(first, other) === 0);
}

/** For each word of the chosen reading, the share of all readings that have it in that place. */
export function agreement(chosen: Reading, readings: readonly Reading[]): number[] {
  const votes = chosen.words.map(() => 0);
  for (const reading of readings)
    for (const index of alignedWords(chosen.words, reading.words)) votes[index]! += 1; // eslint-disable-line @typescript-eslint/no-non-null-assertion
  return votes.map((count) => count / Math.max(1, readings.length));
}

/** The indexes of the words of `a` that `b` contains in the same order. */
export function alignedWords(a: readonly string[], b: readonly string[]): number[] {
  return commonIndexes(a.map(bare), b.map(bare));
}

/**
 * A small change of the audio: silence around the piece, and loudness. Words that survive every change are sure; words
 * that change are guesses of the model.
 */
export type Variation = { before: number; after: number; gain: number };

/**
 * The variations in the order in which they are tried. The first alone gives the cheapest answer. With 0.2 s before the
 * piece instead of 0.15 s, 0.4 points fewer words of the plain prompts are wrong, and up to 0.3 points more of them
 * through GSM and in noise; of the second and the held-out set 0.1 to 3.7 points fewer in all three. The first three
 * variations need only 50 ms of the pause after the piece, so they can be read before the pause is over.
 */
export const variations: readonly [Variation, ...Variation[]] = [
  { before: 0.2, after: 0.05, gain: 1 },
  { before: 0.05, after: 0.05, gain: 1 },
  { before: 0.3, after: 0.05, gain: 1 },
  { before: 0.15, after: 0.15, gain: 1 },
  { before: 0.3, after: 0.3, gain: 1 },
  { before: 0.4, after: 0.1, gain: 1 },
  { before: 0.25, after: 0.25, gain: 1.5 },
];

/**
 * If everybody who speaks now stops together, their first readings may take this long before further readings are given
 * up. The last of those finals must come within two seconds, and a running reading cannot be interrupted.
 */
export const busyMs = 1_000;
export const pressedMs = 1_500;

/** True if something is or would be a little late, or if more than this share of the time is needed. */
function isBusy({ needed, latenessMs, togetherMs }: LoadLevel, share: number): boolean {
  return latenessMs > 50 || needed > share || togetherMs > busyMs;
}

/** True if there is only time for necessary readings. */
function isLate({ needed, latenessMs, togetherMs }: LoadLevel, share: number): boolean {
  return latenessMs > 150 || needed > share || togetherMs > pressedMs;
}

/**
 * The number of readings that a final may cost under this load. Further readings are given up before finals become
 * late.
 */
export function readingsFor(load: LoadLevel): { first: number; most: number } {
  if (isLate(load, 0.5)) return { first: 1, most: 1 };
  if (isBusy(load, 0.3)) return { first: 3, most: 3 };
  return { first: 3, most: variations.length };
}

/** Above this load a process serves more than five legs and saves on readings that only improve a final. */
export const crowded = 0.09;

/**
 * The number of margins with which a doubted piece is read as one text. With two margins, words in noise are up to 0.7
 * points worse, through GSM no worse.
 */
export function marginsTogether(load: LoadLevel): number {
  return isBusy(load, 0.15) ? 2 : 3;
}

/** True if these margins are read in parallel, which costs a third less and gives slightly worse words. */
export function readsSideBySide(load: LoadLevel): boolean {
  return isBusy(load, crowded);
}

/**
 * True if only the most doubted pieces are read again, which halves the cost of further readings. In forty live calls
 * 0.1 points more words are wrong when clean, 0.2 through GSM, 0.3 in noise.
 */
export function doubtsSparingly(load: LoadLevel): boolean {
  return isBusy(load, 0.18);
}

/**
 * The seconds of speech before a short pause that are read again with the speech behind it. Without them ten live calls
 * have 0.2 points more wrong words, and 0.5 through GSM and in noise; one second is no better than none. With five legs
 * in a process there is time for these seconds, with ten there is not.
 */
export function earlierSecondsFor(load: LoadLevel, isDear = false): number {
  if (load.isPatient === true) return 8;
  return isBusy(load, isDear ? mostForDear : crowded) ? 0 : 2.5;
}

/** A model with dear readings takes these seconds up to this load: two or three legs that speak. */
export const mostForDear = 0.25;

/** True if even the first reading must be the cheapest one, because further readings have already been given up. */
export function isPressed(load: LoadLevel): boolean {
  return isLate(load, 0.6);
}

/** The number of readings of a piece's beginning that bound its word times well enough. */
export function probesOf(lengthS: number): number {
  return lengthS < 1.2 ? 0 : Math.min(3, Math.ceil(lengthS / 2));
}

/**
 * True if there is time for work that improves an answer: probes, and other margins for a doubted piece before it is
 * emitted.
 */
export function affordsMore(load: LoadLevel): boolean {
  return !isBusy(load, 0.3);
}

/** The reading that is closest to the others, and for each of its words the share of readings that contain it. */
export function agreedReading(readings: readonly Reading[]): {
  reading: Reading;
  agreement: number[];
} {
  const reading = closest(readings) ?? { text: '', words: [] };
  return { reading, agreement: agreement(reading, readings) };
}

/** After one reading, a word is shown if it and all words before it are at least this sure. */
const sureEnough = 0.92;

/** The number of words at the beginning of a reading that are sure by themselves. */
export function sureWords(words: readonly { confidence: number }[]): number {
  const doubtful = words.findIndex(({ confidence }) => confidence < sureEnough);
  return doubtful < 0 ? words.length : doubtful;
}

/** The time between which a word ended, in seconds of the stream, as far as readings of the growing audio show it. */
export type WordBounds = { saidBy?: number | undefined; notBefore?: number | undefined };

type PartialAbout = { again?: (() => string[]) | undefined; sure?: number; paused?: boolean };
type FirstAbout = {
  common: number;
  trusted: number;
  again: (() => string[]) | undefined;
  paused: boolean;
};

/**
 * Decides which words of a growing utterance may be shown: those with which two consecutive readings began. The first
 * partial is one word, and only if another word or a pause follows, because the last word of a reading may be
 * incomplete.
 */
export class PartialWords {
  #last: string[] = [];
  #shown: string[] = [];
  readonly #readings: { words: string[]; atS: number }[] = [];

  /** True until the first word is shown. */
  get silent(): boolean {
    return this.#shown.length === 0;
  }

  /**
   * The words to show now, or undefined if nothing new is sure. `again` reads the same audio with another margin; it is
   * given for short audio, where two readings may agree by chance. `sure` counts the first words that need no second
   * reading, because the model is sure of them. `paused` means that the audio ends in a pause, so its last word is
   * complete.
   */
  update(
    words: string[],
    atS: number,
    { again, sure: trusted = 0, paused = false }: PartialAbout = {},
  ): string[] | undefined {
    const common = commonStart(this.#last, words);
    const sure = this.silent
      ? this.#first(words, { common, trusted, again, paused })
      : Math.max(
          common,
          Math.min(trusted, words.length - (paused ? 0 : 2)),
          kept(words, this.#shown),
        );
    this.note(words, atS);
    this.#last = words;
    const show = words.slice(0, Math.max(0, sure));
    if (show.length === 0 || same(show, this.#shown)) return undefined;
    this.#shown = show;
    return show;
  }

  #first(words: string[], { common, trusted, again, paused }: FirstAbout): number {
    const followed = words.length - (paused ? 0 : 1);
    if (Math.min(trusted, followed) > 0) return Math.min(trusted, followed);
    if (Math.min(common, followed) < 1) return 0;
    return again && commonStart(again(), words) < 1 ? 0 : 1;
  }

  /** Remembers a reading up to a moment for the word times. None of its words is shown. */
  note(words: string[], atS: number): void {
    this.#readings.push({ words, atS });
  }

  /**
   * The bounds of each word of a final. If a reading already contained the word and all words before it, the word had
   * ended by then. If a reading had fewer words, the word had not ended yet.
   */
  bounds(words: readonly string[]): WordBounds[] {
    const bounds: WordBounds[] = words.map(() => ({}));
    for (const reading of this.#readings) {
      const common = commonStart(reading.words, words);
      for (const [index, known] of bounds.entries()) {
        if (index < common) known.saidBy = Math.min(known.saidBy ?? Infinity, reading.atS);
        else if (index >= reading.words.length)
          known.notBefore = Math.max(known.notBefore ?? 0, reading.atS);
      }
    }
    return bounds;
  }
}

function commonStart(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < a.length && count < b.length && bare(a[count] ?? '') === bare(b[count] ?? ''))
    count++;
  return count;
}

/**
 * The number of shown words never decreases, even if the words change. The last word of a reading does not count, since
 * it may be incomplete.
 */
function kept(words: readonly string[], shown: readonly string[]): number {
  return Math.min(words.length - 1, shown.length);
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}

/** Reading ahead begins after this many seconds of a pause. An early start is often wasted, because speech continues. */
export function aheadAfterS({ needed, latenessMs, togetherMs }: LoadLevel): number | undefined {
  if (latenessMs > 150 || needed > 0.75) return undefined;
  if (needed > crowded || togetherMs > pressedMs) return 0.25;
  return needed > 0.05 ? 0.2 : 0.128;
}

/** The longest reading allowed for a partial. It cannot be interrupted, so it delays finals. */
export function longestPartialMs({ needed, togetherMs }: LoadLevel): number {
  if (needed > 0.45 || togetherMs > pressedMs) return 60;
  return needed > 0.3 || togetherMs > busyMs ? 120 : Infinity;
}
