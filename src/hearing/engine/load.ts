import type { LoadLevel } from './engine.ts';
import type { ChildLoad, LegCost } from './child-messages.ts';

/**
 * Measures the processor seconds of some work. Clock time would count a machine as slow for ever if it was busy with
 * something else during the measurement.
 */
export function cpuSeconds(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Returns the least of three measurements, because other work of the machine only makes a measurement longer. */
export function leastCpuSeconds(work: () => void): number {
  return Math.min(cpuSeconds(work), cpuSeconds(work), cpuSeconds(work));
}

/**
 * The shape of a reading's cost: a fixed part and a part per second of audio. Measured on one machine. Another machine
 * changes the scale, which is learned, and hardly the proportion.
 */
const ordinaryShape: PriceShape = { fixedMs: 15, eachSecondMs: 33 };
type PriceShape = { fixedMs: number; eachSecondMs: number };
/** The length of an average piece of speech. */
const ordinaryS = 4;

/** The cost of readings on this machine, learned from every reading. */
export class ReadingPrice {
  readonly #shape: PriceShape;
  #scale = 1;
  /** The clock time of a reading divided by its processor time: 1 on a machine without other work. */
  #slowdown = 1;
  #readings = 0;
  #spentS = 0;

  constructor(shape = ordinaryShape) {
    this.#shape = shape;
  }

  /** The processor seconds of all readings. */
  get spentS(): number {
    return this.#spentS;
  }

  /** Counts processor time of a reading that must not influence the price of others. */
  alsoSpent(cpuS: number): void {
    this.#spentS += cpuS;
  }

  /** `cpuS` is the processor time of a reading, `tookS` its clock time. */
  note(audioS: number, cpuS: number, tookS = cpuS): void {
    this.#spentS += cpuS;
    if (cpuS > 0) this.#slowdown += (Math.max(1, tookS / cpuS) - this.#slowdown) / 2;
    const now = (1000 * cpuS) / this.#shapeMs(audioS);
    this.#readings++;
    const weight = Math.max(0.1, 1 / this.#readings); // the first readings set the scale
    this.#scale += weight * (now - this.#scale);
  }

  /**
   * The clock time that a reading will take if the machine stays as busy as during the last readings. Processor time
   * alone would promise finals too early.
   */
  expectedMs(audioS: number): number {
    return this.#cpuMs(audioS) * this.#slowdown;
  }

  /** The share of a core that it takes to read everything once while somebody speaks. */
  get share(): number {
    return this.#cpuMs(ordinaryS) / 1000 / ordinaryS;
  }

  #cpuMs(audioS: number): number {
    return this.#scale * this.#shapeMs(audioS);
  }

  #shapeMs(audioS: number): number {
    return this.#shape.fixedMs + this.#shape.eachSecondMs * audioS;
  }
}

/**
 * The weight of a new report in `needed`. It is small, because decisions about ten or twenty legs must not depend on
 * who stopped speaking in this half second. Other figures show at once if something is or will be late.
 */
const neededWeight = 0.1;

/** The load of a recogniser process. Its callers pass the time. */
export class LoadMeter {
  #workedMs = 0;
  #neededMs = 0;
  #sinceMs = 0;
  #busy = 0;
  #needed = 0;

  /** Counts work. `needed` marks work that live callers cannot do without; other work only improves answers. */
  worked(ms: number, needed: boolean): void {
    this.#workedMs += ms;
    if (needed) this.#neededMs += ms;
  }

  level(latenessMs: number, togetherMs: number): LoadLevel {
    return { needed: this.#needed, latenessMs, togetherMs };
  }

  report(nowMs: number): Pick<ChildLoad, 'busy'> {
    const spanMs = nowMs - this.#sinceMs;
    const share = (ms: number) =>
      this.#sinceMs === 0 || spanMs <= 0 ? 0 : Math.min(1, ms / spanMs);
    // Half of the old value is kept. A single long reading is no load yet, and a lasting load shows within a second.
    this.#busy = (this.#busy + share(this.#workedMs)) / 2;
    this.#needed += neededWeight * (share(this.#neededMs) - this.#needed);
    this.#sinceMs = nowMs;
    this.#workedMs = 0;
    this.#neededMs = 0;
    return { busy: this.#busy };
  }
}

/** With less audio than this, fixed work of the process would count as the cost of the audio. */
const leastAudioS = 20;
/**
 * The cost of a leg is learned only while at least this many legs are open. A process has fixed work of its own, and
 * its caches grow cold between two legs. One leg alone therefore costs three times as much as one of ten, and a service
 * that used that figure would refuse callers.
 */
const leastLegs = 4;

/** A leg among others costs this many times what listening costs in a process without other work. */
const amongOthers = 3;

/**
 * The real cost of a leg among others, learned while legs run. All processor time beside readings (voice detection,
 * messages, the runtime) is divided by the seconds of audio. Readings have a cost of their own.
 */
export class LegMeter {
  /** The cost: first a guess, later the learned value. */
  #measured: number | undefined;
  #learned: number | undefined;
  #audioS = 0;
  #before = { nowMs: 0, processS: 0, readS: 0 };

  /**
   * Takes the cost that was measured before the first leg, with nothing else running. It counts until a value is
   * learned.
   */
  measured(listening: number): void {
    this.#measured = amongOthers * listening;
  }

  heard(audioS: number): void {
    this.#audioS += audioS;
  }

  /** `processS` and `readS` are totals since the start of the process. */
  learn(
    nowMs: number,
    { processS, readS }: { processS: number; readS: number },
    readingShare: number,
  ): LegCost | undefined {
    const { nowMs: beganMs, processS: process, readS: read } = this.#before;
    if (this.#audioS >= leastAudioS) {
      const legs = this.#audioS / ((nowMs - beganMs) / 1_000);
      const listening = Math.max(0, processS - process - (readS - read)) / this.#audioS;
      if (legs >= leastLegs) this.#learned = ((this.#learned ?? listening) + listening) / 2;
      else if (this.#learned !== undefined) this.#learned = Math.min(this.#learned, listening);
      else if (this.#measured !== undefined) this.#measured = Math.min(this.#measured, listening);
      this.#audioS = 0;
    }
    if (this.#audioS === 0) this.#before = { nowMs, processS, readS };
    const listening = this.#learned ?? this.#measured;
    return listening === undefined ? undefined : { least: listening + readingShare };
  }
}
