import type { Clock } from './clock.ts';
import { every, type Loop } from './every.ts';

/*
 * The engine for work that waits in a table: deliveries of the outbox, callbacks of jobs and of live sessions, and the
 * jobs themselves.
 *
 *   due ─claim─▶ attempt ─▶ delivered
 *    ▲              │
 *    └─ retry at ───┴─────▶ parked, with the reason
 *
 * The tables differ in rows, leases and schedules, so each brings its own statements. The engine decides the order of
 * the steps: when work is claimed, what follows an attempt, and which work is still running at a stop.
 */

/** A table of waiting work, with the functions that claim and do it. */
export type ClaimTable<Claim> = {
  /**
   * Claims due work under a lease and passes it to `begin`, as far as there is room. Returns true to look again at
   * once.
   */
  claim(begin: (claim: Claim) => void): Promise<boolean>;
  /** Works on a claim to its end. Returns true to look at the table again. An error affects this claim only. */
  work(claim: Claim): Promise<boolean>;
};

type ClaimsOptions<Claim> = {
  table: ClaimTable<Claim>;
  clock: Clock;
  /**
   * The table is checked this often, because no message tells when the lease of a dead process ends or what another
   * node left.
   */
  lookMs: number;
  /** Called if the table cannot be read. The next look tries again. */
  unreadable: (error: unknown) => void;
  /** Called if the work on a claim failed. Its lease expires, and the next holder continues. */
  brokeOff: (error: unknown, claim: Claim) => void;
};

/**
 * Claims due work and lets it be done, many claims at once. A look requested during another look follows it, so work
 * never waits for the next periodic look because of bad timing.
 */
export class Claims<Claim> {
  readonly #options: ClaimsOptions<Claim>;
  readonly #working = new Set<Promise<void>>();
  #round: Promise<void> | undefined;
  #isAsked = false;
  #looks: Loop | undefined;
  #isStopped = false;
  /** The number of consecutive looks that failed. */
  failures = 0;

  constructor(options: ClaimsOptions<Claim>) {
    this.#options = options;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The number of claims at work. */
  get size(): number {
    return this.#working.size;
  }

  start(): void {
    this.wake();
    this.#looks = every(this.#options.clock, this.#options.lookMs, () => this.wake());
  }

  /** Looks at once, because something may be due. During a look it requests another one. */
  wake(): void {
    if (this.#isStopped) return;
    this.#isAsked = true;
    this.#round ??= this.#rounds().finally(() => {
      this.#round = undefined;
      // `wake` was called between the last look and this line.
      if (this.#isAsked && this.failures === 0) this.wake();
    });
  }

  /** Stops claiming. Resolves when all claimed work has ended, which the caller bounds. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    void this.#looks?.stop();
    while (this.#round !== undefined || this.#working.size > 0)
      await Promise.all([this.#round, ...this.#working]);
  }

  async #rounds(): Promise<void> {
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false;
      try {
        const isMore = await this.#options.table.claim((claim) => this.#begin(claim));
        this.#isAsked ||= isMore;
        this.failures = 0;
      } catch (error) {
        this.failures++;
        this.#options.unreadable(error);
        return;
      }
    }
  }

  #begin(claim: Claim): void {
    const working = this.#options.table
      .work(claim)
      .catch((error: unknown) => {
        this.#options.brokeOff(error, claim);
        return true; // the claim's place is free
      })
      .then((isDue) => {
        this.#working.delete(working);
        if (isDue) this.wake();
      });
    this.#working.add(working);
  }
}

/** The decision after an attempt. `retryAt` is a time by the clock of the table. */
export type Fate = 'delivered' | { retryAt: number } | { park: string };

/**
 * Items that one holder delivers in order. Each of the last three functions returns whether the holder continues with
 * the lane.
 */
export type DeliveryLane<Item, Attempt extends { fate: Fate }> = {
  /** The first item of the lane, or undefined if the holder gives the lane up. */
  next(): Promise<Item | undefined>;
  /** Tries once, with a deadline, and decides what follows. Undefined if another holder has taken the lane. */
  attempt(item: Item): Promise<Attempt | undefined>;
  delivered(item: Item, attempt: Attempt): Promise<boolean>;
  retry(item: Item, attempt: Attempt, at: number): Promise<boolean>;
  park(item: Item, attempt: Attempt, reason: string): Promise<boolean>;
};

/** Delivers a claimed lane until it is empty, must wait, is lost or is given up. */
export async function deliver<Item, Attempt extends { fate: Fate }>(
  lane: DeliveryLane<Item, Attempt>,
): Promise<void> {
  for (let goesOn = true; goesOn;) {
    const item = await lane.next();
    if (item === undefined) return;
    const attempt = await lane.attempt(item);
    if (attempt === undefined) return;
    const { fate } = attempt;
    if (fate === 'delivered') goesOn = await lane.delivered(item, attempt);
    else if ('park' in fate) goesOn = await lane.park(item, attempt, fate.park);
    else goesOn = await lane.retry(item, attempt, fate.retryAt);
  }
}
