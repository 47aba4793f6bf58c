import type { LoadLevel } from './engine.ts';
import { agree, agreement, closest, type Reading } from './consensus.ts';

/** A small change under which the same words must come out: silence around the piece, and loudness. */
export type Variation = { paddingS: number; gain: number };

export const plain: Variation = { paddingS: 0.15, gain: 1 };

/** In the order in which they are tried; the first alone is the cheapest answer. */
const variations: readonly Variation[] = [
  plain,
  { paddingS: 0.3, gain: 1 },
  { paddingS: 0.05, gain: 1 },
  { paddingS: 0.2, gain: 0.5 },
  { paddingS: 0.1, gain: 2 },
  { paddingS: 0.25, gain: 1.5 },
  { paddingS: 0.35, gain: 0.7 },
];

export type Consensus = {
  reading: Reading;
  /** For each word the share of readings that hold it. */
  agreement: number[];
  readings: number;
};

/** How many readings a final may cost now: quality gives way before lateness. */
export function readingsFor({ busy, latenessMs }: LoadLevel): { first: number; most: number } {
  if (latenessMs > 400 || busy > 0.85) return { first: 1, most: 1 };
  if (latenessMs > 150 || busy > 0.6) return { first: 3, most: 3 };
  return { first: 3, most: 7 };
}

/** Who waits for a final waits for its readings too: no further one begins after this much work. */
const patienceS = 0.3;

/**
 * Reads a piece several times under small changes and keeps the reading that is closest to the
 * others. When the first ones agree there is nothing left to decide.
 */
export function readTogether(
  read: (variation: Variation) => Reading,
  { first, most }: { first: number; most: number },
  spentS: () => number,
): Consensus {
  const readings: Reading[] = [];
  for (const variation of variations.slice(0, most)) {
    if (readings.length > 0 && spentS() > patienceS) break;
    if (readings.length === first && agree(readings)) break;
    readings.push(read(variation));
  }
  const reading = closest(readings) ?? { text: '', words: [] };
  return { reading, agreement: agreement(reading, readings), readings: readings.length };
}
