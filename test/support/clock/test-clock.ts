import { systemClock, type Clock } from '../../../src/lib/clock.ts';

/**
 * The one clock of the tests. Its speed relates its own time to the machine's: at 0 it stands still until a test passes
 * time, at 1 it keeps the machine's pace and can be moved ahead, and at 20 a deadline of ten seconds comes after half a
 * second. A wait ends when its time has passed, either way.
 */
export class TestClock implements Clock {
  readonly #speed: number;
  readonly #waits = new Set<{ atMs: number; stop: () => void; run: () => void }>();
  #passedMs = 0;
  #wallAheadMs = 0;

  constructor(speed: number) {
    this.#speed = speed;
  }

  /** The wall clock. It keeps the machine's pace, however fast the other clock runs, and returns whole milliseconds. */
  now(): number {
    const systemMs = this.#speed === 0 ? 0 : systemClock.now();
    return Math.floor(systemMs + this.#passedMs + this.#wallAheadMs);
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() * this.#speed + this.#passedMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const end = (): void => {
      this.#waits.delete(wait);
      run();
    };
    const stop =
      this.#speed === 0 ? () => undefined : systemClock.after(delayMs / this.#speed, end);
    const wait = { atMs: this.monotonicMs() + delayMs, stop, run: end };
    this.#waits.add(wait);
    return () => {
      stop();
      this.#waits.delete(wait);
    };
  }

  /** Moves only the wall clock, as an operator or a time server does. No wait notices it. */
  setWallAhead(ms: number): void {
    this.#wallAheadMs = ms;
  }

  /** Lets time pass at once. Due timers run in order, and each may continue its work before the next. */
  async pass(ms: number): Promise<void> {
    const endMs = this.monotonicMs() + ms;
    for (;;) {
      const next = [...this.#waits]
        .filter(({ atMs }) => atMs <= endMs)
        .sort((one, other) => one.atMs - other.atMs)[0];
      if (!next) break;
      this.#passedMs += Math.max(0, next.atMs - this.monotonicMs());
      next.stop();
      next.run();
      await Promise.resolve();
    }
    this.#passedMs += Math.max(0, endMs - this.monotonicMs());
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  }
}

/** A clock that stands until a test moves `nowMs`; nothing is ever due on it. */
export function movedClock(): Clock & { nowMs: number } {
  return {
    nowMs: 1_000_000,
    now() {
      return this.nowMs;
    },
    monotonicMs() {
      return this.nowMs;
    },
    after: () => () => undefined,
  };
}
