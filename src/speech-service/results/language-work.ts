import type { LanguageTasks, TaskName } from '../../language/tasks.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AddonBlock } from '../../protocol/addons.ts';
import { answerOf, failedBlock, type AddonRunner } from './answer.ts';

/** Tasks that answer with a block. */
type BlockTask = {
  [K in TaskName]: LanguageTasks[K]['output'] extends AddonBlock<unknown> ? K : never;
}[TaskName];

type LanguageWorkOptions = {
  runner: AddonRunner;
  clock: Clock;
  /** The job: tasks of different jobs and sessions take turns. */
  owner: string;
  signal: AbortSignal;
  /** The longest that one order may take, its wait included. Nobody waits for a job with a telephone in the hand. */
  deadlineMs: number;
};

/** Utterances in one order. A part takes a fraction of a second, so that others get their turn soon. */
export const maxUtterancesInPart = 40;
/** Characters in one order: what a part may hold at most, unless a single utterance is longer. */
export const maxCharactersInPart = 8_000;
/** Orders of one feature that are given again after a failure. Past it, what fails stays failed. */
export const maxSecondTries = 24;

/** How often and after how long a question is asked again that found the budget of the minute spent. */
const budgetTries = 30;
const budgetWaitMs = 10_000;

/**
 * The language work of one job. An add-on that fails makes its own block an error, and the job is done with it.
 * Only a cancelled job throws: the reason of its signal.
 */
export class LanguageWork {
  readonly #options: LanguageWorkOptions;

  constructor(options: LanguageWorkOptions) {
    this.#options = options;
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

  /** For tasks that have no other form than the model's: a spent budget is waited for. */
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
   * Work over a list too long for one order, part after part. A part that fails is given again in halves, so that one
   * utterance which hangs or kills its thread loses its own answer and no other.
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

/** Items in parts of bounded number and length, each at least one item. */
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

/** The text was at fault, or may have been. A runner that is full or closed would only be asked more often. */
function mayGoInHalves(block: AddonBlock<unknown>): boolean {
  const status = block.error?.status_code ?? 0;
  return status === 500 || status === 502 || status === 504;
}

function isBudgetSpent(block: AddonBlock<unknown>): boolean {
  return block.error?.exception === 'LlmBudget';
}
