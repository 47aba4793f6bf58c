import type { LoadLevel } from './engine.ts';
import type { ChildLoad } from './messages.ts';

/** How hard a recogniser process works. Time comes in from outside. */
export class LoadMeter {
  #workedMs = 0;
  #sinceMs = 0;
  #busy = 0;

  worked(ms: number): void {
    this.#workedMs += ms;
  }

  level(nowMs: number, waitingSinceMs: number | undefined): LoadLevel {
    return {
      busy: this.#busy,
      latenessMs: waitingSinceMs === undefined ? 0 : nowMs - waitingSinceMs,
    };
  }

  report(nowMs: number, waitingSinceMs: number | undefined): Omit<ChildLoad, 'rssBytes'> {
    const spanMs = nowMs - this.#sinceMs;
    const share = this.#sinceMs === 0 || spanMs <= 0 ? 0 : Math.min(1, this.#workedMs / spanMs);
    // Half of the old value: one long decode is not yet a load, and a real load shows within a second.
    this.#busy = (this.#busy + share) / 2;
    this.#sinceMs = nowMs;
    this.#workedMs = 0;
    return this.level(nowMs, waitingSinceMs);
  }
}
