import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

export type Refused = {
  carrier: string;
  reason: string;
  status?: number;
  /** The last part of a webhook's path. */
  webhook?: string;
};

export type LastRefused = { atMs: number; reason: string };

const reasonsAtMost = 32;
const tellEveryMs = 10_000;

/** A flood of refusals is one line a reason every ten seconds, and then how many there were. */
export class RefusalLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #seen = new Map<
    string,
    { what: string; refused: Refused; count: number; sinceMs: number }
  >();

  readonly #last = new Map<string, LastRefused>();

  constructor({ log, clock }: { log: Logger; clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  /** By carrier, since the start of the process. */
  get last(): ReadonlyMap<string, LastRefused> {
    return this.#last;
  }

  /** `what` is the constant text of the line. */
  note(what: string, refused: Refused): void {
    const { carrier, reason, webhook } = refused;
    this.#last.set(carrier, { atMs: this.#clock.now(), reason });
    // A reason may hold a number: strangers must not make a line of each.
    const key = [what, carrier, ...(this.#seen.size < reasonsAtMost ? [webhook, reason] : [])].join(
      ' ',
    );
    const known = this.#seen.get(key);
    if (known) {
      known.count++;
      return;
    }
    this.#seen.set(key, { what, refused, count: 0, sinceMs: this.#clock.monotonicMs() });
    this.#log.warn(refused, what);
  }

  tick(): void {
    const now = this.#clock.monotonicMs();
    for (const [key, { what, refused, count, sinceMs }] of this.#seen) {
      if (now - sinceMs < tellEveryMs) continue;
      this.#seen.delete(key);
      if (count > 0) this.#log.warn({ ...refused, count }, `${what}, again`);
    }
  }
}
