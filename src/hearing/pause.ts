/** Samples at 16 kHz that the voice detector hears at once. */
export const windowSamples = 512;

/**
 * The silence inside words (as in "stop it") and between the words of one breath lasts up to a quarter of
 * a second. The interface's default endpointing of 0.05 s would cut words apart. A lower request is
 * therefore raised to the shortest pause that ends a phrase, and the record of a session shows it so.
 */
const shortestPauseS = 0.3;

/** The silence that ends an utterance. */
export function pauseOf(endpointingS: number): number {
  return Math.max(shortestPauseS, endpointingS);
}
