import type { Clock } from './clock.ts';

/** Work that is repeated until it is stopped. Disposing stops it. */
export type Loop = AsyncDisposable & {
  /** Ends the pause now, or after `inMs`. If the work is under way, it is repeated when it ends, unless it fails. */
  wake(inMs?: number): void;
  /** Starts no more work. Resolves when the current work has ended. */
  stop(): Promise<void>;
};

/** The result of the work: undefined for the usual pause, a number for another pause, or the end of the loop. */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- work that ends without a word answers void
export type Next = void | 'over' | { inMs: number };

type LoopOptions = {
  /** The pause before the first time. The usual pause by default. */
  firstMs?: number;
  /**
   * Called with an error of the work, and the loop continues. Without this function an error is a bug and ends the
   * process.
   */
  failed?: (error: unknown) => Next;
};

/**
 * Does the work, pauses, and repeats this until it is stopped. Two runs never overlap, however long one takes. Work
 * that returns no promise is over at once. A pause of `Infinity` lasts until `wake` is called.
 */
export function every(
  clock: Clock,
  ms: number,
  work: () => Next | Promise<Next>,
  options: LoopOptions = {},
): Loop {
  return new PausingLoop(clock, ms, work, options);
}

class PausingLoop implements Loop {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #work: () => Next | Promise<Next>;
  readonly #failed: ((error: unknown) => Next) | undefined;
  #cancel: () => void = () => undefined;
  #isAtWork = false;
  #wokenInMs: number | undefined;
  #isStopped = false;
  #round: Promise<void> = Promise.resolve();

  constructor(clock: Clock, ms: number, work: () => Next | Promise<Next>, options: LoopOptions) {
    this.#clock = clock;
    this.#ms = ms;
    this.#work = work;
    this.#failed = options.failed;
    this.#pause(options.firstMs ?? ms);
  }

  wake(inMs = 0): void {
    if (this.#isAtWork) this.#wokenInMs = inMs;
    else this.#pause(inMs);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    return this.#round;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #pause(ms: number): void {
    this.#cancel();
    if (this.#isStopped || ms === Infinity) return;
    this.#cancel = this.#clock.after(ms, () => this.#begin());
  }

  #begin(): void {
    this.#isAtWork = true;
    this.#wokenInMs = undefined;
    try {
      const answer = this.#work();
      if (!(answer instanceof Promise)) return this.#ended(answer);
      this.#round = answer.then(
        (next) => this.#ended(next),
        (error: unknown) => this.#broke(error),
      );
    } catch (error) {
      this.#broke(error);
    }
  }

  #broke(error: unknown): void {
    if (!this.#failed) throw error;
    this.#wokenInMs = undefined;
    this.#ended(this.#failed(error));
  }

  #ended(next: Next): void {
    this.#isAtWork = false;
    if (next === 'over') this.#isStopped = true;
    this.#pause(this.#wokenInMs ?? (typeof next === 'object' ? next.inMs : this.#ms));
  }
}
