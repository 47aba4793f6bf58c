import type { Clock } from '../lib/clock.ts';
import { backOffMs } from './back-off.ts';

export type GateCause = 'unreachable' | 'busy' | 'unauthorized';

/** A leg that waits for its turn to ask. */
type WaitingLeg = { sinceMs: number; admit: (admitted: boolean) => void };

/** At most this many sessions are being created at once, in good times. */
export const maxCreatingAtOnce = 16;

const bounds = {
  unreachable: { firstMs: 250, maxMs: 10_000 },
  busy: { firstMs: 1_000, maxMs: 30_000 },
  // A wrong key does not become right by asking: five hundred legs together ask twice a minute.
  unauthorized: { firstMs: 15_000, maxMs: 30_000 },
} satisfies Record<GateCause, { firstMs: number; maxMs: number }>;

/**
 * Who may ask the service for a session, and when. All legs of the process share it: after a failure one
 * leg at a time asks for all, the oldest first, and a success opens the gate again.
 * The queue's bound is the number of legs; every waiting leg journals meanwhile.
 */
export class ServiceGate {
  readonly #clock: Clock;
  readonly #queue: WaitingLeg[] = [];
  #busyCount = 0;
  #closed: { cause: GateCause; untilMs: number; attempts: number } | undefined;
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why only one leg at a time may ask, if so. */
  get cause(): GateCause | undefined {
    return this.#closed?.cause;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Waits for this leg's turn; false when the signal ended the wait. Every `true` is owed one `settle`. */
  async enter(sinceMs: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    return await new Promise((resolve) => {
      const entry: WaitingLeg = {
        sinceMs,
        admit: (admitted) => {
          signal.removeEventListener('abort', abort);
          resolve(admitted);
        },
      };
      const abort = (): void => {
        const at = this.#queue.indexOf(entry);
        if (at >= 0) this.#queue.splice(at, 1);
        entry.admit(false);
      };
      signal.addEventListener('abort', abort);
      const younger = this.#queue.findIndex((other) => other.sinceMs > sinceMs);
      this.#queue.splice(younger < 0 ? this.#queue.length : younger, 0, entry);
      this.#admitNext();
    });
  }

  /** The outcome of an admitted attempt; `waitMs`: the service's own word on when to come back. */
  settle(result: 'created' | 'other' | GateCause, waitMs?: number): void {
    this.#busyCount--;
    if (result === 'created' || result === 'other') {
      // Any real answer shows that the service is there and knows us.
      this.#closed = undefined;
    } else {
      const attempts = this.#closed?.cause === result ? this.#closed.attempts + 1 : 0;
      const delay = waitMs ?? backOffMs(attempts, bounds[result]);
      this.#closed = { cause: result, untilMs: this.#clock.monotonicMs() + delay, attempts };
    }
    this.#admitNext();
  }

  /** An admitted attempt that was given up before it had an answer. */
  leave(): void {
    this.#busyCount--;
    this.#admitNext();
  }

  #admitNext(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    const room = this.#closed ? 1 : maxCreatingAtOnce;
    while (this.#queue.length > 0 && this.#busyCount < room) {
      const waitMs = this.#closed ? this.#closed.untilMs - this.#clock.monotonicMs() : 0;
      if (waitMs > 0) {
        this.#stopTimer = this.#clock.after(waitMs, () => this.#admitNext());
        return;
      }
      this.#busyCount++;
      this.#queue.shift()?.admit(true);
    }
  }
}
