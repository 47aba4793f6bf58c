import type { LoadLevel } from '../engine/engine.ts';
import type { PieceResult } from './offline-model.ts';
import {
  affordsMore,
  agree,
  agreedReading,
  earlierSecondsFor,
  marginsTogether,
  type PartialWords,
  probesOf,
  type Reading,
  readingsFor,
  variations,
} from './readings.ts';
import { pauseAfter, type Seam, type SpelledWord } from './seam.ts';
import type { SpeechPiece } from './segmenter.ts';
import { type Wordless } from './wordless.ts';
import {
  firstOf,
  type PieceReader,
  type PlacedPiece,
  priceTogether,
  type ReadPiece,
} from './piece-reader.ts';

const rateHz = 16000;
/** A stretch is read again at most this often, and at most this many stretches per piece. */
const mostAttempts = 2;
const mostStretches = 3;

/**
 * The final reading of one piece, one run of the model at a time. It may begin before it is known whether the pause is
 * the end. The runs, and so the words, are the same either way.
 */
export class PieceReading {
  readonly cut: SpeechPiece;
  readonly #reader: PieceReader;
  readonly #draft: readonly number[];
  #seam: Seam | undefined;
  readonly #readings: Reading[] = [];
  #result: PieceResult | undefined;
  #doubted = false;
  #probes = 0;
  /** The words so far and the stretches without words, once the whole piece needs no further reading. */
  #spelled: SpelledWord[] | undefined;
  #wordless: Wordless[] = [];
  #attempts = 0;

  constructor(reader: PieceReader, cut: SpeechPiece, draft: readonly number[] = []) {
    this.#reader = reader;
    this.#draft = draft;
    this.cut = cut;
  }

  get started(): boolean {
    return this.#readings.length > 0;
  }

  get #placed(): PlacedPiece {
    return { ...this.cut, seam: this.#seam };
  }

  /** The first run. Its words may be shown as a partial before the other runs are done. */
  get first(): { reading: Reading; timed?: SpelledWord[] } | undefined {
    const [reading] = this.#readings;
    if (!reading || !this.#result) return undefined;
    if (this.#reader.estimatedTimes) return { reading };
    const timed = this.#reader.spelled(this.#result, this.#placed);
    const words = timed.map(({ word }) => word);
    return { reading: { text: words.join(' '), words }, timed };
  }

  /** The tokens of the first run. */
  get written(): readonly number[] {
    return this.#result?.ids?.flat() ?? [];
  }

  get said(): string {
    return this.#result?.lang ?? '';
  }

  /** The expected duration of the next step. Undefined if no step is worth its time. */
  nextMs(load: LoadLevel): number | undefined {
    const seam = this.started
      ? this.#seam
      : this.#reader.seamOf(this.cut, earlierSecondsFor(load, this.#reader.isDear));
    const from = firstOf({ ...this.cut, seam });
    const wholeMs = this.#reader.expectedMs({ from, to: this.cut.to });
    if (this.#wantsTogether(load)) return wholeMs * priceTogether * marginsTogether(load);
    if (this.#wantsReading(load)) return wholeMs;
    const wordless = this.#nextWordless();
    if (wordless) return this.#reader.expectedMs(wordless);
    return this.#wantsProbe(load) ? wholeMs / 2 : undefined;
  }

  /** True if the audio has the margin that the next step needs: a run during the pause must equal a run after it. */
  canGoOn(end: number, load: LoadLevel): boolean {
    if (this.nextMs(load) === undefined) return false;
    if (!this.#wantsReading(load) && !this.#wantsTogether(load)) return !this.#nextWordless();
    const { after } = variations[this.#readings.length] ?? { after: 0 };
    return this.cut.cutAfter || end >= this.cut.to + after * rateHz;
  }

  step(load: LoadLevel, earlier: PartialWords, hint: string): void {
    const variation = variations[this.#readings.length];
    if (this.#result && this.#wantsTogether(load)) {
      const { reading, result } = this.#reader.together(this.#placed, this.#result, load);
      this.#readings.push(reading);
      this.#result = result;
    } else if (this.#wantsReading(load) && variation) {
      if (!this.started)
        this.#seam = this.#reader.seamOf(this.cut, earlierSecondsFor(load, this.#reader.isDear));
      const about = { hint, load, draft: this.#draft };
      const { reading, result, seam, doubted } = this.#reader.whole(this.#placed, variation, about);
      this.#readings.push(reading);
      this.#result ??= result;
      this.#seam = seam;
      this.#doubted = doubted;
    } else if (this.#nextWordless()) {
      this.#readAgain(hint);
    } else {
      this.#probes++;
      const { reading, atS } = this.#reader.beginning(this.cut, this.#probes, hint);
      earlier.note(reading.words, atS);
    }
  }

  done(partial: PartialWords): {
    piece: ReadPiece;
    seam: Seam | undefined;
    earlier: Seam | undefined;
    wordless: Wordless[];
  } {
    if (this.#result && !this.#reader.estimatedTimes) {
      const spelled = this.#spelled ?? this.#reader.spelled(this.#result, this.#placed);
      const judged = this.#reader.judged(spelled, this.#result, this.#readings);
      const words = this.#reader.ended(judged, this.#result, this.#placed);
      const wordless = this.#reader.wordless(words, this.#placed);
      const earlier = this.#reader.takesEarlier ? pauseAfter(words, this.cut) : undefined;
      return { ...this.#reader.own(words, this.#result, this.#placed), earlier, wordless };
    }
    const { reading, agreement } = agreedReading(this.#readings);
    const about = { agreement, language: this.said, earlier: partial };
    const piece = this.#reader.timed(reading, this.cut, about);
    return { piece, seam: undefined, earlier: undefined, wordless: [] };
  }

  /** The next stretch without words that is worth another reading. */
  #nextWordless(): Wordless | undefined {
    if (!this.#result || this.#reader.estimatedTimes) return undefined;
    if (!this.#spelled) {
      this.#spelled = this.#reader.spelled(this.#result, this.#placed);
      this.#wordless = this.#reader.wordless(this.#spelled, this.#placed).slice(0, mostStretches);
    }
    return this.#wordless.at(-1);
  }

  /** The last stretch comes first, because words inserted before a stretch would move it. */
  #readAgain(hint: string): void {
    const stretch = this.#wordless.at(-1);
    if (!stretch || !this.#spelled) return;
    const found = this.#reader.again(stretch, this.#spelled, this.#attempts, hint);
    this.#spelled.splice(stretch.after, 0, ...found);
    this.#attempts++;
    if (found.length === 0 && this.#attempts < mostAttempts) return;
    this.#wordless.pop();
    this.#attempts = 0;
  }

  #wantsReading(load: LoadLevel): boolean {
    const count = this.#readings.length;
    if (count === 0) return true;
    if (!this.#reader.estimatedTimes) return false;
    const { first, most } = readingsFor(load);
    return count < first || (count < most && !agree(this.#readings.slice(0, first)));
  }

  /** True if the only reading is doubted and the load leaves time to read the piece again with other margins. */
  #wantsTogether(load: LoadLevel): boolean {
    return this.#readings.length === 1 && this.#doubted && readingsFor(load).first > 1;
  }

  /** True if the beginning should be read once more to bound the times of the words. */
  #wantsProbe(load: LoadLevel): boolean {
    if (!this.#reader.estimatedTimes || this.#readings[0]?.words.length === 0) return false;
    if (!affordsMore(load)) return false;
    return this.#probes < probesOf((this.cut.to - this.cut.from) / rateHz);
  }
}
