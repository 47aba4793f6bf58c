import type { FromChild } from './messages.ts';
import type { RecogniserProcess } from './process.ts';
import type {
  RecognisedUtterance,
  RecogniserEvent,
  RecogniserStream,
  RecogniserStreamOptions,
} from '../recogniser.ts';

/**
 * A stream's audio from the last decided second on: what a replacement process must hear again.
 * Positions are samples since the start of the stream.
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

  /** Copies: the caller's buffer may be used again. */
  push(samples: Int16Array): void {
    if (samples.length === 0) return;
    this.#chunks.push(samples.slice());
    this.#end += samples.length;
  }

  /** Forgets what lies before the position, to the sample. */
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

  /** Up to `most` samples from a position that is still kept. */
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

/** What a process may hold of one stream before it has looked at it; the rest waits here. */
const sentAheadS = 4;
const pieceS = 0.5;
/** Longer undecided audio means that nobody reads `backlogS`; the bound of this queue. */
const mostKeptS = 900;
/** The same audio ended this many processes: it is the audio. */
const mostDeaths = 3;

/**
 * A stream as its session sees it, over however many processes it takes. Its own count of samples
 * and utterances goes on; each process counts from the audio that it was given.
 *
 *   |-- decided, forgotten --|-- kept: a replacement hears it again --------------------|
 *                            base      consumed        sent                          end
 */
export class PoolStream implements RecogniserStream {
  readonly options: RecogniserStreamOptions;
  readonly #kept = new KeptAudio();
  readonly #onEvent: (event: RecogniserEvent) => void;
  readonly #onDone: () => void;
  readonly #newNumber: () => number;
  #process: RecogniserProcess | undefined;
  #number = 0;
  #base = { sample: 0, index: 0 };
  #sent = 0;
  #consumed = 0;
  #index = 0;
  #speaking = false;
  #speechSaidS = 0;
  /** What the processes before this one said of speech reaches to here. */
  #heardBeforeS = 0;
  #finish: 'open' | 'asked' | 'sent' = 'open';
  #deaths = 0;
  #done = false;

  constructor(
    options: RecogniserStreamOptions,
    hooks: {
      onEvent: (event: RecogniserEvent) => void;
      onDone: () => void;
      newNumber: () => number;
    },
  ) {
    this.options = options;
    this.#onEvent = hooks.onEvent;
    this.#onDone = hooks.onDone;
    this.#newNumber = hooks.newNumber;
  }

  get process(): RecogniserProcess | undefined {
    return this.#process;
  }

  get backlogS(): number {
    return this.#done ? 0 : (this.#kept.end - this.#consumed) / this.options.sampleRate;
  }

  push(samples: Int16Array): void {
    if (this.#done || this.#finish !== 'open') return;
    this.#kept.push(samples);
    if (this.#kept.end - this.#kept.start > mostKeptS * this.options.sampleRate) {
      this.fail('more than 15 minutes of audio wait for recognition');
      return;
    }
    this.#pump();
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

  /** Goes on in this process from the last decided second. */
  attach(process: RecogniserProcess): void {
    if (this.#done) return;
    this.#process = process;
    this.#number = this.#newNumber();
    this.#base = { sample: this.#kept.start, index: this.#index };
    this.#sent = this.#kept.start;
    this.#consumed = this.#kept.start;
    this.#heardBeforeS = this.#speechSaidS;
    if (this.#finish === 'sent') this.#finish = 'asked';
    process.listen(this.#number, (message) => this.#receive(message));
    process.send({ type: 'open', stream: this.#number, options: this.options });
    this.#pump();
  }

  /** The process is gone. False when this audio has ended too many of them. */
  detach(): boolean {
    this.#process = undefined;
    // A stream that the process was not working for is not to blame.
    if (this.#sent > this.#consumed || this.#finish === 'sent') this.#deaths++;
    return this.#deaths < mostDeaths;
  }

  #pump(): void {
    const process = this.#process;
    if (!process || this.#done) return;
    const { sampleRate } = this.options;
    while (this.#sent < this.#kept.end && this.#sent - this.#consumed < sentAheadS * sampleRate) {
      const samples = this.#kept.read(this.#sent, pieceS * sampleRate);
      process.send({ type: 'audio', stream: this.#number, samples });
      this.#sent += samples.length;
    }
    if (this.#finish === 'asked' && this.#sent === this.#kept.end) {
      process.send({ type: 'finish', stream: this.#number });
      this.#finish = 'sent';
    }
  }

  #receive(message: Extract<FromChild, { stream: number }>): void {
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
        const decidedS = event.decidedS + offsetS;
        this.#index = utterance.index + 1;
        this.#decided(decidedS);
        this.#onEvent({ type: event.type, utterance, decidedS });
        return;
      }
      case 'progress': {
        const at = event.at + offsetS;
        this.#decided(at);
        this.#onEvent({ type: event.type, at });
        return;
      }
      case 'finished':
      case 'failed':
        this.#end();
        this.#onEvent(event);
    }
  }

  /** A replacement hears the open utterance again: what was said of it already is not said twice. */
  #speech(type: 'speech-start' | 'speech-end', at: number): void {
    const starts = type === 'speech-start';
    if (this.#speaking === starts || (starts && at < this.#heardBeforeS)) return;
    this.#speaking = starts;
    this.#speechSaidS = at;
    this.#onEvent({ type, at });
  }

  #decided(second: number): void {
    this.#kept.dropBefore(Math.floor(second * this.options.sampleRate));
    this.#deaths = 0;
  }

  #moved(utterance: RecognisedUtterance, offsetS: number): RecognisedUtterance {
    const shift = (at: number) => Math.round((at + offsetS) * 1000) / 1000;
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
    this.#onDone();
  }
}
