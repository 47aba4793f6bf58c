import { agreement, closest, type Reading } from './consensus.ts';
import type { LoadLevel } from '../child/engine.ts';

/** A small change under which the same words must come out: silence before and after the piece, and loudness. */
export type Variation = { before: number; after: number; gain: number };

/**
 * In the order in which they are tried; the first alone is the cheapest answer. The first three need
 * next to nothing of the pause after the piece, so they can be read before it is over.
 */
export const variations: readonly [Variation, ...Variation[]] = [
  { before: 0.15, after: 0.05, gain: 1 },
  { before: 0.3, after: 0.05, gain: 1 },
  { before: 0.05, after: 0.05, gain: 1 },
  { before: 0.15, after: 0.15, gain: 1 },
  { before: 0.3, after: 0.3, gain: 1 },
  { before: 0.4, after: 0.1, gain: 1 },
  { before: 0.25, after: 0.25, gain: 1.5 },
];

/** How many readings a final may cost now: quality gives way before lateness. */
export function readingsFor({ needed, latenessMs }: LoadLevel): { first: number; most: number } {
  if (latenessMs > 150 || needed > 0.5) return { first: 1, most: 1 };
  if (latenessMs > 50 || needed > 0.3) return { first: 3, most: 3 };
  return { first: 3, most: variations.length };
}

/** How many readings of its beginning alone say well enough when the words of a piece were said. */
export function probesOf(lengthS: number): number {
  return lengthS < 1.2 ? 0 : Math.min(3, Math.ceil(lengthS / 2));
}

export function affordsProbes({ needed, latenessMs }: LoadLevel): boolean {
  return needed <= 0.3 && latenessMs <= 50;
}

/** The reading that is closest to the others, and for each word of it the share that holds it too. */
export function agreedReading(readings: readonly Reading[]): {
  reading: Reading;
  agreement: number[];
} {
  const reading = closest(readings) ?? { text: '', words: [] };
  return { reading, agreement: agreement(reading, readings) };
}
