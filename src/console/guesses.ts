import type { Clock } from '../lib/clock.ts';

/** Wrong keys from one address within a minute before it has to wait. */
const guessesLimit = 10;
const windowMs = 60_000;
/** Addresses remembered at once; past that everyone waits for the minute to end. */
const addressesLimit = 10_000;

/** Keys are long, but a door that takes any number of guesses invites them. */
export class Guesses {
  readonly #clock: Clock;
  #counts = new Map<string, number>();
  #startedAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds to wait, 0 when this address may try now. */
  waitS(address: string): number {
    this.#turnWindow();
    const isFull = this.#counts.size >= addressesLimit && !this.#counts.has(address);
    if (!isFull && (this.#counts.get(address) ?? 0) < guessesLimit) return 0;
    return Math.max(1, Math.ceil((this.#startedAt + windowMs - this.#clock.monotonicMs()) / 1_000));
  }

  wrong(address: string): void {
    this.#turnWindow();
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
  }

  #turnWindow(): void {
    const now = this.#clock.monotonicMs();
    if (now - this.#startedAt < windowMs) return;
    this.#startedAt = now;
    this.#counts = new Map();
  }
}
