/** The fast Fourier transform. The number of points is a power of two. */
export class Fourier {
  readonly size: number;
  readonly #cosines: Float64Array;
  readonly #sines: Float64Array;

  constructor(size: number) {
    this.size = size;
    const angle = (k: number) => (-2 * Math.PI * k) / size;
    this.#cosines = Float64Array.from({ length: size / 2 }, (_, k) => Math.cos(angle(k)));
    this.#sines = Float64Array.from({ length: size / 2 }, (_, k) => Math.sin(angle(k)));
  }

  /** Transforms in place. */
  transform(real: Float64Array, imaginary: Float64Array): void {
    const { size } = this;
    for (let i = 1, j = 0; i < size; i++) {
      let bit = size >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i >= j) continue;
      const re = real[i] ?? 0;
      const im = imaginary[i] ?? 0;
      real[i] = real[j] ?? 0;
      imaginary[i] = imaginary[j] ?? 0;
      real[j] = re;
      imaginary[j] = im;
    }
    for (let length = 2; length <= size; length *= 2) this.#stage(length, real, imaginary);
  }

  #stage(length: number, real: Float64Array, imaginary: Float64Array): void {
    const half = length / 2;
    const every = this.size / length;
    for (let k = 0; k < half; k++) {
      const cos = this.#cosines[k * every] ?? 0;
      const sin = this.#sines[k * every] ?? 0;
      for (let a = k; a < this.size; a += length) {
        const b = a + half;
        const re = (real[b] ?? 0) * cos - (imaginary[b] ?? 0) * sin;
        const im = (real[b] ?? 0) * sin + (imaginary[b] ?? 0) * cos;
        real[b] = (real[a] ?? 0) - re;
        imaginary[b] = (imaginary[a] ?? 0) - im;
        real[a] = (real[a] ?? 0) + re;
        imaginary[a] = (imaginary[a] ?? 0) + im;
      }
    }
  }
}

/** Hann's window function over this many points. */
export function hannWindow(size: number): Float64Array {
  return Float64Array.from(
    { length: size },
    (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / size),
  );
}
