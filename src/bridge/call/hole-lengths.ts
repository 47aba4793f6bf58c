import { smallestHoleS } from './call-clock.ts';

/**
 * A carrier may send any number. A gap of more than four months is declared with this length, so that its end is a
 * valid number.
 */
export const longestGapS = 10_000_000;

/** A shorter rest than this is less than one sample. */
const leastRestS = 0.001;

/** A stretch of call time, in seconds. */
export type MissingStretch = { start: number; end: number };

/**
 * The hole for audio that the carrier reported as lost. Silence that was already written for a quiet carrier is not
 * written twice. Pure.
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
 * The length of a pause in which the carrier sent nothing. It is limited by how far the leg is behind on our clock: a
 * carrier that resets its media clock has made no silence. Pure.
 */
export function quietS(saidS: number, quietFilledS: number, behindS: number): number {
  return Math.max(0, Math.min(saidS - quietFilledS, behindS));
}

/**
 * The length of the audio that the carrier discarded during its pause, less the silence that was already written for
 * it. Pure.
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
 * The hole between two streams of one leg. It begins with the last frame of the first stream. Silence that was
 * written since then stands for words: they were said into a socket that was cut, and nobody knew it yet. Undefined
 * if the second stream follows at once. Pure.
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
