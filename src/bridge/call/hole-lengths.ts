import { smallestHoleS } from './call-clock.ts';

/**
 * A carrier may send any number. A gap of more than four months is declared with this length, so that its end is a
 * valid number.
 */
export const longestGapS = 10_000_000;

/** A remaining stretch shorter than this is less than one sample and is ignored. */
const leastRestS = 0.001;

/** A stretch of call time, in seconds. */
export type MissingStretch = { start: number; end: number };

/**
 * Computes the hole for audio that the carrier reported as lost. Silence that was already written for a quiet carrier
 * is not written again. Pure.
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
 * Computes the length of a pause in which the carrier sent nothing. It is limited to how far the leg is behind on our
 * clock, because a carrier that only resets its media clock did not pause. Pure.
 */
export function quietS(saidS: number, quietFilledS: number, behindS: number): number {
  return Math.max(0, Math.min(saidS - quietFilledS, behindS));
}

/**
 * Computes how much of the audio that the carrier discarded during its pause has no silence written for it yet. Pure.
 */
export function discardedS(saidS: number, quietFilledS: number): number {
  return Math.max(0, Math.min(saidS, longestGapS) - quietFilledS);
}

/** The rest of a hole that was not filled with silence; undefined if all of it was filled. Pure. */
export function restOf(start: number, holeS: number, silenceS: number): MissingStretch | undefined {
  if (holeS - silenceS < leastRestS) return undefined;
  return { start: start + silenceS, end: start + holeS };
}

/**
 * Computes the hole between two streams of one leg. It begins with the last frame of the first stream: silence written
 * after that frame replaces words that were spoken after the socket was cut, when nobody had noticed the cut yet.
 * Returns undefined if the second stream follows at once. Pure.
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
