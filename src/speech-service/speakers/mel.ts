import { melPowers } from '../../audio/mel.ts';

export { hopSamples } from '../../audio/mel.ts';
export const sampleRate = 16_000;
export const melBands = 40;

/** The input of the encoder: the power of 40 bands every 10 ms; beyond both ends of the audio there is silence. */
export function melFrames(samples: Float32Array): Float32Array {
  return melPowers(samples, { bands: melBands, beyond: 'silence' });
}
