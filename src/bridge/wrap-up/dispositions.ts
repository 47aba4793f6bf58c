import {
  chosenDisposition,
  matterOf,
  partShares,
  sharedWords,
  type CallMatter,
  type DispositionEvidence,
  type DispositionLine,
} from '../../language/wrap-up/disposition.ts';
import { within, type Clock } from '../../lib/clock.ts';
import {
  cosine,
  directionFrom,
  numbersOf,
  type SentenceDirection,
} from '../../meaning/directions.ts';
import type { Meaning } from '../../meaning/meaning.ts';
import type { WrapUp } from '../../protocol/wrap-up.ts';
import type { BridgeConfig } from '../config.ts';

type DispositionsOptions = {
  list: BridgeConfig['dispositions'];
  /** Records that people gave this disposition, the newest first. */
  chosenBefore: (name: string, limit: number) => Promise<WrapUp[]>;
  meaning: Pick<Meaning, 'direction' | 'isThere'>;
  clock: Clock;
};

/** A suggestion may take this long. The summary of a call waits for it. */
const withinMs = 2_000;
/** The newest calls that people gave a disposition, at most so many each, are what is learnt of it. */
const learnedCalls = 30;
/** Choices of people at other nodes count after this time. */
const learnedForMs = 60_000;

type LearnedCalls = { name: string; texts: string[] };
type Nearness = { meanings: number[]; learned: Map<string, { likeness: number; calls: number }> };

/** Suggests a disposition of the installation's list for a call, or none in doubt. */
export class Dispositions {
  readonly #options: DispositionsOptions;
  readonly #lines: DispositionLine[];
  #learned: { atMs: number; calls: LearnedCalls[] } | undefined;

  constructor(options: DispositionsOptions) {
    this.#options = options;
    this.#lines = options.list.flatMap(({ name, means, examples }) =>
      [`${name}. ${means}`, ...examples].map((text) => ({ name, text })),
    );
  }

  /** The names of the list, in its order. */
  get names(): string[] {
    return this.#options.list.map(({ name }) => name);
  }

  /** A person chose one: the next call learns from it. */
  forget(): void {
    this.#learned = undefined;
  }

  /** The record with a suggestion where it has no disposition. It never fails: words are always there. */
  async suggested(
    record: WrapUp,
    turns: readonly { role: string; text: string }[],
  ): Promise<WrapUp> {
    if (this.#lines.length === 0 || record.disposition !== null) return record;
    const matter = matterOf(record, turns);
    if (matter.reason === '' && matter.done === '') return record;
    let learned: LearnedCalls[] = [];
    let near: Nearness | undefined;
    const work = async (): Promise<void> => {
      learned = await this.#learnedCalls();
      near = await this.#nearnessOf(matter, learned);
    };
    // Words are always there. A store or a model that fails or is late only leaves out what it knows.
    await within(
      this.#options.clock,
      withinMs,
      work().catch(() => undefined),
    );
    const lines = [...this.#lines, ...learned.flatMap(({ name, texts }) => texts.map((text) => ({ name, text })))]; // prettier-ignore
    const words = sharedWords(matter, near === undefined ? lines : this.#lines);
    const found = near;
    const evidence = this.names.map((name): DispositionEvidence => {
      const own = <Value>(values: readonly Value[]): Value[] => values.filter((_, at) => lines[at]?.name === name); // prettier-ignore
      const known = found?.learned.get(name);
      return {
        name,
        words: own(words),
        ...(found === undefined ? {} : { meanings: own(found.meanings) }),
        ...(known === undefined ? {} : { learned: known }),
      };
    });
    const chosen = chosenDisposition(evidence);
    return chosen === undefined
      ? record
      : { ...record, disposition: chosen.name, disposition_by: chosen.by };
  }

  /** The nearness of the call to each line of the list, and to the calls that people gave each disposition. */
  async #nearnessOf(
    matter: CallMatter,
    learned: readonly LearnedCalls[],
  ): Promise<Nearness | undefined> {
    const { meaning } = this.#options;
    if (!(await meaning.isThere())) return undefined;
    const parts: { direction: SentenceDirection; share: number }[] = [];
    for (const part of ['reason', 'opening', 'done'] as const) {
      const direction = matter[part] === '' ? undefined : await meaning.direction(matter[part]);
      if (direction !== undefined) parts.push({ direction, share: partShares[part] });
    }
    if (parts.length === 0) return undefined;
    const nearTo = (direction: SentenceDirection): number =>
      parts.reduce((sum, part) => sum + part.share * cosine(part.direction, direction), 0);
    const meanings: number[] = [];
    for (const { text } of this.#lines) {
      const direction = await meaning.direction(text);
      if (direction === undefined) return undefined;
      meanings.push(nearTo(direction));
    }
    const near: Nearness = { meanings, learned: new Map() };
    for (const { name, texts } of learned) {
      const directions: SentenceDirection[] = [];
      for (const text of texts) {
        const direction = await meaning.direction(text);
        if (direction !== undefined) directions.push(direction);
      }
      if (directions.length > 0)
        near.learned.set(name, { likeness: nearTo(meanOf(directions)), calls: directions.length });
    }
    return near;
  }

  /** The directions of the newest calls to which people gave each disposition. */
  async #learnedCalls(): Promise<LearnedCalls[]> {
    const { clock, chosenBefore } = this.#options;
    const now = clock.monotonicMs();
    if (this.#learned !== undefined && now - this.#learned.atMs < learnedForMs)
      return this.#learned.calls;
    const calls: LearnedCalls[] = [];
    for (const name of this.names) {
      const records = await chosenBefore(name, learnedCalls);
      const texts = records.map((record) => {
        const { reason, done } = matterOf(record, []);
        return [reason, done].filter((part) => part !== '').join('. ');
      });
      calls.push({ name, texts: texts.filter((text) => text !== '') });
    }
    this.#learned = { atMs: now, calls };
    return calls;
  }
}

function meanOf(directions: readonly SentenceDirection[]): SentenceDirection {
  const sum = new Float64Array(directions[0]?.length ?? 0);
  for (const direction of directions)
    for (const [at, value] of numbersOf(direction).entries()) sum[at] = (sum[at] ?? 0) + value;
  return directionFrom(sum);
}
