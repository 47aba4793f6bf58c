import type { Model } from '../models/model-folder.ts';
import type { ExpectedAnswer } from '../expected-words.ts';
import type { RecogniserEvent, RecogniserStreamOptions } from '../recogniser.ts';

const blockS = 0.04;

/** The child takes audio in blocks of this many samples. A shorter remainder waits in the parent. */
export function blockSamplesOf(rateHz: number): number {
  return Math.round(rateHz * blockS);
}

/** The first message to a child. */
export type ChildTask = {
  type: 'load';
  model: Model;
  vadModel: string;
  loadEveryMs: number;
  /** The folder of the model that reads recordings a second time. */
  secondReader: string | undefined;
  /**
   * True if the cost of a leg must be measured before the process is ready, because the admission of live callers
   * depends on it.
   */
  measured: boolean;
};

/**
 * Messages about one stream of a child. A stream's number is never used twice. A message on its way to a closed stream
 * therefore reaches no other stream.
 */
export type ToStream =
  | { type: 'open'; stream: number; options: RecogniserStreamOptions }
  | { type: 'audio'; stream: number; samples: Int16Array }
  /** Samples are counted from the first audio that this child was given. */
  | { type: 'expect'; stream: number; answer: ExpectedAnswer | undefined; from: number }
  | { type: 'finish'; stream: number }
  | { type: 'close'; stream: number };

/** Messages from parent to child. One child serves many streams, and their messages are sent together. */
export type ToChild = ChildTask | { type: 'streams'; of: readonly ToStream[] };

/**
 * Messages from child to parent. `decoderFailure` tells why our own loop cannot read a model it should read; the native
 * engine then reads it, with worse results. `secondReaderFailure` tells why there is no second reader. Times and
 * utterance numbers count from the first audio that this child was given.
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
   * The child has processed this many more samples of each stream. The parent sends as many again, and the session
   * continues to read.
   */
  | { type: 'consumed'; of: readonly { stream: number; samples: number }[] }
  | ({ type: 'load' } & ChildLoad);

/** Messages about one stream, in the form in which that stream receives them. */
export type OfStream =
  { type: 'event'; event: RecogniserEvent } | { type: 'consumed'; samples: number };

/** The cost of one leg that speaks all the time, in shares of a core. */
export type LegCost = {
  /** Voice detection and one reading of all speech, without partials. A leg cannot be served with less. */
  least: number;
};

/** Sent every `loadEveryMs`, also by an idle child. A child that sends nothing hangs. */
export type ChildLoad = {
  /** The share of the last interval that was spent working, 0 to 1. */
  busy: number;
  /** The lateness of the oldest waiting audio, or of the latest final of a live caller. */
  latenessMs: number;
  /** The cost of a leg as learned from real audio. Missing until enough audio was processed. */
  legCost?: LegCost;
  rssBytes: number;
};
