import type { Frame } from './dialogue.ts';

/** Faults of a bad line, all off by default. */
export type Faults = {
  /** Share of media frames that never arrive, 0 to 1. */
  drop?: number;
  /** Share of media frames that change places with their successor. */
  reorder?: number;
  /** The socket breaks here, without a close frame. */
  cutAtMs?: number;
  /** Delay after the cut until a new stream of the same call begins. */
  reopenAfterMs?: number;
  noStop?: boolean;
  /** True sends bytes of the other companding law than the stream declares. */
  wrongCodec?: boolean;
  seed?: number;
};

/** A small generator with a seed (mulberry32): the same faults in the same places, run after run. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Sends media frames through a simulated bad line. Held frames come out with the next frames or at the end. */
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
