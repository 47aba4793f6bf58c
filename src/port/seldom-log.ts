import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

const tellEveryMs = 10_000;

type SeldomLine = { level: 'warn' | 'info'; message: string; fields: Record<string, unknown> };

/**
 * Strangers decide how often such a line comes. Of the same kind one is written in ten seconds, and then one that says
 * how many there were meanwhile.
 */
export class SeldomLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #seen = new Map<string, SeldomLine & { count: number; sinceMs: number }>();

  constructor({ log, clock }: { log: Logger; clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  /** How many kinds are remembered: the caller makes the kinds coarser when there are too many. */
  get size(): number {
    return this.#seen.size;
  }

  note(kind: string, line: SeldomLine): void {
    const known = this.#seen.get(kind);
    if (known) {
      known.count++;
      return;
    }
    this.#seen.set(kind, { ...line, count: 0, sinceMs: this.#clock.monotonicMs() });
    this.#log[line.level](line.fields, line.message);
  }

  tick(): void {
    const now = this.#clock.monotonicMs();
    for (const [kind, { level, message, fields, count, sinceMs }] of this.#seen) {
      if (now - sinceMs < tellEveryMs) continue;
      this.#seen.delete(kind);
      if (count > 0) this.#log[level]({ ...fields, count }, `${message}, again`);
    }
  }
}
