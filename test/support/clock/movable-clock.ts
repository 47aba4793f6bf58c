import { systemClock, type Clock } from '../../../src/lib/clock.ts';

/** The machine's clock, with a hand to move it forward: deadlines are tried without waiting for them. */
export class MovableClock implements Clock {
  #aheadMs = 0;

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }
  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#aheadMs;
  }
  after(delayMs: number, run: () => void): () => void {
    return systemClock.after(delayMs, run);
  }
  forward(ms: number): void {
    this.#aheadMs += ms;
  }
}
