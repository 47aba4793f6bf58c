import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { SeldomLog } from '../port/seldom-log.ts';

export type Refused = {
  carrier: string;
  reason: string;
  status?: number;
  /** The last part of a webhook's path. */
  webhook?: string;
};

export type LastRefused = { atMs: number; reason: string };

const reasonsAtMost = 32;

/** Writes one line for each reason in ten seconds, and then how many refusals there were. */
export class RefusalLog {
  readonly #clock: Clock;
  readonly #told: SeldomLog;
  readonly #last = new Map<string, LastRefused>();

  constructor({ log, clock }: { log: Logger; clock: Clock }) {
    this.#clock = clock;
    this.#told = new SeldomLog({ log, clock });
  }

  /** The last refusal of each carrier since the start of the process. */
  get last(): ReadonlyMap<string, LastRefused> {
    return this.#last;
  }

  /** `what` is the constant text of the line. */
  note(what: string, refused: Refused): void {
    const { carrier, reason, webhook } = refused;
    this.#last.set(carrier, { atMs: this.#clock.now(), reason });
    // A reason may hold a number, and strangers must not get a line for each number.
    const told = this.#told.size < reasonsAtMost ? [webhook, reason] : [];
    this.#told.note([what, carrier, ...told].join(' '), {
      level: 'warn',
      message: what,
      fields: refused,
    });
  }

  tick(): void {
    this.#told.tick();
  }
}
