import type { Clock } from '../../lib/clock.ts';
import { type SessionState, type Wait, waitOf } from './live-state.ts';

export type SessionTimes = {
  neverConnectedMs: number;
  /** 0 lets a connected session be silent for ever. */
  idleMs: number;
  abandonedMs: number;
  /** 0 means no limit. */
  longestMs: number;
};

/**
 * The timers of a session follow its state. Restarting the idle timer at each frame would cost too much, so it checks
 * the time of the last audio when it fires.
 */
export class SessionTimers {
  readonly #times: SessionTimes;
  readonly #clock: Clock;
  readonly #onWaited: (wait: Wait) => void;
  #waitingFor: Wait | undefined;
  #cancel: () => void = () => undefined;
  #cancelLongest: () => void = () => undefined;
  #lastAudioMs = 0;

  constructor(times: SessionTimes, clock: Clock, onWaited: (wait: Wait) => void) {
    this.#times = times;
    this.#clock = clock;
    this.#onWaited = onWaited;
  }

  heardAudio(): void {
    this.#lastAudioMs = this.#clock.monotonicMs();
  }

  follow(state: SessionState): void {
    const wait = waitOf(state);
    if (wait === this.#waitingFor) return;
    this.#cancel();
    this.#waitingFor = wait;
    if (!wait) this.#cancelLongest();
    else this.#begin(wait);
  }

  /** Starts the limit of the session's length at the first audio. */
  startLongest(): void {
    const { longestMs } = this.#times;
    if (longestMs > 0)
      this.#cancelLongest = this.#clock.after(longestMs, () => this.#onWaited('longest'));
  }

  stop(): void {
    this.#cancel();
    this.#cancelLongest();
  }

  #begin(wait: Exclude<Wait, 'longest'>): void {
    const { neverConnectedMs, idleMs, abandonedMs } = this.#times;
    const limitMs = { 'never-connected': neverConnectedMs, idle: idleMs, abandoned: abandonedMs }[
      wait
    ];
    if (wait === 'idle' && limitMs === 0) return;
    const sinceMs = this.#clock.monotonicMs();
    const look = (): void => {
      const lastMs = wait === 'idle' ? Math.max(sinceMs, this.#lastAudioMs) : sinceMs;
      const leftMs = lastMs + limitMs - this.#clock.monotonicMs();
      if (leftMs > 1) this.#cancel = this.#clock.after(leftMs, look);
      else this.#onWaited(wait);
    };
    this.#cancel = this.#clock.after(limitMs, look);
  }
}
