import type { Arrival, Engine, EngineSession, Urgency } from '../engine/engine.ts';
import { ranks } from '../engine/engine.ts';
import { cpuSeconds } from '../engine/load.ts';
import { expectedWords } from '../expected-words.ts';
import { AudioTrack } from '../offline/audio-track.ts';
import { wordsWithoutLoops } from '../offline/loops.ts';
import { bare, variations } from '../offline/readings.ts';
import { wordsFromTokens } from '../offline/word-times.ts';
import type { RecognisedWord, RecogniserEvent } from '../recogniser.ts';
import type { Reconciled } from './word-places.ts';
import { reconciled } from './reconcile.ts';
import type { Readers } from './weighing.ts';
import type { EncodedWindow, WhisperReader, WindowText } from './whisper-reader.ts';
import { mostWindowS, type SpeechUnit, SpeechWindow, unitsOf } from './reading-windows.ts';

const rateHz = 16000;
/**
 * A window with a higher no-speech probability counts as noise: the model reads noise as one or two words. Speech stays
 * below 0.11, noise above 0.7.
 */
const mostNoSpeech = 0.5;
/** A text that compresses by more than this factor repeats itself. */
const mostRepetition = 2.4;
/** Speech waits at most this long, in seconds of the stream, for its window to fill. */
export const maxHeldS = 60;
/** Audio before the decided position may still be a margin of the next window. */
const keptS = 1;
const longestTokenS = 0.5;
/** When the first reader is asked again, a stretch gets as much audio around it as in its own reading. */
const [marginsOfFirst] = variations;

type FirstFinal = Extract<RecogniserEvent, { type: 'final' }>;

/** An utterance of the first reader that is not emitted yet. */
type HeldUtterance = {
  final: FirstFinal;
  waiting: number;
  words: RecognisedWord[];
  revised: boolean;
};
type HeldUnit = SpeechUnit & { held: HeldUtterance };
type ReadyWindow = {
  window: SpeechWindow;
  units: readonly HeldUnit[];
  encoded?: EncodedWindow;
  text?: WindowText;
};

type SecondReader = Pick<WhisperReader, 'encode' | 'read' | 'likelihoods'>;
/** The first reader, if it can compute the likelihood of a text. */
export type LikelihoodReader = {
  likelihoods(audio: Float32Array, texts: readonly string[]): number[] | undefined;
};

/**
 * A recording that is read twice. The first reader finds the speech and its words; a slower one reads the same speech
 * again, half a minute at once. Its words are emitted as utterances of the first reader, which therefore wait:
 *
 *     first     ▇▆▇ 1   ▇▇ 2      ▆▇▇▇ 3     ▇▆ 4
 *     window   [▇▆▇ ▇▇ ▆▇▇▇]      full: 1, 2 and 3 are read and emitted; 4 begins the next
 *
 * If the second reader fails, the words of the first are emitted as they are.
 */
export class SecondReading implements EngineSession {
  readonly #first: EngineSession;
  readonly #reader: SecondReader;
  readonly #firstReader: LikelihoodReader | undefined;
  readonly #emit: (event: RecogniserEvent) => void;
  readonly #expected: ReadonlySet<string>;
  readonly #track = new AudioTrack();
  /** The first reader's events in order, beginning with the first utterance that waits for its second reading. */
  readonly #held: (HeldUtterance | Exclude<RecogniserEvent, { type: 'final' }>)[] = [];
  #units: HeldUnit[] = [];
  /** The last start and end of a voice. They cover more than the words of the first reader, which may lack some. */
  #voice = { from: 0, to: 0 };
  /** The end of the speech of earlier windows. */
  #windowedTo = 0;
  readonly #ready: ReadyWindow[] = [];

  constructor(
    open: (emit: (event: RecogniserEvent) => void) => EngineSession,
    reader: SecondReader,
    emit: (event: RecogniserEvent) => void,
    about: {
      expected?: readonly { text: string }[] | undefined;
      firstReader?: LikelihoodReader | undefined;
    } = {},
  ) {
    const { expected = [], firstReader } = about;
    this.#firstReader = firstReader;
    this.#emit = emit;
    this.#expected = new Set(expected.flatMap(({ text }) => text.split(/\s+/).map(bare)));
    this.#reader = reader;
    this.#first = open((event) => {
      this.#take(event);
    });
  }

  get settled(): boolean {
    return this.#first.settled && this.#ready.length === 0;
  }

  /** Only one window waits at a time: each holds half a minute of audio. */
  get full(): boolean {
    return this.#first.full || this.#ready.length > 0;
  }

  get dueMs(): number | undefined {
    return this.#first.dueMs;
  }

  get firstReadingMs(): number {
    return this.#first.firstReadingMs;
  }

  push(block: Float32Array): void {
    this.#track.push(block);
    this.#first.push(block);
  }

  listen(arrival: Arrival): void {
    this.#first.listen(arrival);
    const [oldest] = this.#units;
    if (oldest && this.#track.end - oldest.from > maxHeldS * rateHz) this.#close(this.#track.end);
  }

  finish(arrival: Arrival): void {
    this.#first.finish(arrival);
  }

  urgency(nowMs: number): Urgency | undefined {
    return this.#ready.length > 0
      ? { rank: ranks.bulk, dueMs: 0, needed: false }
      : this.#first.urgency(nowMs);
  }

  /** Encoding, writing and weighing are three steps, so that the process sends a sign of life in between. */
  step(nowMs: number): void {
    const [ready] = this.#ready;
    if (!ready) this.#first.step(nowMs);
    else if (!ready.encoded) {
      const audio = ready.window.audio((from, to) => this.#track.view(from, to));
      ready.encoded = this.#reader.encode(audio);
    } else if (!ready.text) ready.text = this.#reader.read(ready.encoded);
    else {
      this.#ready.shift();
      this.#read(ready, ready.text, ready.encoded);
      this.#tell();
    }
  }

  #take(event: RecogniserEvent): void {
    if (event.type === 'speech-start' || event.type === 'speech-end') {
      this.#voice[event.type === 'speech-start' ? 'from' : 'to'] = Math.round(event.at * rateHz);
      this.#emit(event); // the starts and ends of speech decide nothing, so they need not wait
    } else if (event.type === 'final') this.#hold(event);
    else {
      if (event.type === 'finished') this.#close(this.#track.end);
      this.#held.push(event);
    }
    this.#tell();
  }

  #hold(final: FirstFinal): void {
    const { utterance } = final;
    const held: HeldUtterance = { final, waiting: 0, words: [], revised: false };
    this.#held.push(held);
    // The model knows no other language.
    if (utterance.language !== 'en') return;
    const span = {
      from: Math.min(this.#voice.from, Math.round(utterance.start * rateHz)),
      to: Math.max(this.#voice.to, Math.round(utterance.end * rateHz)),
    };
    for (const unit of unitsOf(span, utterance.words)) {
      const units = [...this.#units, { ...unit, held }];
      const longer = new SpeechWindow(units, this.#windowedTo, this.#track.end);
      if (this.#units.length > 0 && longer.seconds > mostWindowS) this.#close(unit.from);
      held.waiting++;
      this.#units.push({ ...unit, held });
    }
  }

  /** Reads the waiting speech as one window. Audio after `latest` belongs to the next window. */
  #close(latest: number): void {
    const units = this.#units;
    const last = units.at(-1);
    if (!last) return;
    this.#ready.push({ window: new SpeechWindow(units, this.#windowedTo, latest), units });
    // The next utterance may begin before this one's speech ends. Its first words are read with it.
    this.#windowedTo = Math.min(last.to, latest);
    this.#units = [];
  }

  #read({ window, units }: ReadyWindow, text: WindowText, encoded: EncodedWindow): void {
    const said = failed(text) ? [] : this.#wordsOf(window, text);
    const before = units.flatMap(({ words }, unit) => words.map((word) => ({ ...word, unit })));
    const about = { expected: this.#expected, ...this.#asked(units, encoded) };
    const words = said.length === 0 ? before : reconciled(before, said, about);
    for (const [index, { held }] of units.entries()) {
      held.waiting--;
      held.revised ||= said.length > 0;
      for (const { unit, ...word } of words) if (unit === index) held.words.push(word);
    }
  }

  /** Both readers, for questions about each other's words. */
  #asked(units: readonly HeldUnit[], encoded: EncodedWindow): { readers?: Readers } {
    const firstReader = this.#firstReader;
    if (!firstReader) return {};
    return {
      readers: {
        units: units.map(({ from, to }) => ({ from: from / rateHz, to: to / rateHz })),
        first: ({ from, to }, texts) => {
          const first = Math.round((from - marginsOfFirst.before) * rateHz);
          const last = Math.round((to + marginsOfFirst.after) * rateHz);
          return firstReader.likelihoods(this.#track.view(first, last).slice(), texts);
        },
        second: (texts) => this.#reader.likelihoods(encoded, texts),
      },
    };
  }

  #wordsOf(window: SpeechWindow, text: WindowText): Reconciled[] {
    const words = wordsFromTokens(text.tokens, {
      endOfAudioS: window.seconds,
      longestTokenS,
      agreedConfidence: 0,
    });
    return wordsWithoutLoops(words, window.seconds).flatMap((timed) => {
      const { word, confidence } = timed;
      if (!/[\p{L}\p{N}]/u.test(word)) return [];
      const start = window.inStream(timed.start);
      const end = Math.max(start, window.inStream(timed.end));
      return [{ word, start, end, confidence, unit: window.unitAt(start) }];
    });
  }

  /** Emits, from the front, everything whose second reading is done. */
  #tell(): void {
    for (let head = this.#held[0]; head; head = this.#held[0]) {
      if ('final' in head) {
        if (head.waiting > 0) break;
        this.#emit(revised(head));
      } else if (head.type === 'wordless') {
        const next = this.#held.find((one) => 'final' in one || one.type !== 'wordless');
        if (!next || ('final' in next && next.waiting > 0)) break;
        if (!('final' in next) || !accountsFor(next, head)) this.#emit(head);
      } else this.#emit(head);
      this.#held.shift();
      const decidedS =
        'final' in head ? head.final.decidedS : head.type === 'progress' ? head.at : 0;
      this.#track.dropBefore((decidedS - keptS) * rateHz);
    }
  }
}

/** An engine that reads recordings twice. Live audio is read by the first reader alone. */
export function readTwice(
  first: Engine,
  reader: WhisperReader,
  firstReader: LikelihoodReader | undefined,
): Engine {
  let weighedS = 0;
  const weighing: LikelihoodReader | undefined = firstReader && {
    likelihoods(audio, texts) {
      let found: number[] | undefined;
      weighedS += cpuSeconds(() => {
        found = firstReader.likelihoods(audio, texts);
      });
      return found;
    },
  };
  return {
    estimatedTimes: first.estimatedTimes,
    get readS() {
      return first.readS + reader.spentS + weighedS;
    },
    measure: () => first.measure(),
    readingShare: () => first.readingShare(),
    open(options, emit) {
      if (!options.recorded) return first.open(options, emit);
      const about = {
        expected: expectedWords(options.vocabulary, options.languages),
        firstReader: weighing,
      };
      return new SecondReading((take) => first.open(options, take), reader, emit, about);
    },
  };
}

/** True if a text must be ignored: the model found no speech, wrote nothing or repeated itself. */
function failed({ text, noSpeech, repetition }: WindowText): boolean {
  return text === '' || noSpeech > mostNoSpeech || repetition > mostRepetition;
}

/** True if the second reader found words where the first had none. */
function accountsFor(
  { words }: HeldUtterance,
  { from, to }: { from: number; to: number },
): boolean {
  return words.some(({ start, end }) => (start + end) / 2 > from && (start + end) / 2 < to);
}

function revised({ final, words, revised }: HeldUtterance): FirstFinal {
  if (!revised || words.length === 0) return final;
  const { utterance } = final;
  const sum = words.reduce((total, { confidence }) => total + confidence, 0);
  return {
    ...final,
    utterance: {
      ...utterance,
      text: words.map(({ word }) => word).join(' '),
      start: words[0]?.start ?? utterance.start,
      end: words.at(-1)?.end ?? utterance.end,
      confidence: sum / words.length,
      words,
    },
  };
}
