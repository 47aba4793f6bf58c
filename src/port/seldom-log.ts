import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

const tellEveryMs = 10_000;

type SeldomLine = { level: 'warn' | 'info'; message: string; fields: Record<string, unknown> };

/**
 * Writes log lines that strangers could cause without limit. A line of each kind is written once in ten seconds, and
 * then once more with the number of lines that were held back.
 */
export class SeldomLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #seen = new Map<string, SeldomLine & { count: number; sinceMs: number }>();

  constructor({ log, clock }: { log: Logger; clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  /** The number of kinds that are remembered. If there are too many, the caller uses coarser kinds. */
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
