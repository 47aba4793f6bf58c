/**
 * Cuts pushed audio into blocks of one fixed length, so that what the engine sees, and therefore the
 * text, depends on the audio alone and never on how it was chunked on its way here.
 */
export class Intake {
  readonly #blockSamples: number;
  readonly #chunks: Int16Array[] = [];
  #offset = 0;
  #samples = 0;

  constructor(blockSamples: number) {
    this.#blockSamples = blockSamples;
  }

  /** Samples that wait. */
  get samples(): number {
    return this.#samples;
  }

  get hasBlock(): boolean {
    return this.#samples >= this.#blockSamples;
  }

  push(samples: Int16Array): void {
    if (samples.length === 0) return;
    this.#chunks.push(samples);
    this.#samples += samples.length;
  }

  /** The next block as floats in [-1, 1); shorter only when asked for the rest. */
  take(): Float32Array {
    const block = new Float32Array(Math.min(this.#blockSamples, this.#samples));
    let filled = 0;
    while (filled < block.length) {
      const chunk = this.#chunks[0];
      if (!chunk) break;
      const count = Math.min(chunk.length - this.#offset, block.length - filled);
      for (let i = 0; i < count; i++) block[filled + i] = (chunk[this.#offset + i] ?? 0) / 32768;
      filled += count;
      this.#offset += count;
      if (this.#offset === chunk.length) {
        this.#chunks.shift();
        this.#offset = 0;
      }
    }
    this.#samples -= filled;
    return block;
  }
}
