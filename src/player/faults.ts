import type { Frame } from './dialogue.ts';

/** Faults of a bad line, all off by default. */
export type Faults = {
  /** Share of media frames that never arrive, 0 to 1. */
  drop?: number | undefined;
  /** Share of media frames that change places with their successor. */
  reorder?: number;
  /** The time at which the socket breaks without a close frame. */
  cutAtMs?: number | undefined;
  /** The delay after the cut until a new stream of the same call begins. */
  reopenAfterMs?: number | undefined;
  noStop?: boolean;
  /** If true, the audio is sent in the other companding law than the stream declares. */
  wrongCodec?: boolean;
  seed?: number;
};

/**
 * A small random generator with a seed (mulberry32). Each run with the same seed has the same faults at the same
 * places.
 */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Sends media frames through a simulated bad line. Frames that are held back come out with later frames or at the end.
 */
export class BadLine {
  readonly #faults: Faults;
  readonly #random: () => number;
  #held: Frame | undefined;
  dropped = 0;
  reordered = 0;

  constructor(faults: Faults) {
    this.#faults = faults;
    this.#random = randomFrom(faults.seed ?? 1);
  }

  pass(frames: readonly Frame[]): Frame[] {
    return frames.flatMap((frame) => this.#one(frame));
  }

  flush(): Frame[] {
    const held = this.#held;
    this.#held = undefined;
    return held === undefined ? [] : [held];
  }

  #one(frame: Frame): Frame[] {
    const { drop = 0, reorder = 0 } = this.#faults;
    if (drop > 0 && this.#random() < drop) {
      this.dropped++;
      return [];
    }
    if (this.#held !== undefined) return [frame, ...this.flush()];
    if (reorder > 0 && this.#random() < reorder) {
      this.reordered++;
      this.#held = frame;
      return [];
    }
    return [frame];
  }
}
