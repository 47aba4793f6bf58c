import type { Sherpa, Vad } from '../child/sherpa.ts';

export const windowSamples = 512;

/**
 * Voice or not for every 32 ms. The detector's own segmenting is turned off: its pauses and longest
 * lengths are soft, and ours must be what the session asked for.
 */
export class VoiceActivity {
  readonly #vad: Vad;
  #rest = new Float32Array(0);
  #end = 0;

  constructor(sherpa: Sherpa, model: string, speechThreshold: number) {
    this.#vad = new sherpa.Vad(
      {
        sileroVad: {
          model,
          // The interface's default of 0.6 is what the detector calls 0.5, where it was measured best.
          threshold: Math.min(0.95, Math.max(0.05, speechThreshold - 0.1)),
          // Less than a sample, so none; a 0 would be taken for "not given", and the defaults are half a second.
          minSilenceDuration: 1e-5,
          minSpeechDuration: 1e-5,
          maxSpeechDuration: 1e5, // beyond it the detector changes its own threshold
          windowSize: windowSamples,
        },
        sampleRate: 16000,
        numThreads: 1,
        debug: 0,
      },
      20,
    );
  }

  /** Calls back once for each whole window, with the position where it ends. */
  accept(block: Float32Array, onWindow: (voiced: boolean, end: number) => void): void {
    const samples = new Float32Array(this.#rest.length + block.length);
    samples.set(this.#rest);
    samples.set(block, this.#rest.length);
    let at = 0;
    for (; at + windowSamples <= samples.length; at += windowSamples) {
      this.#vad.acceptWaveform(samples.slice(at, at + windowSamples));
      const voiced = this.#vad.isDetected();
      while (!this.#vad.isEmpty()) this.#vad.pop(); // its segments would pile up
      this.#end += windowSamples;
      onWindow(voiced, this.#end);
    }
    this.#rest = samples.slice(at);
  }
}

/** The voice detector goes on for a moment after a voice has ended; this far below it nothing is spoken. */
const silentBelow = 10 ** -4.5; // 45 dB
/** How fast a loud moment is forgotten: 10 dB in a second. */
const decayEachSecond = 0.1;

/** Whether a window of audio can be heard beside the voice of the last seconds. */
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
