import type { Model } from '../models/model-folder.ts';
import type { ExpectedAnswer } from '../expected-words.ts';
import type { RecogniserEvent, RecogniserStreamOptions } from '../recogniser.ts';

const blockS = 0.04;

/** The child takes audio in blocks of this many samples. A shorter rest waits in the parent. */
export function blockSamplesOf(rateHz: number): number {
  return Math.round(rateHz * blockS);
}

/** The first message to a child. */
export type ChildTask = {
  type: 'load';
  model: Model;
  vadModel: string;
  loadEveryMs: number;
  /** The folder of the model that reads recordings once more. */
  secondReader: string | undefined;
  /**
   * True when the cost of a leg must be measured before the process is ready: admission of live callers depends on it.
   */
  measured: boolean;
};

/**
 * Messages about one stream of a child. A stream's number is never used twice. A message that was under way when its
 * stream was closed therefore meets no other stream.
 */
export type ToStream =
  | { type: 'open'; stream: number; options: RecogniserStreamOptions }
  | { type: 'audio'; stream: number; samples: Int16Array }
  /** Samples count from the first audio that this child was given. */
  | { type: 'expect'; stream: number; answer: ExpectedAnswer | undefined; from: number }
  | { type: 'finish'; stream: number }
  | { type: 'close'; stream: number };

/** Parent to child. One child serves many streams, and their messages are sent together. */
export type ToChild = ChildTask | { type: 'streams'; of: readonly ToStream[] };

/**
 * Child to parent. `decoderFailure` says why our own loop cannot read a model that it should read: the native engine then
 * reads it, and worse. `secondReaderFailure` says why there is no second reader. Times and utterance numbers count from the first
 * audio that this child was given.
 */
export type FromChild =
  | {
      type: 'ready';
      legCost?: LegCost;
      estimatedTimes: boolean;
      decoderFailure?: string;
      secondReaderFailure?: string;
    }
  | { type: 'failed'; reason: string }
  | { type: 'event'; stream: number; event: RecogniserEvent }
  /**
   * The child has looked at this many more samples of each stream. The parent sends as many again, and the session
   * reads on.
   */
  | { type: 'consumed'; of: readonly { stream: number; samples: number }[] }
  | ({ type: 'load' } & ChildLoad);

/** The messages about one stream, as the stream receives them. */
export type OfStream =
  { type: 'event'; event: RecogniserEvent } | { type: 'consumed'; samples: number };

/** The cost of one leg that speaks all the time, in shares of a core. */
export type LegCost = {
  /** Voice detection and one reading of everything, without partials: the least that a leg can be given. */
  least: number;
};

/** Sent every `loadEveryMs`, also by an idle child: a child that sends nothing hangs. */
export type ChildLoad = {
  /** Share of the last interval spent working, 0 to 1. */
  busy: number;
  /** The lateness of the oldest waiting audio, or of the most overdue final of a live caller. */
  latenessMs: number;
  /** The cost of a leg as learned from real audio; missing until enough of it went through. */
  legCost?: LegCost;
  rssBytes: number;
};
