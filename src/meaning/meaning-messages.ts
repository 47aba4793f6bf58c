import type { SentenceDirection } from './directions.ts';
import type { KindWeights, KindSample } from './sentence-kinds.ts';

/** Messages to the process that holds the sentence encoder. Each order has a number, and one answer with it. */
export type ToMeaning =
  /** `known`: the checksums of the files. */
  | { type: 'load'; folder: string; known: [file: string, sha256: string][] }
  | { type: 'direction'; order: number; text: string }
  | { type: 'learn'; order: number; samples: KindSample[]; kinds: number };

export type FromMeaning =
  | { type: 'loaded' }
  | { type: 'direction'; order: number; direction: SentenceDirection }
  | { type: 'learnt'; order: number; weights: KindWeights }
  /** The message is for the log, and holds no word of a text. */
  | { type: 'failed'; message: string };
