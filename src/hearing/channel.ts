import { type Clock, wait } from '../lib/clock.ts';
import type { ExpectedAnswer } from './expected-words.ts';
import { hearingMetrics } from './metrics.ts';
import type {
  RecognisedUtterance,
  Recogniser,
  RecogniserEvent,
  RecogniserStream,
  RecogniserStreamOptions,
} from './recogniser.ts';

export type ChannelEvent =
  | { type: 'speech-start' | 'speech-end'; at: number }
  | { type: 'partial'; utterance: RecognisedUtterance }
  | { type: 'final'; utterance: RecognisedUtterance; decidedS: number }
  /** A voice was heard between these seconds, and no reading found words for it. */
  | { type: 'wordless'; from: number; to: number }
  /** All received audio has been decided. */
  | { type: 'finished' }
  /** The channel gave up because several streams in a row failed. */
  | { type: 'failed'; reason: string };

type ChannelOptions = {
  stream: RecogniserStreamOptions;
  recogniser: Recogniser;
  clock: Clock;
  /** Reads up to `frames` samples of this channel back, from frame `fromFrame` on. */
  read(fromFrame: number, frames: number): Promise<Int16Array>;
  /** Returns the number of frames received so far. */
  received(): number;
  onEvent(event: ChannelEvent): void;
  /** The position up to which an earlier run of the process decided everything. */
  start?: { frame: number; utterances: number };
};

/** At most this many seconds of audio are read from the disk at a time. */
const catchUpS = 1;
/** While a stream catches up, it gets no more audio if this much already waits for the recogniser. */
export const maxAheadOfRecogniserS = 10;
const lookAgainMs = 50;
/**
 * A channel fails after this many streams in a row failed. A refused stream does not count: a recogniser that is full
 * or still loading may need minutes.
 */
const attempts = 5;
const refusedRetryMs = 1_000;

/**
 * One channel of a session and its recogniser stream. A stream counts time and utterances from its first audio. When a
 * stream fails or the process restarts, a new stream begins at the last decided frame and reads the session's stored
 * audio from there. This class shifts its times and numbers to those of the session.
 */
export class Channel {
  readonly #options: ChannelOptions;
  readonly #rate: number;
  #stream: RecogniserStream | undefined;
  /** The first frame of the open stream, and the number of utterances before that frame. */
  #baseFrame: number;
  #baseIndex: number;
  #fedFrames: number;
  #decidedFrame: number;
  #utterances: number;
  #speaking = false;
  #expects: ExpectedAnswer | undefined;
  #numberPauseS: number | undefined;
  /** The open stream was told to finish: nothing more may be pushed into it. */
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
    this.#expects = options.stream.expects;
    this.#numberPauseS = options.stream.numberPauseS;
  }

  /** The second of the session up to which everything is decided. */
  get decidedS(): number {
    return this.#over ? this.#options.received() / this.#rate : this.#decidedFrame / this.#rate;
  }

  /** The first frame that a new stream would need. */
  get decidedFrame(): number {
    return this.#decidedFrame;
  }

  /** Seconds of audio that were received and not decoded yet. */
  get backlogS(): number {
    const unfed = (this.#options.received() - this.#fedFrames) / this.#rate;
    return this.#over ? 0 : unfed + (this.#stream?.backlogS ?? 0);
  }

  /** Takes the newest samples, which `received` already counts. */
  push(samples: Int16Array): void {
    if (this.#over) return;
    const isNext = this.#fedFrames + samples.length === this.#options.received();
    if (!this.#catchingUp && isNext && !this.#streamClosing && (this.#stream ?? this.#open())) {
      this.#fedFrames += samples.length;
      this.#stream?.push(samples);
    } else void this.#catchUp();
  }

  /** Sets the kind of answer that is expected from here on, or none. */
  expect(answer: ExpectedAnswer | undefined): void {
    this.#expects = answer;
    this.#stream?.expect(answer);
  }

  /**
   * Changes how much longer to wait when an utterance ends inside a number. A stream that is already open keeps its old
   * setting.
   */
  waitForNumbers(numberPauseS: number): void {
    this.#numberPauseS = numberPauseS;
  }

  /** Marks the audio as complete. The rest is decided, then `finished` is emitted. */
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

  /** Reads the audio that the stream has not received yet, and feeds it at the recogniser's pace. */
  async #catchUp(): Promise<void> {
    if (this.#catchingUp || this.#streamClosing) return;
    this.#catchingUp = true;
    try {
      while (!this.#isOver()) {
        const left = this.#options.received() - this.#fedFrames;
        if (left === 0) break;
        if (!(this.#stream ?? this.#open())) return;
        if ((this.#stream?.backlogS ?? 0) > maxAheadOfRecogniserS) {
          await wait(this.#options.clock, lookAgainMs);
          continue;
        }
        const from = this.#fedFrames;
        const stream = this.#stream;
        const samples = await this.#options.read(from, Math.min(left, catchUpS * this.#rate));
        // The stream may have failed during the read. Its successor begins at another frame.
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
    try {
      if (this.#finishing && !this.#isOver()) this.#finishStream();
    } catch (error) {
      this.#giveUp(error instanceof Error ? error.message : 'the stream could not be finished');
    }
  }

  #finishStream(): void {
    // A channel without samples has nothing to decide and opens no stream.
    if (this.#stream) {
      this.#streamClosing = true;
      this.#stream.finish();
    } else if (this.#fedFrames === this.#baseFrame) this.#end();
  }

  #open(): boolean {
    const index = this.#baseIndex;
    const frame = this.#baseFrame;
    let live = true;
    const admission = this.#options.recogniser.open(
      { ...this.#options.stream, expects: this.#expects, numberPauseS: this.#numberPauseS },
      (event) => {
        if (live && !this.#isOver()) live = this.#onEvent(event, frame / this.#rate, index);
      },
    );
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

  /** Returns false if later events of this stream must be ignored. */
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
      case 'wordless': {
        const { from, to } = event;
        hearingMetrics.wordless.inc(to - from);
        this.#options.onEvent({ type: 'wordless', from: from + offsetS, to: to + offsetS });
        return true;
      }
      case 'finished':
        this.#finished();
        return false;
      case 'failed':
        this.#lost(event.reason);
        return false;
    }
  }

  /** A new stream hears the start of the speech again, but the start is reported only once. */
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

  /** A client may send held-back audio after its stop. A new stream then takes that audio. */
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
