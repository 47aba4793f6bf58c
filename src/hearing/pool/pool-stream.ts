import { round3 } from '../../lib/round.ts';
import { blockSamplesOf, type OfStream } from '../engine/child-messages.ts';
import type { ExpectedAnswer } from '../expected-words.ts';
import type { RecogniserProcess } from './process.ts';
import type {
  RecognisedUtterance,
  RecogniserEvent,
  RecogniserStream,
  RecogniserStreamOptions,
} from '../recogniser.ts';

/**
 * A stream's audio from the last decided second on. A process that replaces a dead one gets this audio again. Positions
 * are samples from the start of the stream.
 */
export class KeptAudio {
  readonly #chunks: Int16Array[] = [];
  #start = 0;
  #end = 0;

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#end;
  }

  /** Copies the samples, because the caller may reuse its buffer. */
  push(samples: Int16Array): void {
    if (samples.length === 0) return;
    this.#chunks.push(samples.slice());
    this.#end += samples.length;
  }

  /** Drops everything before the position, exact to the sample. */
  dropBefore(position: number): void {
    while (this.#start < position) {
      const first = this.#chunks[0];
      if (!first) return;
      const rest = position - this.#start;
      if (rest < first.length) {
        this.#chunks[0] = first.subarray(rest);
        this.#start = position;
        return;
      }
      this.#chunks.shift();
      this.#start += first.length;
    }
  }

  /** Reads up to `most` samples from a position that is still kept. */
  read(position: number, most: number): Int16Array {
    const samples = new Int16Array(Math.max(0, Math.min(most, this.#end - position)));
    let filled = 0;
    let at = this.#start;
    for (const chunk of this.#chunks) {
      if (filled === samples.length) break;
      const from = Math.max(0, position + filled - at);
      if (from < chunk.length) {
        const part = chunk.subarray(from, from + samples.length - filled);
        samples.set(part, filled);
        filled += part.length;
      }
      at += chunk.length;
    }
    return samples;
  }
}

/**
 * A process holds at most this much unprocessed audio of one stream. The rest waits in the stream, so that only this
 * much must be sent again if the process dies.
 */
export const maxSentAheadS = 4;
const pieceS = 0.5;

/** The pool of a stream, as the stream needs it. */
export type PoolHooks = {
  onDone: () => void;
  /** Called when detection is sure of the language of further speech. */
  onSettled: (language: string) => void;
  /**
   * Called when a final hardly sounds like the language that was found. Returns true if another pool has taken the
   * stream: it hears the same audio again. Missing in pools that hear all languages.
   */
  onDoubt?: () => boolean;
  newNumber: () => number;
};

/**
 * A model for one language writes that language whatever is said, and is unsure of its words then. Of 45
 * utterances in five other languages 44 were below this confidence, of ten English ones none (the lowest: 0.95).
 */
const doubtedConfidence = 0.8;
/** Shorter speech tells too little about its language. */
const leastDoubtedS = 2;

type Expectation = { answer: ExpectedAnswer | undefined; from: number };

/**
 * A stream keeps at most this much undecided audio. A session reads its socket slowly long before that. A stream that
 * reaches this limit has a caller that ignores `backlogS`, and it fails instead of filling the memory.
 */
export const maxKeptAudioS = 900;
/** If the same audio has ended this many processes, the audio is the cause and its stream fails. */
const mostDeaths = 3;

/**
 * A stream as its session sees it, over all processes that serve it one after the other. The stream counts samples and
 * utterances from its own beginning. Each process counts from the first audio that it was given, and this class shifts
 * its
 * times and numbers.
 *
 *     base       where the present process began
 *     consumed   what that process has looked at
 *     sent       what it was sent
 *     end        what the session has pushed
 */
export class PoolStream implements RecogniserStream {
  #options: RecogniserStreamOptions;
  readonly #kept = new KeptAudio();
  readonly #onEvent: (event: RecogniserEvent) => void;
  #hooks: PoolHooks;
  /** The expected answers, each from a sample of the stream on. Those before the last decided one are dropped. */
  readonly #expectations: Expectation[] = [];
  /** The requested languages, once one of them was found. */
  #asked: string[] | undefined;
  /** The language that was doubted last. */
  #doubted: string | undefined;
  /** Finals that are not doubted after a doubt. Their number doubles with each doubt that found the same language. */
  #trusted = { left: 0, next: 1 };
  #process: RecogniserProcess | undefined;
  #number = 0;
  #base = { sample: 0, index: 0 };
  #sent = 0;
  #consumed = 0;
  #index = 0;
  #speaking = false;
  #speechSaidS = 0;
  /** Earlier processes have reported starts and ends of speech up to this second. */
  #heardBeforeS = 0;
  #finish: 'open' | 'asked' | 'sent' = 'open';
  #deaths = 0;
  #done = false;

  constructor(
    options: RecogniserStreamOptions,
    onEvent: (event: RecogniserEvent) => void,
    hooks: PoolHooks,
  ) {
    this.#options = options;
    this.#onEvent = onEvent;
    this.#hooks = hooks;
  }

  get options(): RecogniserStreamOptions {
    return this.#options;
  }

  get process(): RecogniserProcess | undefined {
    return this.#process;
  }

  /** True if the session has closed it, or nothing more can come of it. */
  get isOver(): boolean {
    return this.#done;
  }

  get backlogS(): number {
    return this.#done ? 0 : (this.#kept.end - this.#consumed) / this.options.sampleRate;
  }

  push(samples: Int16Array): void {
    if (this.#done || this.#finish !== 'open') return;
    this.#kept.push(samples);
    if (this.#kept.end - this.#kept.start > maxKeptAudioS * this.options.sampleRate) {
      this.fail('more than 15 minutes of audio wait for recognition');
      return;
    }
    this.#pump();
  }

  expect(answer: ExpectedAnswer | undefined): void {
    if (this.#done || this.#finish !== 'open') return;
    const expectation = { answer, from: this.#kept.end };
    this.#expectations.push(expectation);
    if (this.#process) this.#sendExpectation(this.#process, expectation);
  }

  finish(): void {
    if (this.#finish !== 'open') return;
    this.#finish = 'asked';
    this.#pump();
  }

  close(): void {
    if (this.#done) return;
    this.#process?.send({ type: 'close', stream: this.#number });
    this.#end();
  }

  fail(reason: string): void {
    if (this.#done) return;
    this.#process?.send({ type: 'close', stream: this.#number });
    this.#end();
    this.#onEvent({ type: 'failed', reason });
  }

  /** Leaves its pool for another one, where it waits for a process. Nothing after the last decided second is lost. */
  moveTo(hooks: PoolHooks): void {
    this.#process?.send({ type: 'close', stream: this.#number });
    this.#process?.forget(this.#number);
    this.#process = undefined;
    this.#hooks = hooks;
  }

  /** Continues in this process, which gets the audio after the last decided second again. */
  attach(process: RecogniserProcess): void {
    if (this.#done) return;
    this.#process = process;
    this.#number = this.#hooks.newNumber();
    this.#base = { sample: this.#kept.start, index: this.#index };
    this.#sent = this.#kept.start;
    this.#consumed = this.#kept.start;
    this.#heardBeforeS = this.#speechSaidS;
    if (this.#finish === 'sent') this.#finish = 'asked';
    process.listen(this.#number, (message) => this.#receive(message));
    process.send({ type: 'open', stream: this.#number, options: this.options });
    for (const expectation of this.#expectations) this.#sendExpectation(process, expectation);
    this.#pump();
  }

  /** Handles the loss of the process. Returns false if this stream's audio has ended too many processes. */
  detach(): boolean {
    this.#process = undefined;
    // Only a stream whose audio the process was working on can have ended it.
    if (this.#sent > this.#consumed || this.#finish === 'sent') this.#deaths++;
    return this.#deaths < mostDeaths;
  }

  #sendExpectation(process: RecogniserProcess, { answer, from }: Expectation): void {
    const fromBase = Math.max(0, from - this.#base.sample);
    process.send({ type: 'expect', stream: this.#number, answer, from: fromBase });
  }

  #pump(): void {
    const process = this.#process;
    if (!process || this.#done) return;
    const { sampleRate } = this.options;
    const end = this.#endOfBlocks;
    while (this.#sent < end && this.#sent - this.#consumed < maxSentAheadS * sampleRate) {
      const samples = this.#kept.read(this.#sent, Math.min(pieceS * sampleRate, end - this.#sent));
      process.send({ type: 'audio', stream: this.#number, samples });
      this.#sent += samples.length;
    }
    if (this.#finish === 'asked' && this.#sent === this.#kept.end) {
      process.send({ type: 'finish', stream: this.#number });
      this.#finish = 'sent';
    }
  }

  /**
   * The end of the last whole block, since the process uses only whole blocks. Calls bring 20 ms at a time, and each
   * message has a cost.
   */
  get #endOfBlocks(): number {
    const { end } = this.#kept;
    if (this.#finish !== 'open') return end;
    return end - ((end - this.#base.sample) % blockSamplesOf(this.options.sampleRate));
  }

  #receive(message: OfStream): void {
    if (this.#done) return;
    if (message.type === 'consumed') {
      this.#consumed += message.samples;
      this.#pump();
      return;
    }
    this.#relay(message.event);
  }

  #relay(event: RecogniserEvent): void {
    const offsetS = this.#base.sample / this.options.sampleRate;
    switch (event.type) {
      case 'speech-start':
      case 'speech-end':
        this.#speech(event.type, event.at + offsetS);
        return;
      case 'partial':
        this.#onEvent({ type: event.type, utterance: this.#moved(event.utterance, offsetS) });
        return;
      case 'final': {
        const utterance = this.#moved(event.utterance, offsetS);
        if (this.#isDoubted(utterance)) return;
        const decidedS = event.decidedS + offsetS;
        this.#index = utterance.index + 1;
        this.#decided(decidedS);
        this.#onEvent({ type: event.type, utterance, decidedS });
        if (event.settledLanguage !== undefined) this.#settle(event.settledLanguage);
        return;
      }
      case 'progress': {
        const at = event.at + offsetS;
        this.#decided(at);
        this.#onEvent({ type: event.type, at });
        return;
      }
      case 'wordless': {
        const { from, to } = event;
        this.#onEvent({ type: event.type, from: from + offsetS, to: to + offsetS });
        return;
      }
      case 'finished':
      case 'failed':
        this.#end();
        this.#onEvent(event);
    }
  }

  /**
   * A replacement process hears the open utterance again from its beginning. Starts and ends of speech that the
   * previous process reported are not reported again.
   */
  #speech(type: 'speech-start' | 'speech-end', at: number): void {
    const starts = type === 'speech-start';
    if (this.#speaking === starts || (starts && at < this.#heardBeforeS)) return;
    this.#speaking = starts;
    this.#speechSaidS = at;
    this.#onEvent({ type, at });
  }

  /**
   * True if another pool finds the language of this speech again. Nothing of it is decided yet, so that pool gets its
   * audio and emits its final.
   */
  #isDoubted({ start, end, confidence }: RecognisedUtterance): boolean {
    const { onDoubt } = this.#hooks;
    if (!this.#asked || !onDoubt || end - start < leastDoubtedS) return false;
    const { left, next } = this.#trusted;
    if (left > 0) this.#trusted.left--;
    if (left > 0 || confidence >= doubtedConfidence) return false;
    const found = this.#options;
    this.#options = { ...found, languages: this.#asked };
    if (!onDoubt()) {
      this.#options = found;
      return false;
    }
    this.#doubted = found.languages[0];
    this.#trusted = { left: next, next: 2 * next };
    return true;
  }

  /** From here on a new process need not find the language again, and a process of another model may read it. */
  #settle(language: string): void {
    const { languages } = this.#options;
    if (this.#done || (languages.length === 1 && languages[0] === language)) return;
    this.#asked ??= languages;
    if (language !== this.#doubted) this.#trusted = { left: 0, next: 1 };
    this.#options = { ...this.#options, languages: [language], codeSwitching: false };
    this.#hooks.onSettled(language);
  }

  #decided(second: number): void {
    const position = Math.floor(second * this.options.sampleRate);
    this.#kept.dropBefore(position);
    const last = this.#expectations.findLastIndex(({ from }) => from <= position);
    if (last > 0) this.#expectations.splice(0, last);
    this.#deaths = 0;
  }

  #moved(utterance: RecognisedUtterance, offsetS: number): RecognisedUtterance {
    const shift = (at: number) => round3(at + offsetS);
    return {
      ...utterance,
      index: utterance.index + this.#base.index,
      start: shift(utterance.start),
      end: shift(utterance.end),
      words: utterance.words.map((word) => ({
        ...word,
        start: shift(word.start),
        end: shift(word.end),
      })),
    };
  }

  #end(): void {
    this.#done = true;
    this.#process?.forget(this.#number);
    this.#process = undefined;
    this.#hooks.onDone();
  }
}
