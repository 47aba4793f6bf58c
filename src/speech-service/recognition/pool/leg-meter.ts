import type { LegCost } from './messages.ts';

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
