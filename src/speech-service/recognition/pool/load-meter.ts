import type { LoadLevel } from '../child/engine.ts';
import type { ChildLoad } from './messages.ts';

/** How hard a recogniser process works. Time comes in from outside. */
export class LoadMeter {
  #workedMs = 0;
  #neededMs = 0;
  #sinceMs = 0;
  #busy = 0;
  #needed = 0;

  /** `needed`: what must be done for live callers, as against what makes it better. */
  worked(ms: number, needed: boolean): void {
    this.#workedMs += ms;
    if (needed) this.#neededMs += ms;
  }

  level(latenessMs: number): LoadLevel {
    return { needed: this.#needed, latenessMs };
  }

  report(nowMs: number): Pick<ChildLoad, 'busy'> {
    const spanMs = nowMs - this.#sinceMs;
    const share = (ms: number) =>
      this.#sinceMs === 0 || spanMs <= 0 ? 0 : Math.min(1, ms / spanMs);
    // Half of the old value: one long decode is not yet a load, and a real load shows within a second.
    this.#busy = (this.#busy + share(this.#workedMs)) / 2;
    this.#needed = (this.#needed + share(this.#neededMs)) / 2;
    this.#sinceMs = nowMs;
    this.#workedMs = 0;
    this.#neededMs = 0;
    return { busy: this.#busy };
  }
}
