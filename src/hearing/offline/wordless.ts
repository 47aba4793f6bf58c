import type { RecognisedWord } from '../recogniser.ts';
import { spokenBy } from './word-lengths.ts';

const rateHz = 16000;

/** The stretches in which the detector heard a voice, in samples. They do not touch. */
export class VoicedStretches {
  #stretches: { from: number; to: number }[] = [];

  add(from: number, to: number): void {
    const last = this.#stretches.at(-1);
    if (last && last.to >= from) last.to = Math.max(last.to, to);
    else this.#stretches.push({ from, to });
  }

  dropBefore(position: number): void {
    if ((this.#stretches[0]?.to ?? position) >= position) return;
    this.#stretches = this.#stretches.filter(({ to }) => to > position);
  }

  /** The voiced samples between two positions. */
  within(from: number, to: number): number {
    let sum = 0;
    for (const stretch of this.#stretches)
      sum += Math.max(0, Math.min(to, stretch.to) - Math.max(from, stretch.from));
    return sum;
  }
}

/** A stretch of a piece with a voice but without words in any reading. `after` counts the words before it. */
export type Wordless = { from: number; to: number; after: number };

/** A stretch with less voice than this is a breath, a drawn-out vowel or the detector's delay. */
export const leastVoicedS = 0.4;

/**
 * Finds stretches that no word covers. A model that writes words sometimes omits a sentence, most often one it has just
 * written. Only the times of the surrounding words show that.
 */
export function wordlessIn(
  words: readonly RecognisedWord[],
  { from, to }: { from: number; to: number },
  voiced: Pick<VoicedStretches, 'within'>,
): Wordless[] {
  const edges = [from, ...words.map((word) => spokenBy(word) * rateHz)];
  return edges.flatMap((edge, after) => {
    const begin = Math.round(edge);
    const end = Math.round(Math.min(to, (words[after]?.start ?? Infinity) * rateHz));
    if (voiced.within(begin, end) < leastVoicedS * rateHz) return [];
    return [{ from: begin, to: end, after }];
  });
}
