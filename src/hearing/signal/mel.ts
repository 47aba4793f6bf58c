import { hannWindow } from './fourier.ts';

const sampleRate = 16_000;
/** The number of samples from one frame to the next. */
export const hopSamples = 160;

const frameSamples = 400;
const bins = frameSamples / 2 + 1;
/** The factors of the 400-point transform. */
const radices = [4, 4, 5, 5];

export type MelOptions = {
  bands: number;
  /** The number of frames. Frames beyond the audio are zeros. By default there are as many as the audio has. */
  frames?: number;
};

/**
 * The power in some bands of 16 kHz audio, in frames of 25 ms every 10 ms, as networks were trained. The first frame is
 * centred on the first sample; the audio is mirrored at both ends. No logarithm is taken, so the level counts.
 */
export function melPowers(samples: Float32Array, options: MelOptions): Float32Array {
  const { bands } = options;
  const own = 1 + Math.floor(samples.length / hopSamples);
  const frames = options.frames ?? own;
  const mel = new Float32Array(frames * bands);
  const weights = weightsOf(bands);
  const even = new Float64Array(bins);
  const odd = new Float64Array(bins);
  for (let frame = 0; frame < Math.min(own, frames); frame += 2) {
    // Two real frames form one complex transform.
    fillWindowed(samples, frame * hopSamples, input.re);
    fillWindowed(samples, (frame + 1) * hopSamples, input.im);
    transform(0, 0, 1, 0);
    powersOfBoth(even, odd);
    addBands(even, weights, mel.subarray(frame * bands));
    if (frame + 1 < frames) addBands(odd, weights, mel.subarray((frame + 1) * bands));
  }
  return mel;
}

const hann = hannWindow(frameSamples);
const cosine = Float64Array.from({ length: frameSamples }, (_, n) =>
  Math.cos((2 * Math.PI * n) / frameSamples),
);
const sine = Float64Array.from({ length: frameSamples }, (_, n) =>
  Math.sin((2 * Math.PI * n) / frameSamples),
);

type Complex = { re: Float64Array; im: Float64Array };
const complex = (length: number): Complex => ({
  re: new Float64Array(length),
  im: new Float64Array(length),
});
const input = complex(frameSamples);
const output = complex(frameSamples);
const turned = complex(Math.max(...radices));

function fillWindowed(samples: Float32Array, centre: number, frame: Float64Array): void {
  const from = centre - frameSamples / 2;
  const last = samples.length - 1;
  for (let n = 0; n < frameSamples; n++) {
    const straight = from + n;
    const at = straight < 0 ? -straight : straight > last ? 2 * last - straight : straight;
    frame[n] = at < 0 || at > last ? 0 : (samples[at] ?? 0) * (hann[n] ?? 0);
  }
}

/**
 * The mixed-radix transform by Cooley and Tukey: every `stride`-th input from `from` on goes into the output at `to`.
 */
function transform(level: number, from: number, stride: number, to: number): void {
  const radix = radices[level];
  if (radix === undefined) {
    output.re[to] = input.re[from] ?? 0;
    output.im[to] = input.im[from] ?? 0;
    return;
  }
  const part = frameSamples / stride / radix;
  for (let j = 0; j < radix; j++)
    transform(level + 1, from + j * stride, stride * radix, to + j * part);
  for (let k = 0; k < part; k++) combine(radix, part, stride, to + k, k);
}

/** One butterfly: combines the k-th points of all sub-transforms. */
function combine(radix: number, part: number, stride: number, at: number, k: number): void {
  const { re, im } = output;
  for (let j = 0; j < radix; j++) {
    const x = re[at + j * part] ?? 0;
    const y = im[at + j * part] ?? 0;
    const c = cosine[j * k * stride] ?? 0;
    const s = sine[j * k * stride] ?? 0;
    turned.re[j] = x * c + y * s;
    turned.im[j] = y * c - x * s;
  }
  const step = frameSamples / radix;
  for (let q = 0; q < radix; q++) {
    let sumRe = 0;
    let sumIm = 0;
    for (let j = 0; j < radix; j++) {
      const turn = ((j * q) % radix) * step;
      const c = cosine[turn] ?? 0;
      const s = sine[turn] ?? 0;
      const x = turned.re[j] ?? 0;
      const y = turned.im[j] ?? 0;
      sumRe += x * c + y * s;
      sumIm += y * c - x * s;
    }
    re[at + q * part] = sumRe;
    im[at + q * part] = sumIm;
  }
}

/**
 * Separates the two frames: the even half of the spectrum belongs to the frame in the real part, the odd half to the
 * other.
 */
function powersOfBoth(even: Float64Array, odd: Float64Array): void {
  for (let k = 0; k < bins; k++) {
    const mirror = (frameSamples - k) % frameSamples;
    const a = output.re[k] ?? 0;
    const b = output.im[k] ?? 0;
    const c = output.re[mirror] ?? 0;
    const d = output.im[mirror] ?? 0;
    even[k] = ((a + c) ** 2 + (b - d) ** 2) / 4;
    odd[k] = ((a - c) ** 2 + (b + d) ** 2) / 4;
  }
}

/** The mel scale: linear up to 1 kHz, then logarithmic. */
function hzOfMel(mel: number): number {
  return mel < 15 ? (mel * 200) / 3 : 1_000 * Math.exp((mel - 15) * (Math.log(6.4) / 27));
}

const highestMel = 15 + Math.log(sampleRate / 2 / 1_000) / (Math.log(6.4) / 27);

type BandWeights = readonly (readonly { bin: number; weight: number }[])[];
const known = new Map<number, BandWeights>();

function weightsOf(bands: number): BandWeights {
  const found =
    known.get(bands) ?? Array.from({ length: bands }, (_, band) => triangle(band, bands));
  known.set(bands, found);
  return found;
}

function triangle(band: number, bands: number): { bin: number; weight: number }[] {
  const [low = 0, middle = 0, high = 0] = [band, band + 1, band + 2].map((edge) =>
    hzOfMel((edge * highestMel) / (bands + 1)),
  );
  const weights: { bin: number; weight: number }[] = [];
  for (let bin = 0; bin < bins; bin++) {
    const hz = (bin * sampleRate) / frameSamples;
    const height = Math.min((hz - low) / (middle - low), (high - hz) / (high - middle));
    // Each triangle has the same area, however wide it is.
    if (height > 0) weights.push({ bin, weight: (height * 2) / (high - low) });
  }
  return weights;
}

function addBands(power: Float64Array, bands: BandWeights, mel: Float32Array): void {
  for (const [band, weights] of bands.entries()) {
    let sum = 0;
    for (const { bin, weight } of weights) sum += (power[bin] ?? 0) * weight;
    mel[band] = sum;
  }
}
