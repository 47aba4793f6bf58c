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
