import type { Clock } from '../lib/clock.ts';
import { every, type Loop, type Next } from '../lib/every.ts';

const tickMs = 20;
/** All legs together: audio that waited in journals must not crowd out the legs that are live. */
export const maxCatchUpBytesPerTick = 327_680;

/** A session with audio that waits to be sent. */
export type SessionBehind = {
  /** Sends up to so many waiting bytes; answers how many it sent, `caughtUp` when nothing waits any more. */
  catchUp(maxBytes: number): { sent: number; caughtUp: boolean };
  /** The leg may send this much in one second of catching up. */
  readonly catchUpBytesPerSecond: number;
};

/** Hands out turns to the sessions that have audio waiting. Idle, without a timer, while none has. */
export class CatchUp {
  readonly #clock: Clock;
  readonly #behind = new Set<SessionBehind>();
  #turns: Loop | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#behind.size;
  }

  add(session: SessionBehind): void {
    this.#behind.add(session);
    this.#turns ??= every(this.#clock, tickMs, () => this.#tick());
  }

  remove(session: SessionBehind): void {
    this.#behind.delete(session);
  }

  #tick(): Next {
    let budget = maxCatchUpBytesPerTick;
    for (const session of [...this.#behind]) {
      if (budget <= 0) break;
      const share = Math.ceil((session.catchUpBytesPerSecond * tickMs) / 1_000);
      // A session that had a turn goes to the end, so that a short budget reaches every session in time.
      this.#behind.delete(session);
      const { sent, caughtUp } = session.catchUp(Math.min(budget, share));
      budget -= sent;
      if (!caughtUp) this.#behind.add(session);
    }
    if (this.#behind.size > 0) return;
    this.#turns = undefined;
    return 'over';
  }
}
