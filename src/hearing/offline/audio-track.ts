/**
 * The 16 kHz audio of a stream, by position in the stream. Decided audio is dropped. The buffer grows to the longest
 * undecided audio, which the longest utterance bounds.
 */
export class AudioTrack {
  #samples = new Float32Array(32_000);
  #start = 0;
  #length = 0;

  get end(): number {
    return this.#start + this.#length;
  }

  push(block: Float32Array): void {
    if (this.#length + block.length > this.#samples.length) {
      const grown = new Float32Array(2 * (this.#length + block.length));
      grown.set(this.#samples.subarray(0, this.#length));
      this.#samples = grown;
    }
    this.#samples.set(block, this.#length);
    this.#length += block.length;
  }

  dropBefore(position: number): void {
    // A time multiplied by the rate is not always whole. A view from half a sample on would be one sample too long.
    const count = Math.min(this.#length, Math.floor(position - this.#start));
    if (count <= 0) return;
    this.#samples.copyWithin(0, count, this.#length);
    this.#length -= count;
    this.#start += count;
  }

  /** The audio between two positions, as a view that the next push or drop invalidates. */
  view(from: number, to: number): Float32Array {
    const first = Math.max(0, from - this.#start);
    return this.#samples.subarray(first, Math.max(first, Math.min(this.#length, to - this.#start)));
  }

  /** The middle of the quietest `width` samples between two positions. */
  quietest(from: number, to: number, width: number): number {
    const view = this.view(from, to);
    const step = width >> 2;
    let best = Math.max(from, this.#start) + (view.length >> 1);
    let least = Infinity;
    for (let at = 0; at + width <= view.length; at += step) {
      let energy = 0;
      for (let i = at; i < at + width; i++) energy += (view[i] ?? 0) ** 2;
      if (energy >= least) continue;
      least = energy;
      best = Math.max(from, this.#start) + at + (width >> 1);
    }
    return best;
  }
}
