/** Samples at 16 kHz that the voice detector hears at once. */
export const windowSamples = 512;

/**
 * The silence that ends an utterance: what was asked for, and never less than one window of the voice detector. Less
 * than 0.3 s also ends an utterance inside words (as in "stop it") and between the words of one breath. Whoever asks
 * for that gets short utterances, each read with the words that it has.
 */
export function pauseOf(endpointingS: number): number {
  return Math.max(windowSamples / 16_000, endpointingS);
}
