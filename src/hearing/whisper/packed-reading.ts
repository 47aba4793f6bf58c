import type { Arrival, Engine, EngineSession, Urgency } from '../engine/engine.ts';
import { ranks } from '../engine/engine.ts';
import { HeardLanguage } from '../engine/heard-language.ts';
import { AudioTrack } from '../offline/audio-track.ts';
import { wordsWithoutLoops } from '../offline/loops.ts';
import { Segmenter, type SegmenterEvent } from '../offline/segmenter.ts';
import { Audible, type VoiceActivity, VoiceDetector } from '../offline/voice-activity.ts';
import { VoicedStretches, wordlessIn } from '../offline/wordless.ts';
import { wordsFromTokens } from '../offline/word-times.ts';
import { pauseOf } from '../pause.ts';
import {
  type RecognisedWord,
  type RecogniserEvent,
  type RecogniserStreamOptions,
  windowSamples,
} from '../recogniser.ts';
import { mostWindowS, type SpeechUnit, SpeechWindow } from './reading-windows.ts';
import type { EncodedWindow, WhisperReader, WindowText } from './whisper-reader.ts';
import { isLoop, isNothing, windowOf } from './window-rules.ts';

const rateHz = 16_000;
/** Speech waits at most this long, in seconds of the stream, for its window to fill. */
export const mostHeldS = 60;
/** Audio before the decided position may still be a margin of the next window. */
const keptS = 1;
const longestTokenS = 0.5;
/** The longest unit: with its margins it fits a window. */
const longestUnitS = mostWindowS - 1;
/** Speech that the model passed over is read alone if it has at least this much voice. */
const leastAloneS = 0.8;
/** The language shows in the first seconds of a unit as well as in all of it. */
const languageWindowS = 5;
const progressEveryS = 0.5;
/** The first word may begin this far before the first voiced window. */
const onsetS = 0.4;

type HeldSpeech = {
  /** The end of its speech in samples. Undefined while it is still being heard. */
  to: number | undefined;
  waiting: number;
  words: RecognisedWord[];
  language: string;
};
type PackedUnit = SpeechUnit & { of: HeldSpeech; language: string | undefined };
type ReadyUnits = {
  window: SpeechWindow;
  units: readonly PackedUnit[];
  language: string;
  encoded?: EncodedWindow;
  /** Units that are read once more, each alone. */
  alone?: PackedUnit[];
};

type PackedParts = {
  reader: Pick<WhisperReader, 'encode' | 'read' | 'languagesOf'>;
  voice: Pick<VoiceActivity, 'push' | 'take'>;
  /** The language, or how it is found. */
  language: string | HeardLanguage;
  codeSwitching: boolean;
};

/**
 * A recording read by Whisper alone. Speech is packed into windows of half a minute, which cost less and have fewer
 * wrong words than a window for each utterance. So utterances wait until their window is read:
 *
 *     speech    ▇▆▇ 1   ▇▇ 2      ▆▇▇▇ 3     ▇▆ 4
 *     window   [▇▆▇ ▇▇ ▆▇▇▇]      full: 1, 2 and 3 are read and emitted; 4 begins the next
 *
 * A window whose text is a loop is read again unit by unit, and so is a unit that the model passed over.
 */
export class PackedReading implements EngineSession {
  readonly #parts: PackedParts;
  readonly #emit: (event: RecogniserEvent) => void;
  readonly #track = new AudioTrack();
  readonly #segmenter: Segmenter;
  readonly #audible = new Audible();
  readonly #voiced = new VoicedStretches();
  #speech: HeldSpeech | undefined;
  /** The utterances that are not emitted yet, in order. */
  readonly #held: HeldSpeech[] = [];
  /** Units whose language is not looked at yet. */
  readonly #unjudged: PackedUnit[] = [];
  #units: PackedUnit[] = [];
  #windowedTo = 0;
  readonly #ready: ReadyUnits[] = [];
  #index = 0;
  #decided = 0;
  #finishing: 'no' | 'asked' | 'done' = 'no';

  constructor(
    parts: PackedParts,
    options: Pick<RecogniserStreamOptions, 'endpointingS' | 'maximumDurationS'>,
    emit: (event: RecogniserEvent) => void,
  ) {
    this.#parts = parts;
    this.#emit = emit;
    this.#segmenter = new Segmenter({
      pauseS: pauseOf(options.endpointingS),
      maximumDurationS: options.maximumDurationS,
      longestPieceS: longestUnitS,
      goesOn: false,
      quietest: (from, to) => this.#track.quietest(from, to, rateHz / 10),
    });
  }

  get settled(): boolean {
    return this.#ready.length === 0 && this.#unjudged.length === 0;
  }

  /** Only one window waits at a time: each holds half a minute of audio. */
  get full(): boolean {
    return !this.settled;
  }

  readonly dueMs = undefined;
  readonly firstReadingMs = 0;

  push(block: Float32Array): void {
    this.#track.push(block);
    this.#parts.voice.push(block);
  }

  listen(_arrival?: Arrival): void {
    this.#parts.voice.take((voiced, end) => {
      const window = this.#track.view(end - windowSamples, end);
      const audible = this.#audible.window(voiced, window);
      if (audible) this.#voiced.add(end - windowSamples, end);
      for (const event of this.#segmenter.window(audible, end)) this.#take(event);
    });
    const [oldest] = this.#units;
    if (oldest && this.#track.end - oldest.from > mostHeldS * rateHz) this.#close(this.#track.end);
    if (this.#segmenter.neededFrom === undefined && this.#held.length === 0)
      this.#progress(this.#track.end - onsetS * rateHz, progressEveryS);
  }

  finish(): void {
    for (const event of this.#segmenter.finish()) this.#take(event);
    this.#finishing = 'asked';
    this.#finishOrWait();
  }

  urgency(): Urgency | undefined {
    return this.settled ? undefined : { rank: ranks.bulk, dueMs: 0, needed: false };
  }

  /** Each run of the model is a step of its own, so that the process sends a sign of life in between. */
  step(): void {
    const [unjudged] = this.#unjudged;
    const [ready] = this.#ready;
    if (ready) this.#readOn(ready);
    else if (unjudged) {
      this.#unjudged.shift();
      this.#judge(unjudged);
      this.#pack(unjudged);
    }
    this.#finishOrWait();
  }

  #take(event: SegmenterEvent): void {
    if (event.type === 'start') {
      this.#emit({ type: 'speech-start', at: event.from / rateHz });
      return;
    }
    this.#speech ??= this.#hold();
    const of = this.#speech;
    if (event.to > event.from) {
      of.waiting++;
      const { from, to } = event;
      this.#unjudged.push({ from, to, words: [], of, language: undefined });
      if (!this.#isJudged) this.#packAll();
    }
    if (event.type !== 'end') return;
    of.to = event.to;
    this.#speech = undefined;
    this.#emit({ type: 'speech-end', at: event.speechEnd / rateHz });
    this.#tell();
  }

  #hold(): HeldSpeech {
    const held = { to: undefined, waiting: 0, words: [], language: '' };
    this.#held.push(held);
    return held;
  }

  /** True if the next unit must be listened to for its language. */
  get #isJudged(): boolean {
    const { language } = this.#parts;
    return typeof language !== 'string' && language.settled === undefined;
  }

  #packAll(): void {
    for (const unit of this.#unjudged.splice(0)) this.#pack(unit);
  }

  #judge(unit: PackedUnit): void {
    const { reader, language, codeSwitching } = this.#parts;
    if (typeof language === 'string' || language.settled !== undefined) return;
    const audio = this.#track.view(
      unit.from,
      Math.min(unit.to, unit.from + languageWindowS * rateHz),
    );
    const distribution = reader.languagesOf(reader.encode(audio.slice(), languageWindowS));
    const found = language.judge(distribution, (unit.to - unit.from) / rateHz);
    language.accept(found);
    if (codeSwitching) unit.language = found;
  }

  #pack(unit: PackedUnit): void {
    const [other] = this.#units;
    const longer = new SpeechWindow([...this.#units, unit], this.#windowedTo, this.#track.end);
    if (other && (longer.seconds > mostWindowS || other.language !== unit.language))
      this.#close(unit.from);
    this.#units.push(unit);
  }

  /** Reads the waiting speech as one window. Audio after `latest` belongs to the next window. */
  #close(latest: number): void {
    const units = this.#units;
    const [first] = units;
    const last = units.at(-1);
    if (!first || !last) return;
    const { language } = this.#parts;
    this.#ready.push({
      window: new SpeechWindow(units, this.#windowedTo, latest),
      units,
      language: first.language ?? (typeof language === 'string' ? language : language.best),
    });
    this.#windowedTo = Math.min(last.to, latest);
    this.#units = [];
  }

  #readOn(ready: ReadyUnits): void {
    const { reader } = this.#parts;
    const [unit] = ready.alone ?? [];
    if (!ready.encoded) {
      const audio = ready.window.audio((from, to) => this.#track.view(from, to));
      ready.encoded = reader.encode(audio, windowOf(ready.window.seconds));
    } else if (!ready.alone) {
      const text = reader.read(ready.encoded, { languageOf: () => ready.language });
      ready.alone = this.#spread(ready, text);
    } else if (unit) {
      ready.alone.shift();
      this.#readAlone(unit, ready.language);
    }
    if (!ready.alone || ready.alone.length > 0) return;
    this.#ready.shift();
    for (const { of } of ready.units) {
      of.waiting--;
      of.language ||= ready.language;
    }
    this.#tell();
  }

  /** Gives the words of a window to its units. Returns the units that must be read alone. */
  #spread({ window, units }: ReadyUnits, text: WindowText): PackedUnit[] {
    const isOfNoUse = isLoop(text) || isNothing(text, window.seconds);
    if (isOfNoUse && (units.length > 1 || isLoop(text))) return [...units];
    const words = isOfNoUse ? [] : wordsOf(window, text);
    return units.flatMap((unit, index) => {
      const own = words.filter(({ start }) => window.unitAt(start) === index);
      unit.of.words.push(...own);
      return wordlessIn(own, unit, this.#voiced)
        .filter(({ from, to }) => this.#voiced.within(from, to) >= leastAloneS * rateHz)
        .map(({ from, to }) => ({ ...unit, from, to }));
    });
  }

  #readAlone(unit: PackedUnit, language: string): void {
    const { reader } = this.#parts;
    const window = new SpeechWindow([unit], 0, this.#track.end);
    const audio = window.audio((from, to) => this.#track.view(from, to));
    const wish = { languageOf: () => language };
    let text = reader.read(reader.encode(audio, windowOf(window.seconds)), wish);
    if (isLoop(text)) text = reader.read(reader.encode(audio), wish);
    if (isNothing(text, window.seconds)) {
      this.#emit({ type: 'wordless', from: unit.from / rateHz, to: unit.to / rateHz });
      return;
    }
    unit.of.words.push(...wordsOf(window, text));
    unit.of.words.sort((a, b) => a.start - b.start);
  }

  /** Emits, from the front, every utterance whose words are read. */
  #tell(): void {
    for (let head = this.#held[0]; head; head = this.#held[0]) {
      if (head.to === undefined || head.waiting > 0) return;
      this.#held.shift();
      const decidedS = head.to / rateHz;
      if (head.words.length > 0)
        this.#emit({ type: 'final', utterance: utteranceOf(head, this.#index++), decidedS });
      this.#progress(head.to, 0);
    }
  }

  #progress(at: number, everyS: number): void {
    if (at - this.#decided < everyS * rateHz) return;
    this.#decided = Math.max(at, this.#decided);
    this.#track.dropBefore(this.#decided - keptS * rateHz);
    this.#voiced.dropBefore(this.#decided - keptS * rateHz);
    this.#emit({ type: 'progress', at: this.#decided / rateHz });
  }

  #finishOrWait(): void {
    if (this.#finishing !== 'asked' || !this.settled) return;
    if (this.#units.length > 0) {
      this.#close(this.#track.end);
      return;
    }
    this.#finishing = 'done';
    this.#progress(this.#track.end, 0);
    this.#emit({ type: 'finished' });
  }
}

/** An engine that packs the speech of recordings. Live audio is read by the first engine. */
export function readPacked(first: Engine, reader: WhisperReader, vadModel: string): Engine {
  let opened: VoiceDetector | undefined;
  return {
    estimatedTimes: first.estimatedTimes,
    get readS() {
      return Math.max(first.readS, reader.spentS);
    },
    measure: () => first.measure(),
    readingShare: () => first.readingShare(),
    open(options, emit) {
      if (!options.recorded) return first.open(options, emit);
      const { languages, codeSwitching } = options;
      const covered = languages.filter((code) => reader.languages.includes(code));
      const [only] = covered;
      const isOne = only !== undefined && covered.length === 1;
      return new PackedReading(
        {
          reader,
          voice: (opened ??= new VoiceDetector(vadModel)).open(options.speechThreshold),
          language: isOne ? only : new HeardLanguage(covered, codeSwitching),
          codeSwitching,
        },
        options,
        emit,
      );
    },
  };
}

function wordsOf(window: SpeechWindow, text: WindowText): RecognisedWord[] {
  const about = { endOfAudioS: window.seconds, longestTokenS, agreedConfidence: 0 };
  return wordsWithoutLoops(wordsFromTokens(text.tokens, about), window.seconds).flatMap((timed) => {
    const { word, confidence } = timed;
    if (!/[\p{L}\p{N}]/u.test(word)) return [];
    const start = window.inStream(timed.start);
    return [{ word, start, end: Math.max(start, window.inStream(timed.end)), confidence }];
  });
}

function utteranceOf({ words, language }: HeldSpeech, index: number) {
  const sum = words.reduce((total, { confidence }) => total + confidence, 0);
  return {
    index,
    text: words.reduce((text, { word }) => text + between(text, word) + word, ''),
    start: words[0]?.start ?? 0,
    end: words.at(-1)?.end ?? 0,
    confidence: sum / Math.max(1, words.length),
    language,
    words,
  };
}

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Languages without spaces have a word for each of their signs. */
function between(before: string, word: string): string {
  const isJoined = unspaced.test(before.slice(-1)) || unspaced.test(word.slice(0, 1));
  return before === '' || isJoined ? '' : ' ';
}
