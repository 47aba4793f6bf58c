import type { Clock } from '../../lib/clock.ts';
import { every, type Loop } from '../../lib/every.ts';
import { Channel, type ChannelEvent } from '../../hearing/channel.ts';
import type {
  RecognisedUtterance,
  Recogniser,
  RecogniserStreamOptions,
} from '../../hearing/recogniser.ts';
import { JobFailure } from './failure.ts';
import type { ReadSamples } from './seams.ts';

type PartOptions = {
  recogniser: Recogniser;
  clock: Clock;
  stream: RecogniserStreamOptions;
  read: ReadSamples;
  /** The samples of the whole channel. */
  samples: number;
  from: number;
  /** The start of the next part; undefined where this one is read to the end of the audio. */
  seam: number | undefined;
  /** Speech goes on across the seam, so the next part is wrong: the answer is the seam behind it. */
  onAcross(): Promise<number | undefined>;
  signal: AbortSignal;
  /** The second up to which everything is decided. */
  onProgress: (seconds: number) => void;
};

/** The words of a part, and its end. */
/** `unread` are the stretches in which a voice was heard and no words were found. */
export type PartSaid = {
  utterances: RecognisedUtterance[];
  unread: Stretch[];
  seam: number | undefined;
};
type Stretch = { from: number; to: number };

/** A recogniser that decides nothing for so long has hung in a way that its own deadline does not see. */
const stalledMs = 300_000;
const lookEveryMs = 1_000;
/** So much is heard beyond a seam: enough to see that what was said before has ended, and nothing of what comes. */
const beyondS = 0.44;
/** More is given in steps of this while somebody speaks there. */
const furtherS = 0.48;
/** A stream that holds less than this has looked at everything. */
const drainedS = 0.04;

/**
 * One part of a channel, read as a stream of its own. It goes on a little beyond its seam, because only a stream that
 * heard what was said before knows whether it has ended there:
 *
 *     this part   ▆▇▆▂▇▇▆▁▁▁▁▁▁▁▁           nobody speaks in the pause: the seam holds, this part is over
 *     seam                  |
 *     next part             ▁▁▁▁▁▁▂▆▇▆▂▆    begins in the same pause
 */
export class PartReading {
  readonly #options: PartOptions;
  readonly #channel: Channel;
  readonly #utterances: RecognisedUtterance[] = [];
  readonly #unread: Stretch[] = [];
  #seam: number | undefined;
  /** No sample from here on is given yet. */
  #limit: number;
  /** The end of what this part is given, once it is known that nobody speaks across the seam. */
  #end: number | undefined;
  #speakingSinceS: number | undefined;
  #moving = false;
  #resolve: (said: PartSaid) => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;

  constructor(options: PartOptions) {
    this.#options = options;
    const { recogniser, clock, stream, samples, from, seam } = options;
    this.#seam = seam;
    this.#limit = this.#limitOf(seam);
    this.#channel = new Channel({
      recogniser,
      clock,
      stream,
      start: { frame: from, utterances: 0 },
      received: () => this.#end ?? samples,
      read: (frame, count) => this.#read(frame, count),
      onEvent: (event) => this.#onEvent(event),
    });
  }

  async said(): Promise<PartSaid> {
    const { signal } = this.#options;
    let watch: Loop | undefined;
    const abort = (): void => this.#reject(signal.reason);
    try {
      return await new Promise<PartSaid>((resolve, reject) => {
        this.#resolve = resolve;
        this.#reject = reject;
        signal.throwIfAborted();
        signal.addEventListener('abort', abort, { once: true });
        watch = this.#watch();
        this.#channel.finish();
      });
    } finally {
      signal.removeEventListener('abort', abort);
      void watch?.stop();
      this.#channel.close();
    }
  }

  /** The channel asks again in a moment when it was given nothing. */
  async #read(frame: number, count: number): Promise<Int16Array> {
    if (frame >= this.#limit) {
      this.#waitAt(frame);
      return new Int16Array();
    }
    return this.#options.read(frame, Math.min(count, this.#limit - frame));
  }

  /**
   * Everything up to the limit was given. When the stream has looked at all of it, it has told whether somebody speaks;
   * what was said may come later, so the stream is finished and not closed.
   */
  #waitAt(frame: number): void {
    const { stream, samples } = this.#options;
    const rateHz = stream.sampleRate;
    const waitingS = this.#channel.backlogS - (samples - frame) / rateHz;
    if (this.#moving || this.#seam === undefined || waitingS >= drainedS) return;
    if (this.#speakingSinceS === undefined || this.#speakingSinceS >= this.#seam / rateHz)
      this.#end = frame;
    else this.#limit = Math.min(samples, this.#limit + furtherS * rateHz);
  }

  #onEvent(event: ChannelEvent): void {
    const seamS =
      this.#seam === undefined ? Infinity : this.#seam / this.#options.stream.sampleRate;
    switch (event.type) {
      case 'speech-start':
        this.#speakingSinceS = event.at;
        return;
      case 'speech-end':
        if ((this.#speakingSinceS ?? event.at) < seamS && event.at > seamS) this.#goOn();
        this.#speakingSinceS = undefined;
        return;
      case 'final':
        this.#utterances.push(event.utterance);
        return;
      case 'finished':
        this.#finished(seamS);
        return;
      case 'failed':
        this.#reject(new JobFailure(500, `the audio could not be recognised: ${event.reason}`));
        return;
      case 'unread':
        this.#unread.push({ from: event.from, to: event.to });
        return;
      case 'partial':
    }
  }

  /** Without an end of its own the part has read everything behind its seam, too. */
  #finished(seamS: number): void {
    const unread = this.#unread;
    if (this.#end === undefined)
      this.#resolve({ utterances: this.#utterances, unread, seam: undefined });
    else
      this.#resolve({
        utterances: this.#utterances.filter(({ start }) => start < seamS),
        unread: unread.filter(({ from }) => from < seamS),
        seam: this.#seam,
      });
  }

  #goOn(): void {
    if (this.#moving || this.#end !== undefined) return;
    this.#moving = true;
    this.#options.onAcross().then(
      (seam) => {
        this.#seam = seam;
        this.#limit = this.#limitOf(seam);
        this.#moving = false;
      },
      (error: unknown) => this.#reject(error),
    );
  }

  #limitOf(seam: number | undefined): number {
    const { samples, stream } = this.#options;
    return seam === undefined ? samples : Math.min(samples, seam + beyondS * stream.sampleRate);
  }

  /** Tells the progress, and gives up when there is none. */
  #watch(): Loop {
    const { clock, onProgress } = this.#options;
    let last = -1;
    let sinceMs = clock.monotonicMs();
    return every(clock, lookEveryMs, () => {
      const { decidedS } = this.#channel;
      const nowMs = clock.monotonicMs();
      if (decidedS > last) {
        last = decidedS;
        sinceMs = nowMs;
        onProgress(decidedS);
      } else if (nowMs - sinceMs > stalledMs) {
        this.#reject(
          new JobFailure(504, `the recogniser decided nothing for ${stalledMs / 1e3} s`),
        );
        return 'over';
      }
    });
  }
}
