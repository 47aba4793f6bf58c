import type { NonceMemory } from './carrier.ts';

/** Only a request whose signature was right gets here, so a stranger cannot push others out. */
const noncesAtMost = 100_000;

/** Nonces of signed requests, each good once until it expires; the oldest go first when it is full. */
export class RecentNonces implements NonceMemory {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  remember(scheme: string, nonce: string, untilMs: number): boolean {
    this.#forgetExpired();
    const key = `${scheme} ${nonce}`;
    if (this.#until.has(key)) return false;
    this.#until.set(key, untilMs);
    return true;
  }

  get size(): number {
    return this.#until.size;
  }

  /** Insertion order is nearly order of expiry: a few looks at the front keep the memory small. */
  #forgetExpired(): void {
    const now = this.#now();
    for (const [key, untilMs] of this.#until) {
      if (untilMs > now && this.#until.size < noncesAtMost) return;
      this.#until.delete(key);
    }
  }
}
