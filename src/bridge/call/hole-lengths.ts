import { smallestHoleS } from './clock.ts';

/** A carrier may say any number. A gap of more than four months is declared as this long, so that its end is a number. */
export const longestGapS = 10_000_000;

/** Less than this is a fraction of a sample. */
const leastRestS = 0.001;

/** A stretch of call time, in seconds. */
export type MissingStretch = { start: number; end: number };

/**
 * A carrier says that it lost this much. Silence that already stands there for a quiet carrier is not written twice. Pure.
 */
export function lostHole(
  start: number,
  saidS: number,
  quietFilledS: number,
): { hole: MissingStretch; silenceS: number } {
  const lostS = Math.min(saidS, longestGapS);
  return {
    hole: { start, end: start + lostS },
    silenceS: Math.max(0, lostS - quietFilledS),
  };
}

/**
 * The carrier sent nothing for a while. Its media clock says how long, ours says how far the leg can be behind: a
 * carrier's clock that was set anew is no silence. Pure.
 */
export function quietS(saidS: number, quietFilledS: number, behindS: number): number {
  return Math.max(0, Math.min(saidS - quietFilledS, behindS));
}

/** The carrier threw this much away during its pause; part of it may stand there as silence. Pure. */
export function discardedS(saidS: number, quietFilledS: number): number {
  return Math.max(0, Math.min(saidS, longestGapS) - quietFilledS);
}

/** The rest of a hole that no silence was written for; undefined where the silence fills it. Pure. */
export function restOf(start: number, holeS: number, silenceS: number): MissingStretch | undefined {
  if (holeS - silenceS < leastRestS) return undefined;
  return { start: start + silenceS, end: start + holeS };
}

/**
 * The hole between two streams of one leg. It begins with the last frame of the first stream: silence that was written
 * since then, while its socket was cut and nobody knew it, stands for words that were said into it. Undefined where the
 * second stream follows at once. Pure.
 */
export function holeBetweenStreams(
  positionS: number,
  quietFilledS: number,
  behindS: number,
): MissingStretch | undefined {
  const start = positionS - quietFilledS;
  const holeS = quietFilledS + behindS;
  return holeS < smallestHoleS ? undefined : { start, end: start + holeS };
}
