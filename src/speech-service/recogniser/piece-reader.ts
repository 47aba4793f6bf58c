import type { AudioTrack } from './audio-track.ts';
import type { Reading } from './consensus.ts';
import { cpuSeconds } from './cpu-time.ts';
import type { LoadLevel } from './engine.ts';
import type { OfflineModel } from './offline-model.ts';
import type { PartialWords } from './partial-words.ts';
import { plain, readingsFor, readTogether, type Variation } from './readings.ts';
import type { RecognisedWord } from './recogniser.ts';
import type { Piece } from './segmenter.ts';
import type { OfflineResult } from './sherpa.ts';
import { estimateWordTimes } from './word-times.ts';
import { wordsFromTokens } from './word-tokens.ts';

const rateHz = 16000;
/** Audio before the first voiced window that may belong to the first word, and its padding. */
export const onsetMarginS = 0.4;
/** Where the first word's energy is looked for. */
const onsetS = 0.1;
/** Models that tell times tell them of tokens; one without an end lasts no longer than this. */
const longestTokenS = 0.3;
/** Where a model gives times but no probabilities: neither sure nor unsure. */
const unknownConfidence = 0.8;

export type ReadPiece = { words: RecognisedWord[]; text: string; language: string };

type Where = Pick<Piece, 'from' | 'to' | 'cutBefore'>;

/** Reads pieces of a track with a model and gives every word its time and confidence. */
export class PieceReader {
  readonly #model: OfflineModel;
  readonly #track: AudioTrack;

  constructor(model: OfflineModel, track: AudioTrack) {
    this.#model = model;
    this.#track = track;
  }

  /** A piece for good. `earlier` holds the readings of it while it grew. */
  read(
    cut: Piece,
    { load, earlier, hint }: { load: LoadLevel; earlier: PartialWords; hint: string },
  ): ReadPiece {
    return this.#model.estimatedTimes
      ? this.#together(cut, load, earlier, hint)
      : this.#once(cut, hint);
  }

  /** One quick reading of what there is of an open piece. */
  glance(
    { pieceFrom, cutBefore }: { pieceFrom: number; cutBefore: boolean },
    end: number,
    hint: string,
  ) {
    const from = pieceFrom - (cutBefore ? 0 : onsetMarginS * rateHz);
    const heard = this.#track.view(Math.max(from, end - this.#model.longestS * rateHz), end);
    const { text, lang } = this.#model.read(heard.slice(), hint);
    return { reading: readingOf(text), heard, said: lang };
  }

  /** A model without times or probabilities: several readings say what was said and how sure that is. */
  #together(cut: Piece, load: LoadLevel, earlier: PartialWords, hint: string): ReadPiece {
    let language = '';
    let spentS = 0;
    const { reading, agreement } = readTogether(
      (variation) => {
        let result: OfflineResult | undefined;
        spentS += cpuSeconds(() => {
          result = this.#model.read(varied(this.#track, cut, variation), hint);
        });
        language ||= result?.lang ?? '';
        return readingOf(result?.text ?? '');
      },
      readingsFor(load),
      () => spentS,
    );
    this.#probe(cut, probesFor(load, (cut.to - cut.from) / rateHz, spentS), earlier, hint);
    return this.timed(reading.words, reading.text, cut, { agreement, language, earlier });
  }

  /** A model that tells times, and some of them probabilities, token by token. */
  #once(cut: Piece, hint: string): ReadPiece {
    const result = this.#model.read(varied(this.#track, cut, plain), hint);
    const offsetS = cut.from / rateHz - plain.paddingS;
    return {
      text: readingOf(result.text).text,
      words: tokenWords(result, offsetS, cut.to / rateHz),
      language: result.lang,
    };
  }

  /** The beginning of the piece, read alone, tells which words lie in it. */
  #probe(
    { from, to, cutBefore }: Where,
    probes: number,
    earlier: PartialWords,
    hint: string,
  ): void {
    const first = from - (cutBefore ? 0 : onsetMarginS * rateHz);
    for (let probe = 1; probe <= probes; probe++) {
      const end = from + ((to - from) * probe) / (probes + 1);
      const { text } = this.#model.read(this.#track.view(first, end).slice(), hint);
      earlier.note(readingOf(text).words, end / rateHz);
    }
  }

  timed(
    words: string[],
    text: string,
    { from, to, cutBefore }: Where,
    about: { agreement: readonly number[]; language: string; earlier: PartialWords },
  ): ReadPiece {
    // The detector answers a little late at both ends; what is quiet there is trimmed off again.
    const first = from - (cutBefore ? 0 : onsetS * rateHz);
    const audio = this.#track.view(first, to);
    const offsetS = to / rateHz - audio.length / rateHz;
    const evidence = about.earlier.evidence(words);
    const spans = estimateWordTimes(
      words,
      audio,
      rateHz,
      evidence.map(({ saidBy, notBefore }) => ({
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
        confidence: confidenceOf(about.agreement[index], evidence[index]?.saidBy !== undefined),
      })),
    };
  }
}

function readingOf(text: string): Reading {
  const clean = text.trim().replace(/\s+/g, ' ');
  return { text: clean, words: clean === '' ? [] : clean.split(' ') };
}

/**
 * The piece with room around it: the quiet that was there, and zeros where it was cut out of speech,
 * so that the word on the other side is not read twice.
 */
function varied(track: AudioTrack, cut: Piece, { paddingS, gain }: Variation): Float32Array {
  const padding = Math.round(paddingS * rateHz);
  const before = cut.cutBefore ? 0 : padding;
  const after = cut.cutAfter ? 0 : padding;
  const audio = track.view(cut.from - before, cut.to + after);
  const padded = new Float32Array(audio.length + 2 * padding - before - after);
  const offset = padding - before;
  for (const [i, sample] of audio.entries())
    padded[offset + i] = Math.max(-1, Math.min(1, sample * gain));
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

/** Word times are worth further readings while there is room for them, and time before the final is due. */
function probesFor({ busy, latenessMs }: LoadLevel, lengthS: number, spentS: number): number {
  if (lengthS < 1.2 || busy > 0.8 || latenessMs > 150) return 0;
  if (busy > 0.5 || spentS > 0.25) return 1;
  return Math.min(3, Math.ceil(lengthS / 2));
}

/** Readings that agree, and partials that never changed, are evidence; neither is certainty. */
function confidenceOf(agreement: number | undefined, steady: boolean): number {
  return 0.25 + 0.6 * (agreement ?? 0.5) + (steady ? 0.12 : 0);
}
