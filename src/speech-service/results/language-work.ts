import type { LanguageTasks, TaskName } from '../../language/tasks.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AddonBlock } from '../../protocol/addons.ts';
import { answerOf, failedBlock, type AddonRunner } from './answer.ts';

/** Tasks that return a block. */
type BlockTask = {
  [K in TaskName]: LanguageTasks[K]['output'] extends AddonBlock<unknown> ? K : never;
}[TaskName];

type LanguageWorkOptions = {
  runner: AddonRunner;
  clock: Clock;
  /** The job. Tasks of different jobs and sessions are served in rotation. */
  owner: string;
  signal: AbortSignal;
  /** The longest time for one order, including its wait. It may be long: nobody waits for a job on the telephone. */
  deadlineMs: number;
};

/**
 * At most this many utterances go in one order. An order takes a fraction of a second, so that others are served soon.
 */
export const maxUtterancesInPart = 40;
/** At most this many characters go in one order, unless a single utterance is longer. */
export const maxCharactersInPart = 8_000;
/** At most this many failed orders of one feature are repeated. Later failures are final. */
export const maxSecondTries = 24;

/** A request that found the budget of the minute used up is repeated this often, with this wait in between. */
const budgetTries = 30;
const budgetWaitMs = 10_000;

/**
 * The language work of one job. An add-on that fails gets an error block, and the job still succeeds. Only a cancelled
 * job throws: the reason of its signal.
 */
export class LanguageWork {
  readonly #options: LanguageWorkOptions;

  constructor(options: LanguageWorkOptions) {
    this.#options = options;
  }

  /** The present day, which "tomorrow" refers to: a recording does not tell its own. */
  get day(): string {
    return new Date(this.#options.clock.now()).toISOString().slice(0, 10);
  }

  async block<K extends BlockTask>(
    task: K,
    input: LanguageTasks[K]['input'],
  ): Promise<LanguageTasks[K]['output']> {
    const { signal, owner, deadlineMs } = this.#options;
    signal.throwIfAborted();
    const answer = await answerOf(this.#options, task, input, { deadlineMs, owner, signal });
    signal.throwIfAborted();
    return 'output' in answer ? answer.output : failedBlock(answer.failure);
  }

  /** For tasks that only a model can do: if the budget is used up, they wait for it. */
  async patientBlock<K extends BlockTask>(
    task: K,
    input: LanguageTasks[K]['input'],
  ): Promise<LanguageTasks[K]['output']> {
    for (let tries = 1; ; tries++) {
      const block = await this.block(task, input);
      if (tries >= budgetTries || !isBudgetSpent(block)) return block;
      await this.#wait(budgetWaitMs);
    }
  }

  /**
   * Processes a long list in batches. A batch that fails is tried again in halves, so that an utterance which hangs or
   * kills its thread loses only its own answer.
   */
  async inParts<Item, Result>(
    items: readonly Item[],
    lengthOf: (item: Item) => number,
    work: (part: Item[]) => Promise<AddonBlock<Result>>,
  ): Promise<{ part: Item[]; block: AddonBlock<Result> }[]> {
    const done: { part: Item[]; block: AddonBlock<Result> }[] = [];
    const waiting = partsOf(items, lengthOf);
    let secondTries = 0;
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      const block = await work(part);
      if (part.length > 1 && mayGoInHalves(block) && secondTries + 2 <= maxSecondTries) {
        secondTries += 2;
        const middle = part.length >> 1;
        waiting.unshift(part.slice(0, middle), part.slice(middle));
      } else done.push({ part, block });
    }
    return done;
  }

  #wait(ms: number): Promise<void> {
    const { clock, signal } = this.#options;
    return new Promise((resolve, reject) => {
      const stopped = (): void => {
        cancel();
        reject(signal.reason as Error);
      };
      const cancel = clock.after(ms, () => {
        signal.removeEventListener('abort', stopped);
        resolve();
      });
      signal.addEventListener('abort', stopped, { once: true });
    });
  }
}

/** Divides items into batches of bounded number and length, each with at least one item. */
export function partsOf<Item>(
  items: readonly Item[],
  lengthOf: (item: Item) => number,
  maxItems = maxUtterancesInPart,
  maxLength = maxCharactersInPart,
): Item[][] {
  const parts: Item[][] = [];
  let length = Infinity;
  for (const item of items) {
    const own = lengthOf(item);
    const last = parts.at(-1);
    if (last && last.length < maxItems && length + own <= maxLength) {
      last.push(item);
      length += own;
    } else {
      parts.push([item]);
      length = own;
    }
  }
  return parts;
}

/** True if the text may be at fault. A full or closed runner would only be asked more often. */
function mayGoInHalves(block: AddonBlock<unknown>): boolean {
  const status = block.error?.status_code ?? 0;
  return status === 500 || status === 502 || status === 504;
}

function isBudgetSpent(block: AddonBlock<unknown>): boolean {
  return block.error?.exception === 'LlmBudget';
}
