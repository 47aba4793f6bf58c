import type { Clock } from './clock.ts';

const settlesInMs = 3_600_000;
/** Two clocks that are never set drift by less than that between two looks. */
const driftMs = 60_000;

/**
 * The time for whoever deletes what is old. A wrong time server, or a battery that is flat, sets a clock ahead by years:
 * everything would be old at once, and is not there again when the clock is right again. So a clock that was set ahead
 * counts only once it has stood there for an hour; one that was set back counts at once. What a clock says when the
 * process starts is believed: there is nothing to compare it with.
 */
export class SettledTime {
  readonly #clock: Clock;
  /** By how much the wall clock is ahead of the monotonic one, as far as it is believed. */
  #aheadMs: number;
  /** The least by which it was ahead since then. */
  #unsettled: { aheadMs: number; sinceMs: number } | undefined;

  /** `wallMs` is given where it is another clock than this machine's: a database's. */
  constructor(clock: Clock, wallMs = clock.now()) {
    this.#clock = clock;
    this.#aheadMs = wallMs - clock.monotonicMs();
  }

  now(wallMs = this.#clock.now()): number {
    const monotonicMs = this.#clock.monotonicMs();
    const aheadMs = wallMs - monotonicMs;
    if (aheadMs - this.#aheadMs <= driftMs) {
      this.#aheadMs = aheadMs;
      this.#unsettled = undefined;
    } else {
      const { sinceMs, aheadMs: leastMs } = (this.#unsettled ??= { aheadMs, sinceMs: monotonicMs });
      this.#unsettled.aheadMs = Math.min(leastMs, aheadMs);
      if (monotonicMs - sinceMs >= settlesInMs) {
        this.#aheadMs = this.#unsettled.aheadMs;
        this.#unsettled = undefined;
      }
    }
    return Math.floor(monotonicMs + this.#aheadMs);
  }
}
