import { directionSize, numbersOf, type SentenceDirection } from './directions.ts';
import learnt from './feeling-weights.json' with { type: 'json' };
import { multilingual, SentenceMeaning } from './meaning.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

/** The mood of a sentence. `unknown`: none of the others is likely enough. */
export type HeardMood = 'negative' | 'neutral' | 'positive' | 'unknown';

const kinds: readonly HeardMood[] = ['negative', 'neutral', 'positive'];
/** Below this likelihood no feeling is told. A guess would look like a measurement. */
const least = 0.45;
const width = directionSize + 1;
const bytes = Buffer.from(learnt.weights, 'base64');
const weights = Float32Array.from({ length: kinds.length * width }, (_, at) =>
  bytes.readFloatLE(4 * at),
);

/** The feeling that the encoder of many languages hears in a sentence. */
export function feelingOf(direction: SentenceDirection): HeardMood {
  const numbers = numbersOf(direction);
  const sums = kinds.map((_, kind) => {
    const row = weights.subarray(kind * width, (kind + 1) * width);
    return numbers.reduce(
      (sum, value, at) => sum + value * (row[at] ?? 0),
      row[directionSize] ?? 0,
    );
  });
  const most = Math.max(...sums);
  const all = sums.reduce((sum, one) => sum + Math.exp(one - most), 0);
  return 1 / all < least ? 'unknown' : (kinds[sums.indexOf(most)] ?? 'unknown');
}

/** Hears feelings in sentences of languages that no lexicon knows. */
export class Feelings implements AsyncDisposable {
  /** The weights were learnt with this model. */
  readonly #meaning: SentenceMeaning;

  constructor(settings: { models?: string | undefined }, clock: Clock, log: Logger) {
    this.#meaning = new SentenceMeaning(settings, clock, log, multilingual);
  }

  isThere(): Promise<boolean> {
    return this.#meaning.isThere();
  }

  /** Undefined: there is no model, or no time. */
  async of(text: string, isLive: boolean): Promise<HeardMood | undefined> {
    const direction = await (isLive ? this.#meaning.live(text) : this.#meaning.direction(text));
    return direction && feelingOf(direction);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#meaning[Symbol.asyncDispose]();
  }
}
