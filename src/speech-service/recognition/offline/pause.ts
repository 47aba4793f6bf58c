/**
 * Stops inside words (the silence in "stop it") and between the words of one breath last up to about
 * a quarter of a second. An endpointing below that, and the default is 0.05, would cut words apart:
 * what it can ask for is the shortest pause that ends a phrase.
 */
const shortestPauseS = 0.3;

/** The silence that ends an utterance. */
export function pauseOf(endpointingS: number): number {
  return Math.max(shortestPauseS, endpointingS);
}
