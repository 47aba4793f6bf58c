import { loadSherpa, type SpeakerEmbeddingExtractor } from '../engine/sherpa.ts';
import { sampleRate } from './segments.ts';
import { checkWeights } from './weights.ts';

/**
 * Computes the characteristics of the voice in a piece of speech as a direction. All pieces of one voice have similar
 * directions.
 */
export type Encoder = { directionOf(samples: Float32Array): Float32Array };

/** The network that computes directions. The engine computes the spectrum and runs the network. */
export class VoiceEncoder implements Encoder {
  readonly #extractor: SpeakerEmbeddingExtractor;

  private constructor(extractor: SpeakerEmbeddingExtractor) {
    this.#extractor = extractor;
  }

  static async open(path: string): Promise<VoiceEncoder> {
    await checkWeights(path);
    const { SpeakerEmbeddingExtractor } = loadSherpa();
    const settings = { numThreads: 1, provider: 'cpu', debug: 0 } as const;
    return new VoiceEncoder(new SpeakerEmbeddingExtractor({ model: path, ...settings }));
  }

  directionOf(samples: Float32Array): Float32Array {
    const stream = this.#extractor.createStream();
    stream.acceptWaveform({ sampleRate, samples: samples.map(inWholeSteps) });
    stream.inputFinished();
    const direction = this.#extractor.compute(stream, false);
    const length = Math.hypot(...direction);
    // Zeros are similar to no direction. NaN would spread into all later results.
    if (length === 0 || !Number.isFinite(length)) return direction.fill(0);
    return direction.map((value) => value / length);
  }
}

const steps = 0x8000;

/**
 * Rounds samples to 16 bits. Files already have 16 bits; live audio that was resampled to 16 kHz has not. Its upper
 * bands are nearly empty, and without the rounding noise the network would take the exact level of that emptiness for
 * the voice. Two people on one line then sounded alike.
 */
function inWholeSteps(sample: number): number {
  return Math.round(sample * steps) / steps;
}
