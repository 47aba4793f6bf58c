import { systemClock, type Clock } from '../../../src/lib/clock.ts';

/**
 * The one clock of the tests. Its speed says how its own time runs beside the machine's: 0 stands still until a
 * test passes time, 1 keeps the machine's pace and can be moved ahead of it, 20 lets a deadline of ten seconds
 * come after half a second. A wait is over when its time has passed, by running or by hand.
 */
export class TestClock implements Clock {
  readonly #speed: number;
  readonly #waits = new Set<{ atMs: number; stop: () => void; run: () => void }>();
  #passedMs = 0;
  #wallAheadMs = 0;

  constructor(speed: number) {
    this.#speed = speed;
  }

  /** The wall clock: at the machine's pace, however fast the other runs, and in whole milliseconds as it is. */
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

  /** Moves the wall clock alone, as an operator or a time server does: no wait notices. */
  setWallAhead(ms: number): void {
    this.#wallAheadMs = ms;
  }

  /** Time passes at once: what is due is done in its order, and has a turn to go on before the next. */
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
