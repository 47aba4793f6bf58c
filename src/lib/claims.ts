import type { Clock } from './clock.ts';
import { every, type Loop } from './every.ts';

/*
 * The engine of everything that waits in a table until it is done: deliveries of the outbox, callbacks of jobs and of
 * live sessions, and the jobs themselves.
 *
 *   due ─claim─▶ attempt ─▶ delivered
 *    ▲              │
 *    └─ retry at ───┴─────▶ parked, with the reason
 *
 * The tables differ in rows, leases and schedules, so each brings its own statements. The engine holds the order of the
 * steps: what is claimed when, what follows on an attempt, and what is still under way at a stop.
 */

/** The place where work waits, and what is done with a piece of it. */
export type ClaimTable<Claim> = {
  /** Takes what is due under a lease and gives it to `begin`, as much as there is room for. True: look once more. */
  claim(begin: (claim: Claim) => void): Promise<boolean>;
  /** Works on the claim to its end. True: look at the table again. An error belongs to this claim alone. */
  work(claim: Claim): Promise<boolean>;
};

type ClaimsOptions<Claim> = {
  table: ClaimTable<Claim>;
  clock: Clock;
  /** Nobody says when a lease of a dead process ends, or what another node leaves: the table is looked at this often. */
  lookMs: number;
  /** The table cannot be read: the next look tries again. */
  unreadable: (error: unknown) => void;
  /** The lease of this claim ends by itself, and the next holder goes on. */
  brokeOff: (error: unknown, claim: Claim) => void;
};

/**
 * Claims what is due and lets it be worked on, many at once. A look that is asked for while one is under way follows it:
 * nothing waits for the next look by the clock because it came in the wrong moment.
 */
export class Claims<Claim> {
  readonly #options: ClaimsOptions<Claim>;
  readonly #working = new Set<Promise<void>>();
  #round: Promise<void> | undefined;
  #isAsked = false;
  #looks: Loop | undefined;
  #isStopped = false;
  /** Looks in a row that failed at the table. */
  failures = 0;

  constructor(options: ClaimsOptions<Claim>) {
    this.#options = options;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Claims that are worked on. */
  get size(): number {
    return this.#working.size;
  }

  start(): void {
    this.wake();
    this.#looks = every(this.#options.clock, this.#options.lookMs, () => this.wake());
  }

  /** Something may be due: looks at once, and once more when a look is under way already. */
  wake(): void {
    if (this.#isStopped) return;
    this.#isAsked = true;
    this.#round ??= this.#rounds().finally(() => {
      this.#round = undefined;
      // Woken in the moment between the last look and this line.
      if (this.#isAsked && this.failures === 0) this.wake();
    });
  }

  /** Claims nothing more. Resolves when all that is claimed has ended, which the caller bounds. */
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
        return true; // its place is free
      })
      .then((isDue) => {
        this.#working.delete(working);
        if (isDue) this.wake();
      });
    this.#working.add(working);
  }
}

/** The decision after an attempt. `retryAt` is on the clock of the lane's table. */
export type Fate = 'delivered' | { retryAt: number } | { park: string };

/** Items that one holder delivers in order. Each of the last three answers whether the holder goes on with the lane. */
export type DeliveryLane<Item, Attempt extends { fate: Fate }> = {
  /** The item at the head; undefined when the holder lets go of the lane. */
  next(): Promise<Item | undefined>;
  /** Tries once, with a deadline, and decides what follows; undefined when the lane was lost to another holder. */
  attempt(item: Item): Promise<Attempt | undefined>;
  delivered(item: Item, attempt: Attempt): Promise<boolean>;
  retry(item: Item, attempt: Attempt, at: number): Promise<boolean>;
  park(item: Item, attempt: Attempt, reason: string): Promise<boolean>;
};

/** Delivers a claimed lane until it is empty, must wait, is lost or is let go of. */
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
