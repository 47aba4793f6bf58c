import loadRnnoise, { type RNNoise } from '@echogarden/rnnoise-wasm';
import { engineRateHz } from '../engine/engine.ts';
import type { LinearResampler, Sherpa } from '../engine/sherpa.ts';
import type { RecogniserStreamOptions } from '../recogniser.ts';

const enhancerRateHz = 48000;
const frameSamples = 480;
/** RNNoise works on samples in the range of 16-bit integers. */
const scale = 32768;

let loaded: Promise<RNNoise> | undefined;

/** Implements a request's `audio_enhancer`: the RNNoise network removes steady noise from one stream. */
export class Enhancer implements Disposable {
  readonly #noise: RNNoise;
  readonly #state: number;
  readonly #memory: number;
  #rest = new Float32Array(0);
  /** The network's output is one frame late. The first frame is dropped, so that times are not 10 ms late. */
  #late = true;

  private constructor(noise: RNNoise) {
    this.#noise = noise;
    this.#state = noise._rnnoise_create(0);
    this.#memory = noise._malloc(4 * frameSamples);
  }

  static async loader(): Promise<() => Enhancer> {
    loaded ??= loadRnnoise();
    const noise = await loaded;
    return () => new Enhancer(noise);
  }

  /** Takes and returns 48 kHz. Samples that do not fill a frame wait for the next call. */
  run(block: Float32Array): Float32Array {
    const samples = new Float32Array(this.#rest.length + block.length);
    samples.set(this.#rest);
    samples.set(block, this.#rest.length);
    const whole = samples.length - (samples.length % frameSamples);
    for (let at = 0; at < whole; at += frameSamples)
      this.#frame(samples.subarray(at, at + frameSamples));
    this.#rest = samples.slice(whole);
    const clean = samples.subarray(0, whole);
    if (!this.#late || whole === 0) return clean;
    this.#late = false;
    return clean.subarray(frameSamples);
  }

  /** Returns the samples that still wait at the end of a stream, padded with silence. */
  end(): Float32Array {
    const silence = new Float32Array(2 * frameSamples - (this.#rest.length % frameSamples));
    return this.run(silence);
  }

  [Symbol.dispose](): void {
    this.#noise._free(this.#memory);
    this.#noise._rnnoise_destroy(this.#state);
  }

  #frame(frame: Float32Array): void {
    // A new view is made for each frame: the module's memory may have grown, which makes older views invalid.
    const heap = new Float32Array(this.#noise.HEAPU8.buffer, this.#memory, frameSamples);
    for (let i = 0; i < frameSamples; i++) heap[i] = (frame[i] ?? 0) * scale;
    this.#noise._rnnoise_process_frame(this.#state, this.#memory, this.#memory);
    const out = new Float32Array(this.#noise.HEAPU8.buffer, this.#memory, frameSamples);
    for (let i = 0; i < frameSamples; i++) frame[i] = (out[i] ?? 0) / scale;
  }
}

/**
 * The path of a stream's audio to the engine:
 *
 *     its rate → 16 kHz
 *     its rate → 48 kHz → noise taken out → 16 kHz     with the enhancer
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

  /**
   * Returns the last block, which may be short, together with everything that the resamplers and the enhancer held
   * back.
   */
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
