import type { AudioTrack } from './audio-track.ts';
import type { EngineSession, LoadLevel } from './engine.ts';
import type { LanguageChoice } from './language-choice.ts';
import { PartialWords } from './partial-words.ts';
import { pauseOf } from './pause.ts';
import { onsetMarginS, type PieceReader, type ReadPiece } from './piece-reader.ts';
import type {
  RecognisedUtterance,
  RecogniserEvent,
  RecogniserStreamOptions,
} from './recogniser.ts';
import { Segmenter, type Piece as Cut, type SegmenterEvent } from './segmenter.ts';
import { leastTonal, tonalShare } from './tonality.ts';
import type { VoiceActivity } from './voice-activity.ts';

const rateHz = 16000;
const progressEveryS = 0.5;
/** The first two readings come soon after each other: what they agree on is the first partial. */
const firstPartialsS = [0.5, 0.35];
const partialEveryS = 0.5;
/** A signal is taken for a short word, never for a sentence. */
const wordsOfSignal = 3;

export type OfflineParts = {
  reader: PieceReader;
  /** The most that is read at once. */
  longestS: number;
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
      longestPieceS: parts.longestS,
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
    const { track, reader, language } = this.#parts;
    this.#partialAt = track.end;
    this.#partials++;
    const { pieceFrom: from, voicedEnd: to, cutBefore } = open;
    const { reading, heard, said } = reader.glance(open, track.end, language.hint);
    const words = this.#partial.update(reading.words, track.end / rateHz);
    if (!words || isSignal(words.length, heard)) return;
    const piece = reader.timed(
      words,
      words.join(' '),
      { from, to, cutBefore },
      { agreement: [], language: language.ofPartial(reading.text, said), earlier: this.#partial },
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
    const { track, reader, language, load } = this.#parts;
    const piece = reader.read(cut, { load: load(), earlier: this.#partial, hint: language.hint });
    this.#partial = new PartialWords();
    if (piece.words.length === 0) return;
    if (isSignal(piece.words.length, track.view(cut.from, cut.to))) return;
    this.#pieces.push({ ...piece, language: language.ofFinal(piece.text, piece.language) });
  }

  #end({ to, speechEnd }: Extract<SegmenterEvent, { type: 'end' }>): void {
    const decided = Math.max(to, speechEnd);
    if (this.#pieces.length > 0) {
      const first = this.#pieces[0]?.words[0]?.start ?? 0;
      const utterance = this.#utterance(this.#pieces, first * rateHz);
      this.#emit({ type: 'final', utterance, decidedS: decided / rateHz });
      this.#index++;
    }
    this.#pieces = [];
    this.#partialAt = 0;
    this.#partials = 0;
    this.#progress(decided);
  }

  #idle(end: number): void {
    const at = end - onsetMarginS * rateHz;
    if (at / rateHz - this.#progressS >= progressEveryS) this.#progress(at);
  }

  #progress(at: number): void {
    this.#progressS = at / rateHz;
    this.#parts.track.dropBefore(at - onsetMarginS * rateHz);
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

function isSignal(words: number, audio: Float32Array): boolean {
  return words <= wordsOfSignal && tonalShare(audio) > leastTonal;
}
