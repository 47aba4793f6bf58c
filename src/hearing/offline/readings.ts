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

/** The reading with the smallest sum of differences to all the others; of equal ones the first. */
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

/** For each word of the chosen reading, the share of all readings that have the word in its place. */
export function agreement(chosen: Reading, readings: readonly Reading[]): number[] {
  const votes = chosen.words.map(() => 0);
  for (const reading of readings)
    for (const index of alignedWords(chosen.words, reading.words)) votes[index]! += 1; // eslint-disable-line @typescript-eslint/no-non-null-assertion
  return votes.map((count) => count / Math.max(1, readings.length));
}

/** The indexes of those words of `a` that `b` contains in the same order. */
export function alignedWords(a: readonly string[], b: readonly string[]): number[] {
  return commonIndexes(a.map(bare), b.map(bare));
}

/**
 * A small change of the audio: silence before and after the piece, and loudness. Words that come out under
 * every such change are sure; words that change with it are guesses of the model.
 */
export type Variation = { before: number; after: number; gain: number };

/**
 * The variations in the order in which they are tried. The first alone is the cheapest answer. With 0.2 s before the
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
 * The first readings of everybody who speaks now, if they stop together, may take this long before further readings are
 * given up. The last of those finals must come within two seconds, and a reading that has begun cannot be interrupted.
 */
export const busyMs = 1_000;
export const pressedMs = 1_500;

/** True when something is a little late, or would be, or when more than this share of the time is needed. */
function isBusy({ needed, latenessMs, togetherMs }: LoadLevel, share: number): boolean {
  return latenessMs > 50 || needed > share || togetherMs > busyMs;
}

/** True when there is no time for anything but necessary readings. */
function isLate({ needed, latenessMs, togetherMs }: LoadLevel, share: number): boolean {
  return latenessMs > 150 || needed > share || togetherMs > pressedMs;
}

/**
 * The number of readings that a final may cost under this load. Further readings are given up before finals are late.
 */
export function readingsFor(load: LoadLevel): { first: number; most: number } {
  if (isLate(load, 0.5)) return { first: 1, most: 1 };
  if (isBusy(load, 0.3)) return { first: 3, most: 3 };
  return { first: 3, most: variations.length };
}

/** Above this load a process serves more than five legs and saves on readings that only improve a final. */
export const crowded = 0.09;

/**
 * The number of margins with which a doubted piece is read as one text. With two margins noise is up to 0.7 points
 * worse, GSM no worse.
 */
export function marginsTogether(load: LoadLevel): number {
  return isBusy(load, 0.15) ? 2 : 3;
}

/** True when these margins are read side by side, which costs a third less and is understood a little worse. */
export function readsSideBySide(load: LoadLevel): boolean {
  return isBusy(load, crowded);
}

/**
 * True when only the most doubted pieces are read again. That halves the cost of further readings. Of forty live calls
 * 0.1 points more words are wrong when clean, 0.2 through GSM, 0.3 in noise.
 */
export function doubtsSparingly(load: LoadLevel): boolean {
  return isBusy(load, 0.18);
}

/**
 * The seconds of speech before a short pause that are read again with the speech after the pause. Without them ten live
 * calls have 0.2 points more wrong words, and 0.5 through GSM and in noise; one second is no better than none. Five
 * legs in a process get these seconds, ten do not.
 */
export function earlierSecondsFor(load: LoadLevel): number {
  if (load.isPatient === true) return 8;
  return isBusy(load, crowded) ? 0 : 2.5;
}

/** True when even the first reading must be the cheapest one, after further readings have been given up. */
export function isPressed(load: LoadLevel): boolean {
  return isLate(load, 0.6);
}

/** The number of readings of a piece's beginning that bound its word times well enough. */
export function probesOf(lengthS: number): number {
  return lengthS < 1.2 ? 0 : Math.min(3, Math.ceil(lengthS / 2));
}

/**
 * True when there is time for work that makes an answer better: probes, and other margins of a doubted piece before it
 * is told.
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

/** A word is shown after one reading when this word and all words before it are at least this sure. */
const sureEnough = 0.92;

/** The number of words at the beginning of a reading that are sure by themselves. */
export function sureWords(words: readonly { confidence: number }[]): number {
  const doubtful = words.findIndex(({ confidence }) => confidence < sureEnough);
  return doubtful < 0 ? words.length : doubtful;
}

/** The seconds of the stream between which a word ended, as far as readings of the growing audio tell. */
export type WordBounds = { saidBy?: number; notBefore?: number };

type PartialAbout = { again?: (() => string[]) | undefined; sure?: number; paused?: boolean };
type FirstAbout = {
  common: number;
  trusted: number;
  again: (() => string[]) | undefined;
  paused: boolean;
};

/**
 * Decides which words of a growing utterance may be shown: the words with which two readings in a row began. The first
 * partial is one word, and only when another word or a pause follows it: the last word of a reading may still be half a
 * word.
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
   * The words to show now, or undefined when nothing new is sure. `again` reads the same audio with another margin; it
   * is given for audio so short that two readings may agree by chance. `sure` counts the words at the beginning that
   * the model is sure of by itself: they need no second reading. `paused` says that the audio ends in a pause, so that
   * its last word is whole.
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

  /** Remembers a reading of the audio up to a moment for the word times; none of its words is shown. */
  note(words: string[], atS: number): void {
    this.#readings.push({ words, atS });
  }

  /**
   * The bounds of each word of a final. When a reading already contained the word and all words before it, the word had
   * ended by then. When a reading had fewer words, the word had not ended yet.
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
 * The number of shown words stays, whatever the words are now. The last word of a reading does not count: it may be
 * half a word.
 */
function kept(words: readonly string[], shown: readonly string[]): number {
  return Math.min(words.length - 1, shown.length);
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}
