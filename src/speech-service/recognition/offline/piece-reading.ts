import { agree, type Reading } from './consensus.ts';
import type { LoadLevel } from '../child/engine.ts';
import type { PartialWords } from './partial-words.ts';
import type { PieceReader, ReadPiece } from './piece-reader.ts';
import { affordsProbes, agreedReading, probesOf, readingsFor, variations } from './readings.ts';
import type { Piece } from './segmenter.ts';
import type { OfflineResult } from '../child/sherpa.ts';

const rateHz = 16000;

/**
 * One piece that is being read for good, a reading at a time. It can begin while nobody knows yet
 * whether the pause after the piece is its end: the readings are the same ones either way.
 */
export class PieceReading {
  readonly cut: Piece;
  readonly #reader: PieceReader;
  readonly #readings: Reading[] = [];
  #result: OfflineResult | undefined;
  #probes = 0;

  constructor(reader: PieceReader, cut: Piece) {
    this.#reader = reader;
    this.cut = cut;
  }

  get started(): boolean {
    return this.#readings.length > 0;
  }

  /** The first reading, the one whose words may be shown before the others are there. */
  get first(): Reading | undefined {
    return this.#readings[0];
  }

  get said(): string {
    return this.#result?.lang ?? '';
  }

  /** What the next step is likely to take; undefined when no further one is worth it. */
  nextMs(load: LoadLevel): number | undefined {
    const wholeMs = this.#reader.expectedMs(this.cut);
    if (this.#wantsReading(load)) return wholeMs;
    return this.#wantsProbe(load) ? wholeMs / 2 : undefined;
  }

  /** The audio that the next step needs is there, so that it reads the same as when the pause is over. */
  canGoOn(end: number, load: LoadLevel): boolean {
    if (this.nextMs(load) === undefined) return false;
    if (!this.#wantsReading(load)) return true;
    const { after } = variations[this.#readings.length] ?? { after: 0 };
    return this.cut.cutAfter || end >= this.cut.to + after * rateHz;
  }

  step(load: LoadLevel, earlier: PartialWords, hint: string): void {
    const variation = variations[this.#readings.length];
    if (this.#wantsReading(load) && variation) {
      const { reading, result } = this.#reader.whole(this.cut, variation, hint);
      this.#readings.push(reading);
      this.#result ??= result;
    } else {
      this.#probes++;
      const { reading, atS } = this.#reader.beginning(this.cut, this.#probes, hint);
      earlier.note(reading.words, atS);
    }
  }

  done(earlier: PartialWords): ReadPiece {
    const { reading, agreement } = agreedReading(this.#readings);
    return this.#result && !this.#reader.estimatedTimes
      ? this.#reader.exact(reading.text, this.#result, this.cut)
      : this.#reader.timed(reading, this.cut, { agreement, language: this.said, earlier });
  }

  #wantsReading(load: LoadLevel): boolean {
    const count = this.#readings.length;
    if (count === 0) return true;
    if (!this.#reader.estimatedTimes) return false;
    const { first, most } = readingsFor(load);
    return count < first || (count < most && !agree(this.#readings.slice(0, first)));
  }

  /** Word times are worth further readings of the beginning alone, where there are words. */
  #wantsProbe(load: LoadLevel): boolean {
    if (!this.#reader.estimatedTimes || this.first?.words.length === 0) return false;
    if (!affordsProbes(load)) return false;
    return this.#probes < probesOf((this.cut.to - this.cut.from) / rateHz);
  }
}
