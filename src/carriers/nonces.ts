import type { NonceMemory } from './carrier.ts';

/** Only a request whose signature was right gets here, so a stranger cannot push others out. */
const noncesAtMost = 100_000;

/** Nonces of signed requests, each good once until it expires; the oldest go first when it is full. */
export class RecentNonces implements NonceMemory {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;
  #nextSweepMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  remember(scheme: string, nonce: string, untilMs: number): boolean {
    this.#makeRoom();
    const key = `${scheme} ${nonce}`;
    if ((this.#until.get(key) ?? -Infinity) > this.#now()) return false;
    this.#until.set(key, untilMs);
    return true;
  }

  get size(): number {
    return this.#until.size;
  }

  /** Once a second, or when it is full: then the oldest tenth makes room for the next ones. */
  #makeRoom(): void {
    const now = this.#now();
    const isFull = this.#until.size >= noncesAtMost;
    if (now < this.#nextSweepMs && !isFull) return;
    this.#nextSweepMs = now + 1_000;
    for (const [key, untilMs] of this.#until) if (untilMs <= now) this.#until.delete(key);
    let spare = this.#until.size >= noncesAtMost ? noncesAtMost / 10 : 0;
    for (const key of this.#until.keys()) {
      if (spare-- <= 0) return;
      this.#until.delete(key);
    }
  }
}
