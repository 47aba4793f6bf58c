import type { LoadLevel } from '../child/engine.ts';
import type { OfflineResult } from '../child/sherpa.ts';
import type { AudioTrack } from './audio-track.ts';
import { withoutLoops } from './loops.ts';
import type { PieceModel } from './offline-model.ts';
import {
  affordsProbes,
  agree,
  agreedReading,
  type PartialWords,
  probesOf,
  type Reading,
  readingsFor,
  type Variation,
  variations,
} from './readings.ts';
import type { SpeechPiece } from './segmenter.ts';
import { estimateWordTimes, wordsFromTokens } from './word-times.ts';
import type { RecognisedWord } from '../recogniser.ts';

const rateHz = 16000;
/** Audio before the first voiced window that may belong to the first word, and to the margin of its reading. */
export const onsetMarginS = 0.4;
/** The beginning of the first word is looked for in so much audio before the first voiced window. */
const onsetS = 0.1;
/** Models give the times of tokens. A token without an end lasts at most this long. */
const longestTokenS = 0.3;
/** The confidence where a model gives times but no probabilities: neither sure nor unsure. */
const unknownConfidence = 0.8;

/** A reading of three variants as one text costs so many times as much as the first reading. */
const priceTogether = 2.5;

export type ReadPiece = { words: RecognisedWord[]; text: string; language: string };

/** The margins of the variants that are read together with the first. */
const furtherMargins = variations.slice(1, 3);

type PieceBounds = Pick<SpeechPiece, 'from' | 'to' | 'cutBefore'>;

/** Reads pieces of a stream's audio with a model, and gives every word its time and confidence. */
export class PieceReader {
  readonly #model: Omit<PieceModel, 'languages'>;
  readonly #track: AudioTrack;

  constructor(model: Omit<PieceModel, 'languages'>, track: AudioTrack) {
    this.#model = model;
    this.#track = track;
  }

  get estimatedTimes(): boolean {
    return this.#model.estimatedTimes;
  }

  expectedMs({ from, to }: { from: number; to: number }): number {
    return this.#model.price.expectedMs((to - from) / rateHz);
  }

  /** Reads the whole piece once. */
  whole(cut: SpeechPiece, variation: Variation, hint: string) {
    const result = this.#model.read(varied(this.#track, cut, variation), hint);
    return { reading: readingOf(result.text, (cut.to - cut.from) / rateHz), result };
  }

  /** Whether the piece should be read again as one text out of several margins. */
  doubts(result: OfflineResult): boolean {
    return this.#model.doubts?.(result) === true;
  }

  /** Reads the whole piece with further margins, together with a reading that was doubted. */
  together(cut: SpeechPiece, first: OfflineResult) {
    const others = furtherMargins.map((margins) => varied(this.#track, cut, margins));
    const result = this.#model.readTogether?.(first, others) ?? first;
    return { reading: readingOf(result.text, (cut.to - cut.from) / rateHz), result };
  }

  /** Reads the beginning of the piece alone. The words it finds were said before that moment. */
  beginning({ from, to, cutBefore }: PieceBounds, probe: number, hint: string) {
    const first = from - (cutBefore ? 0 : onsetMarginS * rateHz);
    const end = from + ((to - from) * probe) / (probesOf((to - from) / rateHz) + 1);
    const { text } = this.#model.read(this.#track.view(first, end).slice(), hint);
    return { reading: readingOf(text, (end - first) / rateHz), atS: end / rateHz };
  }

  /** Reads once what there is of an open piece. */
  glance(
    { pieceFrom, cutBefore }: { pieceFrom: number; cutBefore: boolean },
    end: number,
    marginS: number,
    hint: string,
  ) {
    const from = pieceFrom - (cutBefore ? 0 : marginS * rateHz);
    const heard = this.#track.view(Math.max(from, end - this.#model.longestS * rateHz), end);
    const { text, lang } = this.#model.read(heard.slice(), hint);
    return { reading: readingOf(text, heard.length / rateHz), heard, said: lang };
  }

  /** The words of a model that gives times, and perhaps probabilities, for each token. */
  exact(text: string, result: OfflineResult, cut: SpeechPiece): ReadPiece {
    const offsetS = cut.from / rateHz - variations[0].before;
    const words = tokenWords(result, offsetS, cut.to / rateHz);
    const seconds = (cut.to - cut.from) / rateHz;
    const spoken = words.map(({ word }) => word);
    const kept = withoutLoops(spoken, seconds).flatMap(({ word, index }) => {
      const timed = words[index];
      return timed ? [{ ...timed, word }] : [];
    });
    return { text, words: kept, language: result.lang };
  }

  /** The words of a model that gives neither: agreement of readings is the confidence, times are estimated. */
  timed(
    { words, text }: Reading,
    { from, to, cutBefore }: PieceBounds,
    about: { agreement: readonly number[]; language: string; earlier: PartialWords },
  ): ReadPiece {
    // The detector answers a little late at both ends, so a margin is added; its quiet part is trimmed later.
    const first = from - (cutBefore ? 0 : onsetS * rateHz);
    const audio = this.#track.view(first, to);
    const offsetS = to / rateHz - audio.length / rateHz;
    const bounds = about.earlier.bounds(words);
    const spans = estimateWordTimes(
      words,
      audio,
      rateHz,
      bounds.map(({ saidBy, notBefore }) => ({
        ...(saidBy === undefined ? {} : { saidBy: saidBy - offsetS }),
        ...(notBefore === undefined ? {} : { notBefore: notBefore - offsetS }),
      })),
    );
    return {
      text,
      language: about.language,
      words: words.map((word, index) => ({
        word,
        start: offsetS + (spans[index]?.start ?? 0),
        end: offsetS + (spans[index]?.end ?? 0),
        confidence: confidenceOf(about.agreement[index], bounds[index]?.saidBy !== undefined),
      })),
    };
  }
}

/** The words of a text without the model's loops, of which partials and finals are then equally free. */
function readingOf(text: string, seconds: number): Reading {
  const clean = text.trim().replace(/\s+/g, ' ');
  const spoken = clean === '' ? [] : clean.split(' ');
  const words = withoutLoops(spoken, seconds).map(({ word }) => word);
  return { text: words.join(' '), words };
}

/**
 * The samples of a piece with a margin on both sides. The margin is the quiet audio around the piece. On a
 * side where the piece was cut out of speech the margin is zeros: real audio would hold a part of a word
 * that belongs to the next piece and would be read twice.
 */
function varied(track: AudioTrack, cut: SpeechPiece, variation: Variation): Float32Array {
  const paddingBefore = Math.round(variation.before * rateHz);
  const paddingAfter = Math.round(variation.after * rateHz);
  const before = cut.cutBefore ? 0 : paddingBefore;
  const after = cut.cutAfter ? 0 : paddingAfter;
  const audio = track.view(cut.from - before, cut.to + after);
  const padded = new Float32Array(audio.length + paddingBefore + paddingAfter - before - after);
  const offset = paddingBefore - before;
  for (const [i, sample] of audio.entries())
    padded[offset + i] = Math.max(-1, Math.min(1, sample * variation.gain));
  return padded;
}

function tokenWords(result: OfflineResult, offsetS: number, endOfAudioS: number): RecognisedWord[] {
  const tokens = result.tokens.map((text, index) => {
    const start = offsetS + (result.timestamps[index] ?? 0);
    const duration = result.durations[index];
    const logProbability = result.ys_log_probs[index];
    return {
      text,
      start,
      ...(duration === undefined ? {} : { end: start + duration }),
      ...(logProbability === undefined ? {} : { logProbability }),
    };
  });
  return wordsFromTokens(tokens, {
    endOfAudioS,
    longestTokenS,
    agreedConfidence: unknownConfidence,
  });
}

/** Agreement of readings, and earlier readings that held the word, raise the confidence; never to certainty. */
function confidenceOf(agreement: number | undefined, steady: boolean): number {
  return 0.25 + 0.6 * (agreement ?? 0.5) + (steady ? 0.12 : 0);
}

/**
 * The final reading of one piece, one model run at a time. It may begin while it is not known yet whether
 * the pause after the piece is the end: the runs, and so the words, are the same either way.
 */
export class PieceReading {
  readonly cut: SpeechPiece;
  readonly #reader: PieceReader;
  readonly #readings: Reading[] = [];
  #result: OfflineResult | undefined;
  #probes = 0;

  constructor(reader: PieceReader, cut: SpeechPiece) {
    this.#reader = reader;
    this.cut = cut;
  }

  get started(): boolean {
    return this.#readings.length > 0;
  }

  /** The first run. Its words may be shown as a partial before the others are done. */
  get first(): Reading | undefined {
    return this.#readings[0];
  }

  get said(): string {
    return this.#result?.lang ?? '';
  }

  /** The time that the next step is expected to take; undefined when no step is worth its time. */
  nextMs(load: LoadLevel): number | undefined {
    const wholeMs = this.#reader.expectedMs(this.cut);
    if (this.#wantsTogether(load)) return wholeMs * priceTogether;
    if (this.#wantsReading(load)) return wholeMs;
    return this.#wantsProbe(load) ? wholeMs / 2 : undefined;
  }

  /** Whether the margin that the next step needs is there: a run during the pause must equal one after it. */
  canGoOn(end: number, load: LoadLevel): boolean {
    if (this.nextMs(load) === undefined) return false;
    if (!this.#wantsReading(load) && !this.#wantsTogether(load)) return true;
    const { after } = variations[this.#readings.length] ?? { after: 0 };
    return this.cut.cutAfter || end >= this.cut.to + after * rateHz;
  }

  step(load: LoadLevel, earlier: PartialWords, hint: string): void {
    const variation = variations[this.#readings.length];
    if (this.#result && this.#wantsTogether(load)) {
      const { reading, result } = this.#reader.together(this.cut, this.#result);
      this.#readings.push(reading);
      this.#result = result;
    } else if (this.#wantsReading(load) && variation) {
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
    if (this.#result && !this.#reader.estimatedTimes)
      return this.#reader.exact(this.#readings.at(-1)?.text ?? '', this.#result, this.cut);
    const { reading, agreement } = agreedReading(this.#readings);
    return this.#reader.timed(reading, this.cut, { agreement, language: this.said, earlier });
  }

  #wantsReading(load: LoadLevel): boolean {
    const count = this.#readings.length;
    if (count === 0) return true;
    if (!this.#reader.estimatedTimes) return false;
    const { first, most } = readingsFor(load);
    return count < first || (count < most && !agree(this.#readings.slice(0, first)));
  }

  /** Whether the only reading is doubted, and the load leaves time to read the piece again with other margins. */
  #wantsTogether(load: LoadLevel): boolean {
    if (this.#readings.length !== 1 || !this.#result) return false;
    return readingsFor(load).first > 1 && this.#reader.doubts(this.#result);
  }

  /** Whether the beginning alone is read once more, which bounds the times of the words. */
  #wantsProbe(load: LoadLevel): boolean {
    if (!this.#reader.estimatedTimes || this.first?.words.length === 0) return false;
    if (!affordsProbes(load)) return false;
    return this.#probes < probesOf((this.cut.to - this.cut.from) / rateHz);
  }
}
