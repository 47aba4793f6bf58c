import { melPowers } from '../signal/mel.ts';

/** A model for one language always hears 30 s, whatever they contain. */
export const longestWindowS = 30;
const rateHz = 16_000;
export const melBands = 80;
const framesEachSecond = 100;

const leastPower = 1e-10;
/** Values this many powers of ten below the loudest band count as equally silent. */
const range = 8;

/**
 * The encoder's input for a window of some seconds at 16 kHz: the logarithm of 80 bands every 10 ms, band after band.
 * The rest of the window is filled with silence.
 */
export function logMel(samples: Float32Array, windowS = longestWindowS): Float32Array {
  const windowSamples = windowS * rateHz;
  const melFrames = windowS * framesEachSecond;
  const window = samples.length >= windowSamples ? samples.subarray(0, windowSamples) : samples;
  // One sample more than the window holds would add a frame that the model does not take.
  const powers = melPowers(padded(window, windowSamples), {
    bands: melBands,
    frames: melFrames,
  });
  const mel = new Float32Array(melBands * melFrames);
  let loudest = -Infinity;
  for (let i = 0; i < powers.length; i++) {
    const value = Math.log10(Math.max(powers[i] ?? 0, leastPower));
    if (value > loudest) loudest = value;
    powers[i] = value;
  }
  for (let frame = 0; frame < melFrames; frame++)
    for (let band = 0; band < melBands; band++) {
      const value = Math.max(powers[frame * melBands + band] ?? 0, loudest - range);
      mel[band * melFrames + frame] = (value + 4) / 4;
    }
  return mel;
}

/** Adds silence so that the end of the audio is not mirrored, unless the audio fills the window. */
function padded(samples: Float32Array, windowSamples: number): Float32Array {
  const audio = new Float32Array(Math.min(windowSamples, samples.length + 400));
  audio.set(samples);
  return audio;
}
