import type { SessionHint } from '../../../protocol/session-hints.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { LiveRequest } from '../../../protocol/live-request.ts';
import { type AudioFormat, frameBytes, samplesOf } from '../incoming/audio-format.ts';
import type { FrameCutter } from '../incoming/frame-cutter.ts';
import { lostAckWindowMs } from '../incoming/overlap.ts';
import type { SessionResults } from './session-result.ts';
import type { SessionAudio } from '../disk/session-audio.ts';
import { Channel, type ChannelEvent } from '../../../hearing/channel.ts';
import type { Recogniser } from '../../../hearing/recogniser.ts';

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
  /** The first frame that another reader still needs. Frames before it may be released. */
  neededFrame?: (() => number) | undefined;
  /** Called for a stretch, in seconds, with a voice but without recognised words. */
  onWordless(channel: number, stretch: { from: number; to: number }): void;
  onFailed(reason: string): void;
};

const leastMs = 10;

/** The channels of a session. Each is recognised separately. */
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

  /** The second up to which all channels are decided. */
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
   * Takes frames that the cutter has counted. Small chunks are collected for 10 ms: a client that sends thousands of
   * tiny messages must not cost more than others.
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

  /** A channel that the session does not have hears nothing of it. */
  hint({ channel, expects, number_pause }: SessionHint): void {
    this.#flush();
    const one = this.#channels[channel];
    if (number_pause !== undefined) one?.waitForNumbers(number_pause);
    if (expects !== undefined) one?.expect(expects ?? undefined);
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
        vocabulary: wanted ? vocabulary : undefined,
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

  /** Reads at most `count` samples of a channel, as they were received. */
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
      case 'wordless':
        this.#options.onWordless(index, event);
        return;
      default:
        this.#options.onHeard(index, event);
    }
  }

  /** About once per second of audio, releases what neither the recogniser nor a resumed client needs again. */
  #release(bytes: number): void {
    this.#pushed += bytes;
    const { format, cutter, audio } = this.#options;
    const perSecond = format.sampleRate * this.#perFrame;
    if (this.#pushed < perSecond) return;
    this.#pushed = 0;
    const decided = Math.min(...this.#channels.map((channel) => channel.decidedFrame));
    const resumable = cutter.bytes - (perSecond * 2 * lostAckWindowMs) / 1e3;
    // The client's header is kept, because a restarted process reads from it where the first frame begins.
    const used = Math.min(decided, this.#options.neededFrame?.() ?? Infinity);
    const needed = Math.min(cutter.headerBytes + used * this.#perFrame, resumable);
    audio.release(cutter.headerBytes, needed);
  }
}
