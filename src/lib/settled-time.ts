import type { Clock } from './clock.ts';

const settlesInMs = 3_600_000;
/** Two clocks that nobody sets drift apart by less than this between two checks. */
const driftMs = 60_000;

/**
 * The time for code that deletes old data. A wrong time server or an empty battery may set a clock ahead by years:
 * everything would look old at once, and deleted data does not come back. A clock that was set ahead therefore counts
 * only after an hour, and one that was set back counts at once. The first time of a process is believed, because there
 * is nothing to compare it with.
 */
export class SettledTime {
  readonly #clock: Clock;
  /** The lead of the wall clock over the monotonic one, as far as it is believed. */
  #aheadMs: number;
  /** The smallest lead since that moment. */
  #unsettled: { aheadMs: number; sinceMs: number } | undefined;

  /** `wallMs` is given if the time comes from another clock, such as a database's. */
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
