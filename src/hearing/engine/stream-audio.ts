/**
 * Cuts audio into blocks of one fixed length. The text then depends on the audio alone, not on the sizes of messages,
 * so a call that is recognised again gives the same words. At most `maxSentAheadS` (pool/pool-stream.ts) of audio waits
 * here.
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

  /** The number of waiting samples. */
  get samples(): number {
    return this.#samples;
  }

  get hasBlock(): boolean {
    return this.#samples >= this.#blockSamples;
  }

  /** The time at which the oldest waiting audio arrived. */
  get waitingSinceMs(): number | undefined {
    return this.#chunks[0]?.atMs;
  }

  /** The time at which the newest audio of the last block arrived. */
  get takenAtMs(): number {
    return this.#takenAtMs;
  }

  push(samples: Int16Array, atMs: number): void {
    if (samples.length === 0) return;
    this.#chunks.push({ samples, atMs });
    this.#samples += samples.length;
  }

  /** The next block as floats in [-1, 1). It is shorter only if fewer samples are left. */
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
/** A live stream may bring this much audio at once: a late packet, or several together. */
const burstS = 1;

/**
 * Distinguishes audio that comes as it is spoken from audio that comes faster: a recording, or audio that a client kept
 * while its line was down. Each second is judged separately, so a stream that has caught up is live again.
 */
export class Pace {
  #sinceMs: number;
  #heardS = 0;
  #wasLive = true;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** Counts audio that arrived at this time. Returns true while the stream is live. */
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
