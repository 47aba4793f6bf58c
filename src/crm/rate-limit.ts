import { wait, type Clock } from '../lib/clock.ts';
import type { TokenRows } from './token-rows.ts';
import type { RateLimits } from './step.ts';

/** Paces the requests to one endpoint: a bucket of this process for a second, a row for the day of all nodes. */
export class RateLimit {
  readonly #limits: RateLimits;
  readonly #clock: Clock;
  readonly #rows: TokenRows | undefined;
  readonly #endpoint: string;
  /** The earliest time for the next request. */
  #nextMs = 0;

  constructor(endpoint: string, limits: RateLimits, clock: Clock, rows: TokenRows | undefined) {
    this.#endpoint = endpoint;
    this.#limits = limits;
    this.#clock = clock;
    this.#rows = rows;
  }

  /** Waits for the turn of one request. Answers why there is none within the deadline, else undefined. */
  async place(deadlineMs: number, signal: AbortSignal): Promise<string | undefined> {
    const { perSecond, perDay } = this.#limits;
    if (perSecond !== undefined) {
      const now = this.#clock.monotonicMs();
      const at = Math.max(now, this.#nextMs);
      if (at - now >= deadlineMs) return `at most ${perSecond} requests a second may be sent`;
      this.#nextMs = at + 1_000 / perSecond;
      if (at > now) await wait(this.#clock, at - now, signal);
    }
    if (perDay === undefined || this.#rows === undefined) return undefined;
    const day = new Date(this.#clock.now()).toISOString().slice(0, 10);
    const isGiven = await this.#rows.take(this.#endpoint, day, perDay);
    return isGiven ? undefined : `the ${perDay} requests of this day (UTC) are spent`;
  }
}
