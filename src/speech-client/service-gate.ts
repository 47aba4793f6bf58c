import type { Clock } from '../lib/clock.ts';
import { backOffMs } from './back-off.ts';

export type GateCause = 'unreachable' | 'busy' | 'unauthorized';

/** A leg that waits for permission to ask. */
type WaitingLeg = { sinceMs: number; admit: (admitted: boolean) => void };

/** At most this many sessions are created at the same time when all is well. */
export const maxCreatingAtOnce = 16;

const bounds = {
  unreachable: { firstMs: 250, maxMs: 10_000 },
  busy: { firstMs: 1_000, maxMs: 30_000 },
  // Asking does not make a wrong key right. Five hundred legs together ask twice a minute.
  unauthorized: { firstMs: 15_000, maxMs: 30_000 },
} satisfies Record<GateCause, { firstMs: number; maxMs: number }>;

/**
 * Decides when a leg may ask the service for a session. All legs of the process share it. After a failure one leg at a
 * time asks for all, the oldest first, and a success opens the gate again. The queue is bounded by the number of legs;
 * every waiting leg writes its journal meanwhile.
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

  /** The reason why only one leg at a time may ask, if there is one. */
  get cause(): GateCause | undefined {
    return this.#closed?.cause;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Waits for permission to ask. Returns false if the signal ended the wait. Every `true` must be followed by one
   * `settle`.
   */
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

  /** Reports the outcome of a permitted attempt. `waitMs` is the service's own waiting time. */
  settle(result: 'created' | 'other' | GateCause, waitMs?: number): void {
    this.#busyCount--;
    if (result === 'created' || result === 'other') {
      // Any real answer shows that the service is there and accepts our key.
      this.#closed = undefined;
    } else {
      const attempts = this.#closed?.cause === result ? this.#closed.attempts + 1 : 0;
      const delay = waitMs ?? backOffMs(attempts, bounds[result]);
      this.#closed = { cause: result, untilMs: this.#clock.monotonicMs() + delay, attempts };
    }
    this.#admitNext();
  }

  /** Ends a permitted attempt that was abandoned before its answer. */
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
