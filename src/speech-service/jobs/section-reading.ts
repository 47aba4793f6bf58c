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

type SectionOptions = {
  recogniser: Recogniser;
  clock: Clock;
  stream: RecogniserStreamOptions;
  read: ReadSamples;
  /** The number of samples in the whole channel. */
  samples: number;
  from: number;
  /** The start of the next section. Undefined if this section runs to the end of the audio. */
  seam: number | undefined;
  /** Called when speech continues across the seam, so the next section would be wrong. Returns the seam after that. */
  onAcross(): Promise<number | undefined>;
  signal: AbortSignal;
  /** Called with the second up to which everything is decided. */
  onProgress: (seconds: number) => void;
};

/** The words of a section and its end. `wordless` lists stretches with a voice but without recognised words. */
export type SectionSaid = {
  utterances: RecognisedUtterance[];
  wordless: Stretch[];
  seam: number | undefined;
};
type Stretch = { from: number; to: number };

/**
 * A recogniser that decides nothing for this long hangs in a way that its own deadline does not notice. It has the
 * lowest priority and may get no processor for many minutes, where calls fill the machine.
 */
const stalledMs = 1_800_000;
const lookEveryMs = 1_000;
/**
 * A section is given this much audio beyond its seam: enough to notice that the speech before has ended, and too little
 * to recognise what follows.
 */
const beyondS = 0.44;
/** While somebody speaks there, further audio is given in steps of this length. */
const furtherS = 0.48;
/** A stream with less undecided audio than this has looked at everything. */
const drainedS = 0.04;

/**
 * One section of a channel, read as a stream of its own. The stream continues a little beyond the seam, because only a
 * stream that heard the speech before the seam can tell whether that speech ends there:
 *
 *     this section ▆▇▆▂▇▇▆▁▁▁▁▁▁▁▁           nobody speaks in the pause: the seam holds, this section ends
 *     seam                   |
 *     next section           ▁▁▁▁▁▁▂▆▇▆▂▆    begins in the same pause
 */
export class SectionReading {
  readonly #options: SectionOptions;
  readonly #channel: Channel;
  readonly #utterances: RecognisedUtterance[] = [];
  readonly #wordless: Stretch[] = [];
  #seam: number | undefined;
  /** The first sample that may not be given yet. */
  #limit: number;
  /** The end of this section's audio, once it is known that nobody speaks across the seam. */
  #end: number | undefined;
  #speakingSinceS: number | undefined;
  #moving = false;
  #resolve: (said: SectionSaid) => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;

  constructor(options: SectionOptions) {
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

  async said(): Promise<SectionSaid> {
    const { signal } = this.#options;
    let watch: Loop | undefined;
    const abort = (): void => this.#reject(signal.reason);
    try {
      return await new Promise<SectionSaid>((resolve, reject) => {
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

  /** Returns no samples if there are none yet; the channel then asks again. */
  async #read(frame: number, count: number): Promise<Int16Array> {
    if (frame >= this.#limit) {
      this.#waitAt(frame);
      return new Int16Array();
    }
    return this.#options.read(frame, Math.min(count, this.#limit - frame));
  }

  /**
   * Handles the state in which everything up to the limit was given. Once the stream has looked at all of it, it has
   * told whether somebody speaks. Its words may come later, so the stream is finished instead of closed.
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
      case 'wordless':
        this.#wordless.push({ from: event.from, to: event.to });
        return;
      case 'partial':
    }
  }

  /** A section without a seam of its own has also read everything behind it. */
  #finished(seamS: number): void {
    const wordless = this.#wordless;
    if (this.#end === undefined)
      this.#resolve({ utterances: this.#utterances, wordless, seam: undefined });
    else
      this.#resolve({
        utterances: this.#utterances.filter(({ start }) => start < seamS),
        wordless: wordless.filter(({ from }) => from < seamS),
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

  /** Reports progress, and fails if there is none for too long. */
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
          new JobFailure(
            504,
            `nothing was recognised for ${stalledMs / 60_000} minutes: this machine is too busy, or its recogniser hangs; send the job again when fewer calls are going on`,
          ),
        );
        return 'over';
      }
    });
  }
}
