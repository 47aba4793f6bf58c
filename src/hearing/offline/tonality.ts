import { Fourier, hannWindow } from '../signal/fourier.ts';

/**
 * Tells signal tones from voices. A siren or a whistle has the pitch and the swell of a vowel, so the voice detector
 * and the model take it for one. The spectrum of a tone is a few pure lines with nothing beside them, and that of a
 * voice never is.
 */

const frame = 512; // 32 ms at 16 kHz
const bins = frame / 2;
/** The window function spreads a line over this many bins on each side. */
const spread = 3;
const lines = 4;
/** A frame is tonal if less than this share of its energy (-25 dB) lies outside the lines. */
const purity = 0.003;

const window = hannWindow(frame);
const fourier = new Fourier(frame);

/** Audio with a larger share of tonal frames is a signal. None of 338 measured words and phrases exceeded 0.6. */
export const leastTonal = 0.8;

/** The share of the loud frames that consist of a few lines only. */
export function tonalShare(samples: Float32Array): number {
  const real = new Float64Array(frame);
  const imaginary = new Float64Array(frame);
  const totals: number[] = [];
  const isTonal: boolean[] = [];
  for (let at = 0; at + frame <= samples.length; at += frame) {
    const power = powerOf(samples.subarray(at, at + frame), real, imaginary);
    const total = sumOf(power);
    totals.push(total);
    isTonal.push(besideLines(power) / total < purity);
  }
  const loud = Math.max(0, ...totals) / 100;
  let frames = 0;
  let tonal = 0;
  for (const [index, total] of totals.entries()) {
    if (total <= loud) continue;
    frames++;
    if (isTonal[index]) tonal++;
  }
  return frames === 0 ? 0 : tonal / frames;
}

/** The energy without the strongest lines. Sets those lines to zero in its argument. */
function besideLines(power: Float64Array): number {
  for (let line = 0; line < lines; line++) {
    let peak = 0;
    for (let bin = 1; bin < bins; bin++) if ((power[bin] ?? 0) > (power[peak] ?? 0)) peak = bin;
    power.fill(0, Math.max(0, peak - spread), peak + spread + 1);
  }
  return sumOf(power);
}

function sumOf(values: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < values.length; at++) sum += values[at] ?? 0;
  return sum;
}

/**
 * The power of a frame. Every partial calls this, so it uses loops with indexes: arrays made by iterators took most of
 * its time. The result is a part of `real`.
 */
function powerOf(samples: Float32Array, real: Float64Array, imaginary: Float64Array): Float64Array {
  for (let i = 0; i < frame; i++) real[i] = (samples[i] ?? 0) * (window[i] ?? 0);
  imaginary.fill(0);
  fourier.transform(real, imaginary);
  const power = real.subarray(0, bins);
  for (let bin = 0; bin < bins; bin++)
    power[bin] = (real[bin] ?? 0) ** 2 + (imaginary[bin] ?? 0) ** 2;
  return power;
}

/** The model writes at most this many words for a signal tone. Longer texts are not tested. */
const wordsOfSignal = 3;

export function isSignal(words: number, audio: Float32Array): boolean {
  return words <= wordsOfSignal && tonalShare(audio) > leastTonal;
}
