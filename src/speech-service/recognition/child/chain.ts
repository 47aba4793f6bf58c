import { type Enhancer, enhancerRateHz } from './enhancer.ts';
import { engineRateHz } from './engine.ts';
import type { RecogniserStreamOptions } from '../recogniser.ts';
import type { LinearResampler, Sherpa } from './sherpa.ts';

/**
 * What happens to a stream's audio before the engine hears it:
 * its rate → 48 kHz → noise taken out → 16 kHz with the enhancer, its rate → 16 kHz without.
 */
export class Chain implements Disposable {
  readonly #first: LinearResampler | undefined;
  readonly #enhancer: Enhancer | undefined;
  readonly #second: LinearResampler | undefined;

  constructor(sherpa: Sherpa, options: RecogniserStreamOptions, newEnhancer: () => Enhancer) {
    const middleHz = options.audioEnhancer ? enhancerRateHz : engineRateHz;
    if (options.sampleRate !== middleHz)
      this.#first = new sherpa.LinearResampler(options.sampleRate, middleHz);
    if (!options.audioEnhancer) return;
    this.#enhancer = newEnhancer();
    this.#second = new sherpa.LinearResampler(enhancerRateHz, engineRateHz);
  }

  run(block: Float32Array): Float32Array {
    const samples = this.#first ? this.#first.resample(block) : block;
    if (!this.#enhancer || !this.#second) return samples;
    return this.#second.resample(this.#enhancer.run(samples));
  }

  /** The last, possibly short, block and everything that was still held back. */
  end(block: Float32Array): Float32Array {
    const samples = this.#first ? this.#first.flush(block) : block;
    if (!this.#enhancer || !this.#second) return samples;
    const before = this.#second.resample(this.#enhancer.run(samples));
    const rest = this.#second.flush(this.#enhancer.end());
    const all = new Float32Array(before.length + rest.length);
    all.set(before);
    all.set(rest, before.length);
    return all;
  }

  [Symbol.dispose](): void {
    this.#enhancer?.[Symbol.dispose]();
  }
}
