import { engineRateHz } from './engine.ts';
import type { RecogniserStreamOptions } from './recogniser.ts';
import type { LinearResampler, Sherpa } from './sherpa.ts';

/** What happens to a stream's audio before the engine hears it: its rate made the engine's. */
export class Chain {
  readonly #resampler: LinearResampler | undefined;

  constructor(sherpa: Sherpa, options: RecogniserStreamOptions) {
    if (options.sampleRate !== engineRateHz)
      this.#resampler = new sherpa.LinearResampler(options.sampleRate, engineRateHz);
  }

  run(block: Float32Array): Float32Array {
    return this.#resampler ? this.#resampler.resample(block) : block;
  }

  /** The last, possibly short, block and what the resampler still held. */
  end(block: Float32Array): Float32Array {
    return this.#resampler ? this.#resampler.flush(block) : block;
  }
}
