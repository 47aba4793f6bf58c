import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SentenceDirection } from '../../../src/meaning/directions.ts';
import type { Meaning } from '../../../src/meaning/meaning.ts';
import {
  learnKinds,
  type KindSample,
  type KindWeights,
} from '../../../src/meaning/sentence-kinds.ts';

/** The sentence encoder with its directions kept in a file, so that rules are judged again without it. It learns here: a
 * process of low priority would make a busy machine wait. */
export class KeptMeaning implements Meaning {
  readonly #meaning: Meaning;
  readonly #file: string;
  readonly #known = new Map<string, SentenceDirection>();

  constructor(meaning: Meaning, folder: string) {
    this.#meaning = meaning;
    mkdirSync(folder, { recursive: true });
    this.#file = join(folder, 'directions.jsonl');
    if (!existsSync(this.#file)) return;
    for (const line of readFileSync(this.#file, 'utf8').split('\n').filter(Boolean)) {
      const [text, numbers] = JSON.parse(line) as [string, string];
      this.#known.set(text, Int8Array.from(Buffer.from(numbers, 'base64')));
    }
  }

  isThere(): Promise<boolean> {
    return this.#meaning.isThere();
  }

  live(text: string): Promise<SentenceDirection | undefined> {
    return this.direction(text);
  }

  async direction(text: string): Promise<SentenceDirection | undefined> {
    const known = this.#known.get(text) ?? (await this.#meaning.direction(text));
    if (known === undefined || this.#known.has(text)) return known;
    this.#known.set(text, known);
    const numbers = Buffer.from(known.buffer, known.byteOffset, known.length).toString('base64');
    appendFileSync(this.#file, `${JSON.stringify([text, numbers])}\n`);
    return known;
  }

  learn(samples: readonly KindSample[], kinds: number): Promise<KindWeights | undefined> {
    const learning = learnKinds(samples, kinds);
    for (;;) {
      const step = learning.next();
      if (step.done === true) return Promise.resolve(step.value);
    }
  }
}
