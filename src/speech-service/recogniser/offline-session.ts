import type { AudioTrack } from './audio-track.ts';
import type { Reading } from './consensus.ts';
import type { EngineSession, LoadLevel } from './engine.ts';
import type { LanguageChoice } from './language-choice.ts';
import type { OfflineModel } from './offline-model.ts';
import { PartialWords } from './partial-words.ts';
import { pauseOf } from './pause.ts';
import { plain, readingsFor, readTogether, type Variation } from './readings.ts';
import type {
  RecognisedUtterance,
  RecognisedWord,
  RecogniserEvent,
  RecogniserStreamOptions,
} from './recogniser.ts';
import { Segmenter, type Piece as Cut, type SegmenterEvent } from './segmenter.ts';
import { leastTonal, tonalShare } from './tonality.ts';
import type { VoiceActivity } from './voice-activity.ts';
import { wordsFromTokens } from './word-tokens.ts';
import { estimateWordTimes } from './word-times.ts';

const rateHz = 16000;
/** Audio before the first voiced window that may belong to the first word, and its padding. */
const preRollS = 0.4;
const onsetS = 0.1;
const progressEveryS = 0.5;
/** The first two readings come soon after each other: what they agree on is the first partial. */
const firstPartialsS = [0.5, 0.35];
const partialEveryS = 0.5;
/** A signal is taken for a short word, never for a sentence. */
const wordsOfSignal = 3;

type ReadPiece = { words: RecognisedWord[]; text: string; language: string };

export type OfflineParts = {
  model: OfflineModel;
  track: AudioTrack;
  voice: VoiceActivity;
  language: LanguageChoice;
  load: () => LoadLevel;
};

/** One stream over a model that reads whole pieces. */
export class OfflineSession implements EngineSession {
  readonly #parts: OfflineParts;
  readonly #options: RecogniserStreamOptions;
  readonly #emit: (event: RecogniserEvent) => void;
  readonly #segmenter: Segmenter;
  #index = 0;
  #progressS = 0;
  /** Pieces of the open utterance that are read for good. */
  #pieces: ReadPiece[] = [];
  #partial = new PartialWords();
  #partialAt = 0;
  #partials = 0;
  #started = false;

  constructor(
    parts: OfflineParts,
    options: RecogniserStreamOptions,
    emit: (event: RecogniserEvent) => void,
  ) {
    this.#parts = parts;
    this.#options = options;
    this.#emit = emit;
    this.#segmenter = new Segmenter({
      pauseS: pauseOf(options.endpointingS),
      maximumDurationS: options.maximumDurationS,
      longestPieceS: parts.model.longestS,
      quietest: (from, to) => parts.track.quietest(from, to, rateHz / 10),
    });
  }

  accept(block: Float32Array): void {
    this.#parts.track.push(block);
    this.#parts.voice.accept(block, (voiced, end) => {
      for (const event of this.#segmenter.window(voiced, end)) this.#handle(event);
      if (this.#segmenter.neededFrom === undefined) this.#idle(end);
    });
  }

  finish(): void {
    for (const event of this.#segmenter.finish()) this.#handle(event);
    this.#emit({ type: 'progress', at: this.#parts.track.end / rateHz });
    this.#emit({ type: 'finished' });
  }

  partialDue(): boolean {
    if (!this.#options.partials) return false;
    const open = this.#segmenter.open;
    if (!open) return false;
    const { busy, latenessMs } = this.#parts.load();
    if (latenessMs > 150 || busy > 0.9) return false;
    // Load decides the cadence: 2 Hz at ease, every two seconds when hard pressed.
    const everyS = firstPartialsS[this.#partials] ?? partialEveryS * (1 + 3 * busy);
    const since = Math.max(this.#partialAt, open.from);
    return this.#parts.track.end - since >= everyS * rateHz && open.voicedEnd > since;
  }

  emitPartial(): void {
    const open = this.#segmenter.open;
    if (!open) return;
    const { track, model, language } = this.#parts;
    this.#partialAt = track.end;
    this.#partials++;
    const from = open.pieceFrom - (open.cutBefore ? 0 : preRollS * rateHz);
    const audio = track.view(Math.max(from, track.end - model.longestS * rateHz), track.end);
    const result = model.read(audio.slice(), language.hint);
    const reading = readingOf(result.text);
    const words = this.#partial.update(reading.words, track.end / rateHz);
    if (!words || isSignal(words.length, audio)) return;
    const piece = this.#timed(
      words,
      words.join(' '),
      { from: open.pieceFrom, to: open.voicedEnd, cutBefore: open.cutBefore },
      { agreement: [], language: language.ofPartial(reading.text, result.lang) },
    );
    this.#emit({
      type: 'partial',
      utterance: this.#utterance([...this.#pieces, piece], open.from),
    });
  }

  #handle(event: SegmenterEvent): void {
    switch (event.type) {
      case 'start':
        this.#started = true;
        this.#emit({ type: 'speech-start', at: event.from / rateHz });
        break;
      case 'piece':
        this.#read(event);
        break;
      case 'end':
        // Said when it is decided, before the reading takes its time.
        if (this.#started) this.#emit({ type: 'speech-end', at: event.speechEnd / rateHz });
        this.#started = false;
        this.#read(event);
        this.#end(event);
        break;
    }
  }

  #read(cut: Cut): void {
    const { track, model, language, load } = this.#parts;
    const level = load();
    if (model.estimatedTimes) this.#probe(cut, probesFor(level, (cut.to - cut.from) / rateHz));
    const piece = model.estimatedTimes ? this.#readTogether(cut, level) : this.#readOnce(cut);
    this.#partial = new PartialWords();
    if (piece.words.length === 0) return;
    if (isSignal(piece.words.length, track.view(cut.from, cut.to))) return;
    piece.language = language.ofFinal(piece.text, piece.language);
    this.#pieces.push(piece);
  }

  /** A model without times or probabilities: several readings say what was said and how sure that is. */
  #readTogether(cut: Cut, level: LoadLevel): ReadPiece {
    const { track, model, language } = this.#parts;
    let said = '';
    const { reading, agreement } = readTogether((variation) => {
      const result = model.read(varied(track, cut, variation), language.hint);
      said ||= result.lang;
      return readingOf(result.text);
    }, readingsFor(level));
    return this.#timed(reading.words, reading.text, cut, { agreement, language: said });
  }

  /** A model that tells times, and some of them probabilities, token by token. */
  #readOnce(cut: Cut): ReadPiece {
    const { track, model, language } = this.#parts;
    const result = model.read(varied(track, cut, plain), language.hint);
    const offsetS = cut.from / rateHz - plain.paddingS;
    return {
      text: readingOf(result.text).text,
      words: tokenWords(result, offsetS, cut.to / rateHz),
      language: result.lang,
    };
  }

  /** The beginning of the piece, read alone, tells which words lie in it. */
  #probe({ from, to, cutBefore }: Cut, probes: number): void {
    const { track, model, language } = this.#parts;
    const first = from - (cutBefore ? 0 : preRollS * rateHz);
    for (let probe = 1; probe <= probes; probe++) {
      const end = from + ((to - from) * probe) / (probes + 1);
      const { text } = model.read(track.view(first, end).slice(), language.hint);
      this.#partial.note(readingOf(text).words, end / rateHz);
    }
  }

  #timed(
    words: string[],
    text: string,
    { from, to, cutBefore }: Pick<Cut, 'from' | 'to' | 'cutBefore'>,
    about: { agreement: readonly number[]; language: string },
  ): ReadPiece {
    // The detector answers a little late at both ends; what is quiet there is trimmed off again.
    const first = from - (cutBefore ? 0 : onsetS * rateHz);
    const audio = this.#parts.track.view(first, to);
    const offsetS = to / rateHz - audio.length / rateHz;
    const evidence = this.#partial.evidence(words);
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

  #end({ to, speechEnd }: Extract<SegmenterEvent, { type: 'end' }>): void {
    if (this.#pieces.length > 0) {
      const first = this.#pieces[0]?.words[0]?.start ?? 0;
      this.#emit({ type: 'final', utterance: this.#utterance(this.#pieces, first * rateHz) });
      this.#index++;
    }
    this.#pieces = [];
    this.#partialAt = 0;
    this.#partials = 0;
    this.#progress(Math.max(to, speechEnd));
  }

  #idle(end: number): void {
    const at = end - preRollS * rateHz;
    if (at / rateHz - this.#progressS >= progressEveryS) this.#progress(at);
  }

  #progress(at: number): void {
    this.#progressS = at / rateHz;
    this.#parts.track.dropBefore(at - preRollS * rateHz);
    this.#emit({ type: 'progress', at: this.#progressS });
  }

  #utterance(pieces: readonly ReadPiece[], from: number): RecognisedUtterance {
    const words = pieces.flatMap((piece) => piece.words);
    const sum = words.reduce((total, word) => total + word.confidence, 0);
    return {
      index: this.#index,
      text: pieces.map((piece) => piece.text).join(' '),
      start: words[0]?.start ?? from / rateHz,
      end: words.at(-1)?.end ?? from / rateHz,
      confidence: words.length === 0 ? 0 : sum / words.length,
      language: pieces[0]?.language ?? '',
      words,
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
function varied(track: AudioTrack, cut: Cut, { paddingS, gain }: Variation): Float32Array {
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

function tokenWords(
  result: { tokens: string[]; timestamps: number[]; durations: number[]; ys_log_probs: number[] },
  offsetS: number,
  endS: number,
): RecognisedWord[] {
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
  return wordsFromTokens(tokens, { endOfAudioS: endS, longestTokenS: 0.3, agreedConfidence: 0.8 });
}

/** Word times are worth further readings while there is room for them. */
function probesFor({ busy, latenessMs }: LoadLevel, lengthS: number): number {
  if (lengthS < 1.2 || busy > 0.8 || latenessMs > 150) return 0;
  if (busy > 0.5) return 1;
  return Math.min(3, Math.ceil(lengthS / 2));
}

function isSignal(words: number, audio: Float32Array): boolean {
  return words <= wordsOfSignal && tonalShare(audio) > leastTonal;
}

/** Readings that agree, and partials that never changed, are evidence; neither is certainty. */
function confidenceOf(agreement: number | undefined, steady: boolean): number {
  return 0.25 + 0.6 * (agreement ?? 0.5) + (steady ? 0.12 : 0);
}
