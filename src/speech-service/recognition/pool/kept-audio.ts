/**
 * A stream's audio from the last decided second on: what a replacement process must hear again.
 * Positions are samples since the start of the stream.
 */
export class KeptAudio {
  readonly #chunks: Int16Array[] = [];
  #start = 0;
  #end = 0;

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#end;
  }

  /** Copies: the caller's buffer may be used again. */
  push(samples: Int16Array): void {
    if (samples.length === 0) return;
    this.#chunks.push(samples.slice());
    this.#end += samples.length;
  }

  /** Forgets what lies before the position, to the sample. */
  dropBefore(position: number): void {
    while (this.#start < position) {
      const first = this.#chunks[0];
      if (!first) return;
      const rest = position - this.#start;
      if (rest < first.length) {
        this.#chunks[0] = first.subarray(rest);
        this.#start = position;
        return;
      }
      this.#chunks.shift();
      this.#start += first.length;
    }
  }

  /** Up to `most` samples from a position that is still kept. */
  read(position: number, most: number): Int16Array {
    const samples = new Int16Array(Math.max(0, Math.min(most, this.#end - position)));
    let filled = 0;
    let at = this.#start;
    for (const chunk of this.#chunks) {
      if (filled === samples.length) break;
      const from = Math.max(0, position + filled - at);
      if (from < chunk.length) {
        const part = chunk.subarray(from, from + samples.length - filled);
        samples.set(part, filled);
        filled += part.length;
      }
      at += chunk.length;
    }
    return samples;
  }
}
