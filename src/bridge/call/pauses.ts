import type { Clock } from '../../lib/clock.ts';
import type { CallLeg } from './call-leg.ts';
import type { CallEvents } from '../events/call-events.ts';
import type { StreamControl } from '../streams.ts';

/**
 * `consent`: somebody on the call withdrew their consent. This pause is never ended. `rule`: a rule of a playbook
 * paused the call for some seconds.
 */
export type Pauser = 'operator' | 'carrier' | 'consent' | 'rule';

type PausesOptions = {
  clock: Clock;
  nowS: () => number;
  legs: () => readonly CallLeg[];
  streams: () => readonly { readonly control: StreamControl }[];
  events: CallEvents;
  keepPace: (leg: CallLeg) => void;
  discarded: (leg: CallLeg, lengthS: number) => void;
};

const bits: Record<Pauser, number> = { operator: 1, carrier: 2, consent: 4, rule: 8 };
/** A process that takes up a call which a rule had paused does not know for how long. It resumes after this time. */
const ruleAfterRestartS = 30;

/**
 * Keeps track of who pauses a call: an operator, the carrier, or a withdrawn consent. The audio stops within the same
 * turn of the event loop. The row is written afterwards and preserves the pause through a crash.
 */
export class Pauses {
  readonly #options: PausesOptions;
  readonly #heldBy = new Set<Pauser>();
  #pausedAt = 0;
  #stopRule: (() => void) | undefined;

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
    for (const pauser of ['operator', 'carrier', 'consent', 'rule'] as const)
      if (heldBy & bits[pauser]) this.#heldBy.add(pauser);
    this.#pausedAt = pausedAt;
    if (this.#heldBy.has('rule')) this.#resumeRuleAfter(ruleAfterRestartS);
  }

  /** Pauses the call because a rule says so. Another rule meanwhile makes the pause longer. */
  pauseForRule(seconds: number): Promise<void> {
    this.#resumeRuleAfter(seconds);
    return this.pause('rule');
  }

  /** Forgets the timer of a rule's pause: the call is over or was left. */
  close(): void {
    this.#stopRule?.();
  }

  #resumeRuleAfter(seconds: number): void {
    this.#stopRule?.();
    this.#stopRule = this.#options.clock.after(seconds * 1_000, () => void this.resume('rule'));
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
    // A person who resumes the call ends the pause of a rule too.
    const isRuleOver = by === 'operator' && this.#heldBy.delete('rule');
    if (!this.#heldBy.delete(by) && !isRuleOver) return;
    if (by !== 'carrier') this.#stopRule?.();
    const { clock, legs, streams, nowS, keepPace, discarded } = this.#options;
    const isLast = this.#heldBy.size === 0;
    for (const leg of legs()) {
      // If the carrier sent nothing during its pause, silence takes the place of that audio. Its length is the one that
      // the carrier gives by its media clock, or else the length that keeps the leg on the call's clock.
      if (discardedS > 0) discarded(leg, discardedS);
      else if (isLast) keepPace(leg);
      if (isLast) leg.audio.resume();
    }
    const isOurs = by === 'operator' || (by === 'rule' && !this.#heldBy.has('operator') && !this.#heldBy.has('consent')); // prettier-ignore
    if (isOurs) for (const stream of streams()) stream.control.resume();
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
