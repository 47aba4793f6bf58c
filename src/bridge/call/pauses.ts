import type { Clock } from '../../lib/clock.ts';
import type { CallLeg } from './call-leg.ts';
import type { CallEvents } from '../events/call-events.ts';
import type { StreamControl } from '../streams.ts';

/** `consent`: somebody on the call withdrew their consent. This pause is never ended. */
export type Pauser = 'operator' | 'carrier' | 'consent';

type PausesOptions = {
  clock: Clock;
  nowS: () => number;
  legs: () => readonly CallLeg[];
  streams: () => readonly { readonly control: StreamControl }[];
  events: CallEvents;
  keepPace: (leg: CallLeg) => void;
  discarded: (leg: CallLeg, lengthS: number) => void;
};

const bits: Record<Pauser, number> = { operator: 1, carrier: 2, consent: 4 };

/**
 * Keeps track of who pauses a call: an operator, the carrier, or a withdrawn consent. The audio stops within the same
 * turn of the event loop. The row is written afterwards and preserves the pause through a crash.
 */
export class Pauses {
  readonly #options: PausesOptions;
  readonly #heldBy = new Set<Pauser>();
  #pausedAt = 0;

  constructor(options: PausesOptions) {
    this.#options = options;
  }

  get isPaused(): boolean {
    return this.#heldBy.size > 0;
  }

  isHeldBy(pauser: Pauser): boolean {
    return this.#heldBy.has(pauser);
  }

  restore(heldBy: number, pausedAt: number): void {
    for (const pauser of ['operator', 'carrier', 'consent'] as const)
      if (heldBy & bits[pauser]) this.#heldBy.add(pauser);
    this.#pausedAt = pausedAt;
  }

  /**
   * Pauses the call and resolves when the pause is durable. An operator who got the answer can rely on the pause even
   * after a crash.
   */
  async pause(by: Pauser): Promise<void> {
    if (this.#heldBy.has(by)) return;
    const { clock, legs, streams, nowS } = this.#options;
    const isFirst = this.#heldBy.size === 0;
    this.#heldBy.add(by);
    if (isFirst) {
      this.#pausedAt = clock.now();
      for (const leg of legs()) leg.audio.pause();
    }
    if (by !== 'carrier') for (const stream of streams()) stream.control.pause();
    // A withdrawn consent is reported even if the call is already paused.
    const isTold = isFirst || by === 'consent';
    await this.#commit(isTold ? { type: 'call.paused', data: { at: nowS(), by } } : undefined);
  }

  /** `discardedS`: seconds of audio that the carrier discarded during its pause, if the carrier gives them. */
  async resume(by: Exclude<Pauser, 'consent'>, discardedS = 0): Promise<void> {
    if (!this.#heldBy.delete(by)) return;
    const { clock, legs, streams, nowS, keepPace, discarded } = this.#options;
    const isLast = this.#heldBy.size === 0;
    for (const leg of legs()) {
      // If the carrier sent nothing during its pause, silence takes the place of that audio. Its length is the one that
      // the carrier gives by its media clock, or else the length that keeps the leg on the call's clock.
      if (discardedS > 0) discarded(leg, discardedS);
      else if (isLast) keepPace(leg);
      if (isLast) leg.audio.resume();
    }
    if (by === 'operator') for (const stream of streams()) stream.control.resume();
    const duration = Math.max(0, clock.now() - this.#pausedAt) / 1_000;
    await this.#commit(
      isLast ? { type: 'call.resumed', data: { at: nowS(), by, duration } } : undefined,
    );
  }

  async #commit(said: Parameters<CallEvents['pauseChanged']>[2]): Promise<void> {
    const { events } = this.#options;
    let heldBy = 0;
    for (const pauser of this.#heldBy) heldBy |= bits[pauser];
    await events.pauseChanged(heldBy, this.#pausedAt, said);
    events.changed();
  }
}
