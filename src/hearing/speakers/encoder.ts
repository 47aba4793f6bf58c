import { loadSherpa, type SpeakerEmbeddingExtractor } from '../engine/sherpa.ts';
import { sampleRate } from './segments.ts';
import { checkWeights } from './weights.ts';

/** What is characteristic of the voice in a piece of speech, as a direction: of one voice all point the same way. */
export type Encoder = { directionOf(samples: Float32Array): Float32Array };

/** The network behind it: the spectrum of a piece of speech is read by the engine, and so is the network. */
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
    // Like no other, instead of a number that is none in all that follows.
    if (length === 0 || !Number.isFinite(length)) return direction.fill(0);
    return direction.map((value) => value / length);
  }
}

const steps = 0x8000;

/**
 * Files have 16 bits already; live audio that was brought to 16 kHz has not. Next to nothing is in the upper bands of
 * it, and without the noise of the steps just how little would be taken for the voice: two on one line sounded alike.
 */
function inWholeSteps(sample: number): number {
  return Math.round(sample * steps) / steps;
}
