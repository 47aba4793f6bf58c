/** The number of zero crossings of the kernel on each side, at the lower of the two rates. */
const crossings = 48;
/** The middle of the kernel's slope, relative to the lower Nyquist frequency. The slope ends where aliases begin. */
const cutoff = 0.94;
/** The shape of the Kaiser window. With 9, frequencies above the kernel's slope are damped by 90 dB. */
const beta = 9;
const maxTableEntries = 1_048_576;

/**
 * Converts audio to another rate with a windowed sinc, block by block. The delay of the kernel is removed: sample k of
 * the output and sample k × from / to of the input are at the same moment.
 *
 *   input   ──┬──┬──┬──┬──┬──┬──     the kernel is centred on the moment of an output sample;
 *   output  ────┬─────┬─────┬────     its coefficients for that fraction of an input sample are one row
 */
export class Resampler {
  readonly #up: number;
  readonly #stepWhole: number;
  readonly #stepPart: number;
  readonly #rows: number;
  readonly #half: number;
  readonly #table: Float32Array;
  /**
   * The input that the next output samples still need, after the `#half - 1` zeros that stand for the time before the
   * beginning.
   */
  #held: Float32Array;
  #heldLength: number;
  /**
   * The position at which the kernel of the next output sample begins: whole input samples within `#held`, and
   * fractions of `#up`.
   */
  #at = 0;
  #part = 0;
  #taken = 0;
  #made = 0;

  constructor(fromHz: number, toHz: number) {
    const common = greatestCommonDivisor(fromHz, toHz);
    this.#up = toHz / common;
    const down = fromHz / common;
    this.#stepWhole = Math.floor(down / this.#up);
    this.#stepPart = down % this.#up;
    const ratio = Math.min(1, toHz / fromHz);
    this.#half = Math.ceil(crossings / ratio);
    // Rates without a common divisor would need a row for each of 16,000 positions. A smaller table is used, and the
    // nearest row is good enough.
    this.#rows = Math.min(this.#up, Math.max(256, Math.floor(maxTableEntries / (2 * this.#half))));
    this.#table = kernelTable(this.#rows, this.#half, ratio * cutoff);
    this.#held = new Float32Array(4 * this.#half);
    this.#heldLength = this.#half - 1;
  }

  /** Takes input and returns the output samples that are complete with it. */
  push(input: Float32Array): Float32Array {
    this.#taken += input.length;
    return this.#convert(input);
  }

  /** Returns the remaining output. All output together is then as long as the input. */
  flush(): Float32Array {
    const total = Math.floor((this.#taken * this.#up) / this.#down());
    const rest = this.#convert(new Float32Array(2 * this.#half));
    return rest.subarray(0, Math.max(0, rest.length - (this.#made - total)));
  }

  #down(): number {
    return this.#stepWhole * this.#up + this.#stepPart;
  }

  #convert(input: Float32Array): Float32Array {
    this.#append(input);
    const width = 2 * this.#half;
    const output = new Float32Array(
      Math.max(0, Math.ceil(((this.#heldLength - this.#at + 1) * this.#up) / this.#down()) + 1),
    );
    let made = 0;
    while (this.#at + width < this.#heldLength) {
      let row = Math.round((this.#part * this.#rows) / this.#up);
      let from = this.#at;
      if (row === this.#rows) {
        row = 0;
        from += 1;
      }
      const base = row * width;
      let sum = 0;
      for (let tap = 0; tap < width; tap++)
        sum += (this.#held[from + tap] ?? 0) * (this.#table[base + tap] ?? 0);
      output[made++] = sum;
      this.#at += this.#stepWhole;
      this.#part += this.#stepPart;
      if (this.#part >= this.#up) {
        this.#part -= this.#up;
        this.#at += 1;
      }
    }
    this.#made += made;
    return output.subarray(0, made);
  }

  #append(input: Float32Array): void {
    const keptFrom = Math.min(this.#at, this.#heldLength);
    const kept = this.#heldLength - keptFrom;
    if (this.#held.length < kept + input.length) {
      const larger = new Float32Array(2 * (kept + input.length));
      larger.set(this.#held.subarray(keptFrom, this.#heldLength));
      this.#held = larger;
    } else this.#held.copyWithin(0, keptFrom, this.#heldLength);
    this.#held.set(input, kept);
    this.#heldLength = kept + input.length;
    this.#at -= keptFrom;
  }
}

/** Converts whole audio of 16 bits to another rate. */
export function convertRate(samples: Int16Array, fromHz: number, toHz: number): Int16Array {
  if (fromHz === toHz) return samples;
  const resampler = new Resampler(fromHz, toHz);
  const begin = resampler.push(Float32Array.from(samples));
  const end = resampler.flush();
  const all = new Float32Array(begin.length + end.length);
  all.set(begin);
  all.set(end, begin.length);
  return Int16Array.from(all, (value) => Math.max(-32_768, Math.min(32_767, Math.round(value))));
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** Row r holds the kernel for an output sample that lies r / rows of an input sample after the kernel's middle. */
function kernelTable(rows: number, half: number, passBand: number): Float32Array {
  const width = 2 * half;
  const table = new Float32Array(rows * width);
  const edge = bessel(beta);
  for (let row = 0; row < rows; row++) {
    const kernel = Array.from({ length: width }, (_, tap) => {
      const distance = tap - (half - 1) - row / rows;
      const x = distance * passBand;
      const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
      const inside = Math.max(0, 1 - (distance / half) ** 2);
      return (sinc * bessel(beta * Math.sqrt(inside))) / edge;
    });
    // Each row passes a constant unchanged. Otherwise the rows would produce a tone of their own.
    const sum = kernel.reduce((total, value) => total + value, 0);
    table.set(
      kernel.map((value) => value / sum),
      row * width,
    );
  }
  return table;
}

/** The modified Bessel function of the first kind, order 0. */
function bessel(x: number): number {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}
