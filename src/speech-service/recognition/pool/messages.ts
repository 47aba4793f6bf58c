import type { Model } from '../../models/model-folder.ts';
import type { RecogniserEvent, RecogniserStreamOptions } from '../recogniser.ts';

/** Parent to child. One child serves many streams; numbers of streams are never used twice. */
export type ToChild =
  | { type: 'load'; model: Model; vadModel: string; loadEveryMs: number }
  | { type: 'open'; stream: number; options: RecogniserStreamOptions }
  | { type: 'audio'; stream: number; samples: Int16Array }
  | { type: 'finish'; stream: number }
  | { type: 'close'; stream: number };

/** Child to parent. Times and indexes count from the audio that this child was given. */
export type FromChild =
  | { type: 'ready'; legCost: LegCost }
  | { type: 'failed'; reason: string }
  | { type: 'event'; stream: number; event: RecogniserEvent }
  /** Samples that have been looked at: the parent sends more, and the session reads more. */
  | { type: 'consumed'; stream: number; samples: number }
  | ({ type: 'load' } & ChildLoad);

/** What one leg that speaks all the time costs, in shares of a core. */
export type LegCost = {
  /** Listening and one reading of everything, no partials: the least that a leg can be given. */
  least: number;
};

/** Sent every `loadEveryMs` also when idle, so silence means that the process hangs. */
export type ChildLoad = {
  /** Share of the last interval spent working, 0 to 1. */
  busy: number;
  /** By how much audio or finals are overdue. */
  latenessMs: number;
  /** The cost of a leg as learned since, when enough audio went through to say. */
  legCost?: LegCost;
  rssBytes: number;
};
