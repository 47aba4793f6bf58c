import { type Clock, wait } from '../../lib/clock.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import { speechMetrics } from '../metrics.ts';
import { type AudioFormat, frameBytes, samplesOf } from './audio-format.ts';
import type { FrameCutter } from './frame-cutter.ts';
import { lostAckWindowMs } from './overlap.ts';
import { expectedWords } from '../../hearing/expected-words.ts';
import type { SessionResults } from './result.ts';
import type { SessionAudio } from './session-audio.ts';
import type {
  RecognisedUtterance,
  Recogniser,
  RecogniserEvent,
  RecogniserStream,
  RecogniserStreamOptions,
} from '../../hearing/recogniser.ts';

type SessionChannelsOptions = {
  request: LiveRequest;
  format: AudioFormat;
  recogniser: Recogniser;
  clock: Clock;
  cutter: FrameCutter;
  audio: SessionAudio;
  record: SessionResults;
  onHeard(
    channel: number,
    event: Extract<ChannelEvent, { type: 'partial' | 'final' | 'speech-start' | 'speech-end' }>,
  ): void;
  /** The first frame that somebody else still needs: what is before it may be let go. */
  neededFrame?: (() => number) | undefined;
  /** Speech was heard between these seconds and no words. */
  onUnread(channel: number, stretch: { from: number; to: number }): void;
  onFailed(reason: string): void;
};

const leastMs = 10;

/** The channels of a session. Each one is recognised by itself. */
export class SessionChannels {
  readonly #options: SessionChannelsOptions;
  readonly #channels: Channel[];
  readonly #split: (frames: Buffer) => Int16Array[];
  readonly #perFrame: number;
  #open: number;
  #pushed = 0;
  #crumbs: Buffer[] = [];
  #crumbBytes = 0;
  #flushDue: (() => void) | undefined;
  #finished: () => void = () => undefined;

  constructor(options: SessionChannelsOptions) {
    this.#options = options;
    this.#split = samplesOf(options.format);
    this.#perFrame = frameBytes(options.format);
    this.#channels = Array.from({ length: options.format.channels }, (_, index) =>
      this.#newChannel(index),
    );
    this.#open = this.#channels.length;
  }

  /** The second up to which every channel is decided. */
  get decidedS(): number {
    return Math.min(...this.#channels.map((channel) => channel.decidedS));
  }

  get backlogS(): number {
    return Math.max(...this.#channels.map((channel) => channel.backlogS));
  }

  /** True when no channel can recognise anything more. */
  get isOver(): boolean {
    return this.#open === 0;
  }

  /**
   * Takes frames that the cutter has just counted. Small pieces are gathered for 10 ms: a client that sends
   * thousands of tiny messages must not cost more than one that sends few.
   */
  push(frames: Buffer): void {
    if (frames.length === 0 || this.isOver) return;
    this.#crumbs.push(frames);
    this.#crumbBytes += frames.length;
    if (this.#crumbBytes * 1e3 >= leastMs * this.#options.format.sampleRate * this.#perFrame) {
      this.#flush();
      return;
    }
    this.#flushDue ??= this.#options.clock.after(leastMs, () => this.#flush());
  }

  #flush(): void {
    this.#flushDue?.();
    this.#flushDue = undefined;
    if (this.#crumbBytes === 0) return;
    const [only] = this.#crumbs;
    const frames = this.#crumbs.length === 1 && only ? only : Buffer.concat(this.#crumbs);
    this.#crumbs = [];
    this.#crumbBytes = 0;
    const samples = this.#split(frames);
    for (const [index, channel] of this.#channels.entries())
      channel.push(samples[index] ?? new Int16Array());
    this.#release(frames.length);
  }

  /** Resolves when everything received is decided. */
  async finish(): Promise<void> {
    if (this.isOver) return;
    const finished = new Promise<void>((resolve) => {
      this.#finished = resolve;
    });
    this.#flush();
    for (const channel of this.#channels) channel.finish();
    await finished;
  }

  close(): void {
    this.#open = 0;
    this.#flushDue?.();
    for (const channel of this.#channels) channel.close();
    this.#finished();
  }

  #newChannel(index: number): Channel {
    const { request, recogniser, clock, cutter, format, record } = this.#options;
    const wantsPartials =
      request.messages_config.receive_partial_transcripts ||
      (request.callback && request.callback_config.receive_partial_transcripts);
    const { custom_vocabulary: wanted, custom_vocabulary_config: vocabulary } =
      request.realtime_processing;
    const { languages } = request.language_config;
    const expected = wanted ? expectedWords(vocabulary, languages) : [];
    const said = record.utterances.filter(({ utterance }) => utterance.channel === index);
    const decidedS = Math.max(0, ...said.map((entry) => entry.decidedS));
    return new Channel({
      recogniser,
      clock,
      stream: {
        sampleRate: format.sampleRate,
        languages: request.language_config.languages,
        codeSwitching: request.language_config.code_switching,
        endpointingS: request.endpointing,
        maximumDurationS: request.maximum_duration_without_endpointing,
        speechThreshold: request.pre_processing.speech_threshold,
        recorded: false,
        audioEnhancer: request.pre_processing.audio_enhancer,
        partials: wantsPartials,
        expected,
      },
      read: (frame, count) => this.read(index, frame, count),
      received: () => cutter.frames,
      onEvent: (event) => this.#onEvent(index, event),
      ...(said.length === 0
        ? {}
        : {
            start: {
              frame: Math.min(cutter.frames, Math.floor(decidedS * format.sampleRate)),
              utterances: said.length,
            },
          }),
    });
  }

  /** At most so many samples of a channel, as they were received. */
  async read(channel: number, frame: number, count: number): Promise<Int16Array> {
    const { audio, cutter } = this.#options;
    const from = cutter.headerBytes + frame * this.#perFrame;
    if (from + count * this.#perFrame > audio.bytes) await audio.flushed();
    const bytes = await audio.read(from, from + count * this.#perFrame);
    return this.#split(bytes)[channel] ?? new Int16Array();
  }

  #onEvent(index: number, event: ChannelEvent): void {
    switch (event.type) {
      case 'finished':
        this.#open--;
        if (this.#open === 0) this.#finished();
        return;
      case 'failed':
        this.#options.onFailed(event.reason);
        return;
      case 'unread':
        this.#options.onUnread(index, event);
        return;
      default:
        this.#options.onHeard(index, event);
    }
  }

  /** Releases, about once in a second of audio, what neither the recogniser nor a resumed client needs again. */
  #release(bytes: number): void {
    this.#pushed += bytes;
    const { format, cutter, audio } = this.#options;
    const perSecond = format.sampleRate * this.#perFrame;
    if (this.#pushed < perSecond) return;
    this.#pushed = 0;
    const decided = Math.min(...this.#channels.map((channel) => channel.decidedFrame));
    const resumable = cutter.bytes - (perSecond * 2 * lostAckWindowMs) / 1e3;
    // The client's header stays: a restarted process reads from it where the first frame begins.
    const used = Math.min(decided, this.#options.neededFrame?.() ?? Infinity);
    const needed = Math.min(cutter.headerBytes + used * this.#perFrame, resumable);
    audio.release(cutter.headerBytes, needed);
  }
}

export type ChannelEvent =
  | { type: 'speech-start' | 'speech-end'; at: number }
  | { type: 'partial'; utterance: RecognisedUtterance }
  | { type: 'final'; utterance: RecognisedUtterance; decidedS: number }
  /** Somebody spoke between these seconds, and no reading gave words for it. */
  | { type: 'unread'; from: number; to: number }
  /** Everything that was received is decided. */
  | { type: 'finished' }
  /** The channel gave up after several streams that failed. */
  | { type: 'failed'; reason: string };

type ChannelOptions = {
  stream: RecogniserStreamOptions;
  recogniser: Recogniser;
  clock: Clock;
  /** Reads at most that many samples of this channel back, beginning with that frame. */
  read(fromFrame: number, frames: number): Promise<Int16Array>;
  /** Frames received so far. */
  received(): number;
  onEvent(event: ChannelEvent): void;
  /** Up to here an earlier run of the process had decided everything. */
  start?: { frame: number; utterances: number };
};

/** So much audio is read back from the disk at a time. */
const catchUpS = 1;
/** A stream that is caught up is given no more audio while so much of it waits for the recogniser. */
export const maxAheadOfRecogniserS = 10;
const lookAgainMs = 50;
/**
 * A channel fails after so many streams that failed one after the other. A refused stream does not count:
 * a recogniser that is full or still loading may need minutes.
 */
const attempts = 5;
const refusedRetryMs = 1_000;

/**
 * One channel of a session and its recogniser stream. A stream counts time and utterances from the audio it
 * was opened with. When it fails, or when this process was started again, another stream is opened at the
 * last decided frame: its audio is read back from the session's, and its times and numbers are moved here.
 */
export class Channel {
  readonly #options: ChannelOptions;
  readonly #rate: number;
  #stream: RecogniserStream | undefined;
  /** The frame with which the open stream began, and the number of utterances before it. */
  #baseFrame: number;
  #baseIndex: number;
  #fedFrames: number;
  #decidedFrame: number;
  #utterances: number;
  #speaking = false;
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
  }

  /** Seconds of the session up to which everything is decided. */
  get decidedS(): number {
    return this.#over ? this.#options.received() / this.#rate : this.#decidedFrame / this.#rate;
  }

  /** The first frame that a new stream would need again. */
  get decidedFrame(): number {
    return this.#decidedFrame;
  }

  /** Seconds of audio that were received and not yet decoded. */
  get backlogS(): number {
    const unfed = (this.#options.received() - this.#fedFrames) / this.#rate;
    return this.#over ? 0 : unfed + (this.#stream?.backlogS ?? 0);
  }

  /** Takes the newest samples, which `received` counts already. */
  push(samples: Int16Array): void {
    if (this.#over) return;
    const isNext = this.#fedFrames + samples.length === this.#options.received();
    if (!this.#catchingUp && isNext && !this.#streamClosing && (this.#stream ?? this.#open())) {
      this.#fedFrames += samples.length;
      this.#stream?.push(samples);
    } else void this.#catchUp();
  }

  /** No more audio comes. The rest is decided, then `finished` follows. */
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

  /** Reads the unfed audio back and feeds it at the recogniser's pace until nothing is left. */
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
        // The stream may have failed during the read; its successor begins at another frame.
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
    // A channel that was never given a sample has nothing to decide and opens no stream.
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

  /** The answer is false when no further event of this stream counts. */
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
      case 'unread': {
        const { from, to } = event;
        speechMetrics.unread.inc(to - from);
        this.#options.onEvent({ type: 'unread', from: from + offsetS, to: to + offsetS });
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

  /** A new stream hears the beginning of the same speech again. Its start is passed on once. */
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

  /** A client may have sent held-back audio after its stop. Then another stream takes it. */
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
