import { loadSherpa, type SpeakerEmbeddingExtractor } from '../recognition/child/sherpa.ts';
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
    const length = Math.hypot(...direction) || 1;
    return direction.map((value) => value / length);
  }
}

const steps = 0x8000;

/**
 * As in a file of 16 bits, like those with which the network was taught. Telephone audio that was brought to 16 kHz has
 * next to nothing in the upper bands, and how little it is would say more than the voice: the steps' own noise covers it.
 */
function inWholeSteps(sample: number): number {
  return Math.round(sample * steps) / steps;
}
