/**
 * Cuts pushed audio into blocks of one fixed length, so that what the engine sees, and therefore the
 * text, depends on the audio alone and never on how it was chunked on its way here.
 */
export class BlockCutter {
  readonly #blockSamples: number;
  readonly #chunks: { samples: Int16Array; atMs: number }[] = [];
  #offset = 0;
  #samples = 0;
  #takenAtMs = 0;

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

  /** When the oldest audio that still waits came. */
  get waitingSinceMs(): number | undefined {
    return this.#chunks[0]?.atMs;
  }

  /** When the last of what was taken came. */
  get takenAtMs(): number {
    return this.#takenAtMs;
  }

  push(samples: Int16Array, atMs: number): void {
    if (samples.length === 0) return;
    this.#chunks.push({ samples, atMs });
    this.#samples += samples.length;
  }

  /** The next block as floats in [-1, 1); shorter only when asked for the rest. */
  take(): Float32Array {
    const block = new Float32Array(Math.min(this.#blockSamples, this.#samples));
    let filled = 0;
    while (filled < block.length) {
      const chunk = this.#chunks[0];
      if (!chunk) break;
      const { samples, atMs } = chunk;
      const count = Math.min(samples.length - this.#offset, block.length - filled);
      for (let i = 0; i < count; i++) block[filled + i] = (samples[this.#offset + i] ?? 0) / 32768;
      this.#takenAtMs = atMs;
      filled += count;
      this.#offset += count;
      if (this.#offset === samples.length) {
        this.#chunks.shift();
        this.#offset = 0;
      }
    }
    this.#samples -= filled;
    return block;
  }
}

const windowMs = 1_000;
/** What may come at once and still be called live: a packet late, a few packets together. */
const burstS = 1;

/**
 * Whether audio comes as it is spoken, or faster: a recording, or what was kept while a line was down.
 * It is looked at anew for each second, so that a stream which has caught up is live again.
 */
export class Pace {
  #sinceMs: number;
  #heardS = 0;
  #wasLive = true;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** More audio that came at this time; true while the stream is live. */
  heard(atMs: number, seconds: number): boolean {
    if (atMs - this.#sinceMs >= windowMs) {
      this.#wasLive = this.#isLive(atMs);
      this.#sinceMs = atMs;
      this.#heardS = 0;
    }
    this.#heardS += seconds;
    return this.#wasLive && this.#isLive(atMs);
  }

  #isLive(atMs: number): boolean {
    return this.#heardS <= (atMs - this.#sinceMs) / 1000 + burstS;
  }
}
