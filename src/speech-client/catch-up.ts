import type { Clock } from '../lib/clock.ts';
import { every, type Loop, type Next } from '../lib/every.ts';

const tickMs = 20;
/** The limit for all legs together: audio that waited in journals must not crowd out live legs. */
export const maxCatchUpBytesPerTick = 327_680;

/** A session with audio that waits to be sent. */
export type SessionBehind = {
  /** Sends up to `maxBytes` waiting bytes and returns their number. `caughtUp` means that nothing waits any more. */
  catchUp(maxBytes: number): { sent: number; caughtUp: boolean };
  /** The number of bytes that the leg may send per second of catching up. */
  readonly catchUpBytesPerSecond: number;
};

/** Serves the sessions with waiting audio in rotation. It has no timer while there are none. */
export class CatchUp {
  readonly #clock: Clock;
  readonly #behind = new Set<SessionBehind>();
  #ticks: Loop | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#behind.size;
  }

  add(session: SessionBehind): void {
    this.#behind.add(session);
    this.#ticks ??= every(this.#clock, tickMs, () => this.#tick());
  }

  remove(session: SessionBehind): void {
    this.#behind.delete(session);
  }

  #tick(): Next {
    let budget = maxCatchUpBytesPerTick;
    for (const session of [...this.#behind]) {
      if (budget <= 0) break;
      const share = Math.ceil((session.catchUpBytesPerSecond * tickMs) / 1_000);
      // A served session goes to the end, so that a small budget reaches every session in time.
      this.#behind.delete(session);
      const { sent, caughtUp } = session.catchUp(Math.min(budget, share));
      budget -= sent;
      if (!caughtUp) this.#behind.add(session);
    }
    if (this.#behind.size > 0) return;
    this.#ticks = undefined;
    return 'over';
  }
}
