import type { LoadLevel } from './engine.ts';
import type { ChildLoad, LegCost } from '../pool/messages.ts';

/**
 * Seconds of processor time that some work takes. Not the clock: a machine that is busy with other
 * things for a moment at the start must not count as slow for ever; lateness tells when it really is.
 */
export function cpuSeconds(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** The least of three: what disturbed the others is not the work's own price. */
export function leastCpuSeconds(work: () => void): number {
  return Math.min(cpuSeconds(work), cpuSeconds(work), cpuSeconds(work));
}

/** What a reading starts with, and what each second of audio adds; measured, only the proportion matters. */
const fixedMs = 15;
const eachSecondMs = 33;
/** The length of an ordinary piece. */
const ordinaryS = 4;

/** What readings cost on this machine, learned from each one. */
export class ReadingPrice {
  #scale = 1;
  #readings = 0;
  #spentS = 0;

  /** Processor seconds of all readings. */
  get spentS(): number {
    return this.#spentS;
  }

  note(audioS: number, tookS: number): void {
    this.#spentS += tookS;
    const now = (1000 * tookS) / (fixedMs + eachSecondMs * audioS);
    this.#readings++;
    const weight = Math.max(0.1, 1 / this.#readings); // the first ones say most
    this.#scale += weight * (now - this.#scale);
  }

  expectedMs(audioS: number): number {
    return this.#scale * (fixedMs + eachSecondMs * audioS);
  }

  /** The share of a core that reading everything once takes while somebody speaks. */
  get share(): number {
    return this.expectedMs(ordinaryS) / 1000 / ordinaryS;
  }
}

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

/** Less audio than this says nothing: what the process does besides would count as the audio's price. */
const leastAudioS = 20;

/**
 * What a leg really costs, learned while legs run. Everything that is not reading goes by the second
 * of audio: listening, messages, what the runtime takes. Reading has its own price.
 */
export class LegMeter {
  #listening: number | undefined;
  #audioS = 0;
  #before = { processS: 0, readS: 0 };

  heard(audioS: number): void {
    this.#audioS += audioS;
  }

  /** `processS` and `readS` are totals since the start of the process. */
  learn(processS: number, readS: number, readingShare: number): LegCost | undefined {
    if (this.#audioS >= leastAudioS) {
      const { processS: process, readS: read } = this.#before;
      const listening = Math.max(0, processS - process - (readS - read)) / this.#audioS;
      this.#listening = ((this.#listening ?? listening) + listening) / 2;
      this.#audioS = 0;
      this.#before = { processS, readS };
    } else if (this.#audioS === 0) this.#before = { processS, readS };
    return this.#listening === undefined ? undefined : { least: this.#listening + readingShare };
  }
}
