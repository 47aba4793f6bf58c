import type { Clock } from '../../lib/clock.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Recogniser } from '../recognition/recogniser.ts';
import { Channel, type ChannelEvent } from './channel.ts';
import { frameBytes, type AudioFormat } from './format.ts';
import type { Intake } from './intake.ts';
import type { SessionRecord } from './result.ts';
import { samplesOf } from './samples.ts';
import type { Tape } from './tape.ts';
import { lostAckWindowMs } from './overlap.ts';

export type RecognitionOptions = {
  request: LiveRequest;
  format: AudioFormat;
  recogniser: Recogniser;
  clock: Clock;
  intake: Intake;
  tape: Tape;
  record: SessionRecord;
  onHeard(
    channel: number,
    event: Extract<ChannelEvent, { type: 'partial' | 'final' | 'speech-start' | 'speech-end' }>,
  ): void;
  onFailed(reason: string): void;
};

const leastMs = 10;

/** All channels of a session, each recognised by itself. */
export class Recognition {
  readonly #options: RecognitionOptions;
  readonly #channels: Channel[];
  readonly #split: (frames: Buffer) => Int16Array[];
  readonly #perFrame: number;
  #open: number;
  #pushed = 0;
  #crumbs: Buffer[] = [];
  #crumbBytes = 0;
  #flushDue: (() => void) | undefined;
  #finished: () => void = () => undefined;

  constructor(options: RecognitionOptions) {
    this.#options = options;
    this.#split = samplesOf(options.format);
    this.#perFrame = frameBytes(options.format);
    this.#channels = Array.from({ length: options.format.channels }, (_, index) =>
      this.#newChannel(index),
    );
    this.#open = this.#channels.length;
  }

  /** Up to here every channel is decided. */
  get decidedS(): number {
    return Math.min(...this.#channels.map((channel) => channel.decidedS));
  }

  get backlogS(): number {
    return Math.max(...this.#channels.map((channel) => channel.backlogS));
  }

  /** Nothing more can be recognised. */
  get isOver(): boolean {
    return this.#open === 0;
  }

  /** Frames that the intake has just counted. Crumbs are put together: a flood of them costs like one. */
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
    const { request, recogniser, clock, intake, format, record } = this.#options;
    const wantsPartials =
      request.messages_config.receive_partial_transcripts ||
      (request.callback && request.callback_config.receive_partial_transcripts);
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
        audioEnhancer: request.pre_processing.audio_enhancer,
        partials: wantsPartials,
      },
      read: (frame, count) => this.#read(index, frame, count),
      received: () => intake.frames,
      onEvent: (event) => this.#onEvent(index, event),
      ...(said.length === 0
        ? {}
        : {
            start: {
              frame: Math.min(intake.frames, Math.floor(decidedS * format.sampleRate)),
              utterances: said.length,
            },
          }),
    });
  }

  async #read(channel: number, frame: number, count: number): Promise<Int16Array> {
    const { tape, intake } = this.#options;
    const from = intake.headerBytes + frame * this.#perFrame;
    if (from + count * this.#perFrame > tape.bytes) await tape.flushed();
    const bytes = await tape.read(from, from + count * this.#perFrame);
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
      default:
        this.#options.onHeard(index, event);
    }
  }

  /** Tells the tape now and then what neither the recogniser nor a resumed client can ask for again. */
  #release(bytes: number): void {
    this.#pushed += bytes;
    const { format, intake, tape } = this.#options;
    const perSecond = format.sampleRate * this.#perFrame;
    if (this.#pushed < perSecond) return;
    this.#pushed = 0;
    const decided = Math.min(...this.#channels.map((channel) => channel.decidedFrame));
    const resumable = intake.bytes - (perSecond * 2 * lostAckWindowMs) / 1e3;
    tape.release(Math.min(intake.headerBytes + decided * this.#perFrame, resumable));
  }
}
