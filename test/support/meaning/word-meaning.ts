import {
  directionFrom,
  directionSize,
  type SentenceDirection,
} from '../../../src/meaning/directions.ts';
import type { Meaning } from '../../../src/meaning/meaning.ts';
import { learnKinds, type KindSample } from '../../../src/meaning/sentence-kinds.ts';

/** Words that mean the same to this stand-in: one word of each line stands for all of it. */
const alike = [
  'cancel end stop terminate quit close leave',
  'manager boss supervisor chief',
  'refund money back reimburse',
  'contract subscription plan account',
];
const standing = new Map(alike.flatMap((line) => line.split(' ').map((word) => [word, line])));

/**
 * A test double of the sentence encoder: each word adds a fixed direction of its own, and words of one line of `alike`
 * the same one. It says nothing about how well the real model understands.
 */
export function wordDirection(text: string): SentenceDirection {
  const sum = new Float64Array(directionSize);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    let seed = 2_166_136_261;
    for (const letter of standing.get(word) ?? word)
      seed = Math.imul(seed ^ letter.charCodeAt(0), 16_777_619) >>> 0;
    for (let turn = 0; turn < 24; turn++) {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      const at = (seed >>> 8) % directionSize;
      sum[at] = (sum[at] ?? 0) + (seed & 1 ? 1 : -1);
    }
  }
  return directionFrom(sum);
}

/** Stands in for the process with the model. `isThere` may be set to false: then nothing is known. */
export class WordMeaning implements Meaning {
  has = true;
  asked = 0;

  isThere(): Promise<boolean> {
    return Promise.resolve(this.has);
  }

  live(text: string): Promise<SentenceDirection | undefined> {
    this.asked++;
    return Promise.resolve(this.has ? wordDirection(text) : undefined);
  }

  direction(text: string): Promise<SentenceDirection | undefined> {
    return this.live(text);
  }

  learn(samples: readonly KindSample[], kinds: number) {
    const learning = learnKinds(samples, kinds);
    for (;;) {
      const step = learning.next();
      if (step.done === true) return Promise.resolve(this.has ? step.value : undefined);
    }
  }
}
