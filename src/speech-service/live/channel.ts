import { wait, type Clock } from '../../lib/clock.ts';
import type {
  Recogniser,
  RecognisedUtterance,
  RecogniserEvent,
  RecogniserStream,
  RecogniserStreamOptions,
} from '../recognition/recogniser.ts';

export type ChannelEvent =
  | { type: 'speech-start' | 'speech-end'; at: number }
  | { type: 'partial'; utterance: RecognisedUtterance }
  | { type: 'final'; utterance: RecognisedUtterance; decidedS: number }
  /** Everything received so far is decided. */
  | { type: 'finished' }
  /** Given up after the attempts below. */
  | { type: 'failed'; reason: string };

export type ChannelOptions = {
  stream: RecogniserStreamOptions;
  recogniser: Recogniser;
  clock: Clock;
  /** Samples of this channel from that frame on, at most that many; fewer at the end. */
  read(fromFrame: number, frames: number): Promise<Int16Array>;
  /** Frames received so far. */
  received(): number;
  onEvent(event: ChannelEvent): void;
  /** Where an earlier run of the process had decided everything. */
  start?: { frame: number; utterances: number };
};

/** How much is read back at a time, and how far ahead of the recogniser: it has its own queue. */
const catchUpS = 1;
const furthestAheadS = 10;
const lookAgainMs = 50;
/** A recogniser that is full or still loading may take minutes; one that breaks at once will not mend. */
const attempts = 5;
const refusedRetryMs = 1_000;

/**
 * One channel of a session in front of a recogniser stream. The stream's clock starts when it opens, and
 * it may be opened again (a stream that failed, a process that started again): times and numbers are
 * moved here, and what the new stream has to hear again is read back from the tape.
 */
export class Channel {
  readonly #options: ChannelOptions;
  readonly #rate: number;
  #stream: RecogniserStream | undefined;
  /** The frame that is the open stream's time zero, and the utterances that came before it. */
  #baseFrame: number;
  #baseIndex: number;
  #fedFrames: number;
  #decidedFrame: number;
  #utterances: number;
  #speaking = false;
  /** `finish` was said to the open stream: nothing more may be pushed into it. */
  #streamClosing = false;
  #catchingUp = false;
  #finishing = false;
  #over = false;
  #failures = 0;
  #cancelRetry: () => void = () => undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#rate = options.stream.sampleRate;
    this.#baseFrame = this.#fedFrames = this.#decidedFrame = options.start?.frame ?? 0;
    this.#baseIndex = this.#utterances = options.start?.utterances ?? 0;
  }

  /** Seconds of the session up to which everything is decided. */
  get decidedS(): number {
    return this.#over ? this.#options.received() / this.#rate : this.#decidedFrame / this.#rate;
  }

  /** What the stream may still ask for again starts here. */
  get decidedFrame(): number {
    return this.#decidedFrame;
  }

  /** Seconds received and not yet decoded. */
  get backlogS(): number {
    const unfed = (this.#options.received() - this.#fedFrames) / this.#rate;
    return this.#over ? 0 : unfed + (this.#stream?.backlogS ?? 0);
  }

  /** The newest samples, already counted by `received`. */
  push(samples: Int16Array): void {
    if (this.#over) return;
    const isNext = this.#fedFrames + samples.length === this.#options.received();
    if (!this.#catchingUp && isNext && !this.#streamClosing && (this.#stream ?? this.#open())) {
      this.#fedFrames += samples.length;
      this.#stream?.push(samples);
    } else void this.#catchUp();
  }

  /** No more audio: decide the rest, then `finished`. */
  finish(): void {
    if (this.#finishing || this.#over) return;
    this.#finishing = true;
    void this.#catchUp();
  }

  close(): void {
    this.#over = true;
    this.#cancelRetry();
    this.#stream?.close();
    this.#stream = undefined;
  }

  /** Feeds from the tape until nothing is left, at the recogniser's pace. */
  async #catchUp(): Promise<void> {
    if (this.#catchingUp || this.#streamClosing) return;
    this.#catchingUp = true;
    try {
      while (!this.#isOver()) {
        const left = this.#options.received() - this.#fedFrames;
        if (left === 0) break;
        if (!(this.#stream ?? this.#open())) return;
        if ((this.#stream?.backlogS ?? 0) > furthestAheadS) {
          await wait(this.#options.clock, lookAgainMs);
          continue;
        }
        const from = this.#fedFrames;
        const stream = this.#stream;
        const samples = await this.#options.read(from, Math.min(left, catchUpS * this.#rate));
        // The stream may have been lost during the read, and another one begins elsewhere.
        if (this.#stream !== stream || this.#fedFrames !== from) continue;
        if (samples.length === 0) {
          await wait(this.#options.clock, lookAgainMs);
          continue;
        }
        this.#fedFrames += samples.length;
        stream?.push(samples);
      }
    } catch (error) {
      this.#giveUp(error instanceof Error ? error.message : 'the audio could not be read back');
    } finally {
      this.#catchingUp = false;
    }
    if (this.#finishing && !this.#isOver()) this.#finishStream();
  }

  #finishStream(): void {
    // A session without a sample has nothing to decide and needs no recogniser.
    if (this.#stream) {
      this.#streamClosing = true;
      this.#stream.finish();
    } else if (this.#fedFrames === this.#baseFrame) this.#end();
  }

  #open(): boolean {
    const index = this.#baseIndex;
    const frame = this.#baseFrame;
    let live = true;
    const admission = this.#options.recogniser.open(this.#options.stream, (event) => {
      if (live && !this.#isOver()) live = this.#onEvent(event, frame / this.#rate, index);
    });
    if (admission.outcome === 'admitted') {
      this.#stream = admission.stream;
      return true;
    }
    if (admission.outcome === 'language') this.#giveUp(admission.detail);
    else this.#retryIn(refusedRetryMs);
    return false;
  }

  #retryIn(delayMs: number): void {
    this.#cancelRetry();
    this.#cancelRetry = this.#options.clock.after(delayMs, () => void this.#catchUp());
  }

  /** False once nothing more of this stream counts. */
  #onEvent(event: RecogniserEvent, offsetS: number, baseIndex: number): boolean {
    switch (event.type) {
      case 'speech-start':
      case 'speech-end':
        this.#speech(event.type, event.at + offsetS);
        return true;
      case 'partial':
        this.#options.onEvent({ ...event, utterance: moved(event.utterance, offsetS, baseIndex) });
        return true;
      case 'final': {
        const utterance = moved(event.utterance, offsetS, baseIndex);
        this.#utterances = Math.max(this.#utterances, utterance.index + 1);
        const decidedS = event.decidedS + offsetS;
        this.#decide(decidedS);
        this.#failures = 0;
        this.#options.onEvent({ type: 'final', utterance, decidedS });
        return true;
      }
      case 'progress':
        this.#decide(event.at + offsetS);
        return true;
      case 'finished':
        this.#finished();
        return false;
      case 'failed':
        this.#lost(event.reason);
        return false;
    }
  }

  /** A stream that starts again hears the beginning of the same speech again: it is said once. */
  #speech(type: 'speech-start' | 'speech-end', at: number): void {
    const starts = type === 'speech-start';
    if (this.#speaking === starts) return;
    this.#speaking = starts;
    this.#options.onEvent({ type, at });
  }

  #decide(second: number): void {
    const frame = Math.min(Math.floor(second * this.#rate), this.#fedFrames);
    this.#decidedFrame = Math.max(this.#decidedFrame, frame);
  }

  /** Audio that a client sent again after its stop may have come meanwhile: another stream takes it. */
  #finished(): void {
    this.#streamClosing = false;
    this.#stream = undefined;
    this.#decidedFrame = this.#baseFrame = this.#fedFrames;
    this.#baseIndex = this.#utterances;
    if (this.#options.received() === this.#fedFrames) this.#end();
    else void this.#catchUp();
  }

  #lost(reason: string): void {
    this.#stream = undefined;
    this.#streamClosing = false;
    this.#failures++;
    if (this.#failures >= attempts) {
      this.#giveUp(reason);
      return;
    }
    this.#baseFrame = this.#fedFrames = this.#decidedFrame;
    this.#baseIndex = this.#utterances;
    this.#retryIn(100 * 2 ** this.#failures);
  }

  #giveUp(reason: string): void {
    if (this.#over) return;
    this.close();
    this.#options.onEvent({ type: 'failed', reason });
  }

  #end(): void {
    this.#over = true;
    this.#stream = undefined;
    this.#options.onEvent({ type: 'finished' });
  }

  #isOver(): boolean {
    return this.#over;
  }
}

function moved(
  utterance: RecognisedUtterance,
  offsetS: number,
  baseIndex: number,
): RecognisedUtterance {
  if (offsetS === 0 && baseIndex === 0) return utterance;
  return {
    ...utterance,
    index: utterance.index + baseIndex,
    start: utterance.start + offsetS,
    end: utterance.end + offsetS,
    words: utterance.words.map((word) => ({
      ...word,
      start: word.start + offsetS,
      end: word.end + offsetS,
    })),
  };
}
