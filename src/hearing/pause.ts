import { windowSamples } from './recogniser.ts';

/**
 * The silence that ends an utterance: the requested one, but at least one window of the voice detector. Less than 0.3 s
 * also ends utterances inside words (as in "stop it") and between words of one breath. A client that requests this gets
 * short utterances.
 */
export function pauseOf(endpointingS: number): number {
  return Math.max(windowSamples / 16_000, endpointingS);
}
