import { createRequire } from 'node:module';

/**
 * Types for the functions of the native engine that we call; the package has none. Many mistakes in a configuration end
 * the whole process without an exception, so only child processes load the engine, and every path is checked before it
 * is passed on.
 */
export type Sherpa = {
  OnlineRecognizer: new (config: OnlineConfig) => OnlineRecognizer;
  OfflineRecognizer: new (config: OfflineConfig) => OfflineRecognizer;
  LinearResampler: new (fromHz: number, toHz: number) => LinearResampler;
  SpokenLanguageIdentification: new (config: IdentificationConfig) => SpokenLanguageIdentification;
  SpeakerEmbeddingExtractor: new (config: ExtractorConfig) => SpeakerEmbeddingExtractor;
  version: string;
};

type Waveform = { samples: Float32Array; sampleRate: number };
type Features = { sampleRate: number; featureDim: number };
type ModelSettings = { tokens: string; numThreads: number; provider: 'cpu'; debug: 0 };

export type OnlineModelFiles =
  | { nemoCtc: { model: string } }
  | { zipformer2Ctc: { model: string } }
  | { transducer: { encoder: string; decoder: string; joiner: string } };

type OnlineConfig = {
  featConfig: Features;
  modelConfig: OnlineModelFiles & ModelSettings;
  decodingMethod: 'greedy_search';
  enableEndpoint: false;
};

export type OnlineStream = { acceptWaveform(wave: Waveform): void; inputFinished(): void };

export type OnlineResult = {
  text: string;
  tokens: string[];
  /** In seconds since the last reset, except for `start_time`. */
  timestamps: number[];
  /** Log-probabilities. Only transducers have them. */
  ys_probs: number[];
  start_time: number;
  num_trailing_blanks: number;
};

export type OnlineRecognizer = {
  createStream(): OnlineStream;
  isReady(stream: OnlineStream): boolean;
  decode(stream: OnlineStream): void;
  reset(stream: OnlineStream): void;
  getResult(stream: OnlineStream): OnlineResult;
};

export type OfflineModelFiles =
  | { moonshine: { encoder: string; mergedDecoder: string } }
  | { whisper: { encoder: string; decoder: string; language: string; task: 'transcribe' } }
  | { nemoCtc: { model: string } }
  | { zipformerCtc: { model: string } }
  | { senseVoice: { model: string; language: string; useInverseTextNormalization: 1 } }
  | {
      transducer: { encoder: string; decoder: string; joiner: string };
      modelType?: 'nemo_transducer' | 'transducer';
    };

export type OfflineConfig = {
  featConfig: Features;
  modelConfig: OfflineModelFiles & ModelSettings;
};

type OfflineStream = { acceptWaveform(wave: Waveform): void };

export type OfflineResult = {
  text: string;
  lang: string;
  tokens: string[];
  timestamps: number[];
  durations: number[];
  ys_log_probs: number[];
};

export type OfflineRecognizer = {
  createStream(): OfflineStream;
  setConfig(config: OfflineConfig): void;
  decode(stream: OfflineStream): void;
  getResult(stream: OfflineStream): OfflineResult;
};

export type LinearResampler = {
  resample(samples: Float32Array): Float32Array;
  flush(samples: Float32Array): Float32Array;
};

type IdentificationConfig = {
  whisper: { encoder: string; decoder: string };
  numThreads: 1;
  debug: 0;
};
type SpokenLanguageIdentification = {
  createStream(): OfflineStream;
  compute(stream: OfflineStream): string;
};

type ExtractorConfig = { model: string; numThreads: 1; provider: 'cpu'; debug: 0 };
export type SpeakerEmbeddingExtractor = {
  createStream(): OnlineStream;
  /**
   * The vector's length is not 1. With `areOutsideHeap` true, the numbers would be the engine's memory, valid until it
   * ends.
   */
  compute(stream: OnlineStream, areOutsideHeap: false): Float32Array;
};

export function loadSherpa(): Sherpa {
  return createRequire(import.meta.url)('sherpa-onnx-node') as Sherpa;
}
