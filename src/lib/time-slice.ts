/** Long work on the thread that moves audio, cut into slices: between two of them everybody else has a turn. */
export class TimeSlice {
  readonly #ms: number;
  #sinceMs = performance.now();

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Called after each step of the work. Lets others go first once the slice is used up. */
  async stepped(): Promise<void> {
    if (performance.now() - this.#sinceMs < this.#ms) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#sinceMs = performance.now();
  }
}
