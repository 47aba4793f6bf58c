import { Worker } from 'node:worker_threads';
import type { LlmConfig } from './config.ts';
import { withModel, type OnThread } from './llm/route.ts';
import { llmProvider } from './llm/provider.ts';
import {
  failedTask,
  type AnswerMessage,
  type LanguageTasks,
  type OrderMessage,
  type TaskName,
} from './tasks.ts';

export type LanguageRunnerOptions = {
  /** Names the language model, if there is one. */
  config?: LlmConfig;
  /** Orders that may wait per thread; one more is answered with an error block at once. */
  queueLimit?: number;
  /** The thread's own file; another one only where a thread's misbehaviour is the subject. */
  workerUrl?: URL;
  onReplaced?(failure: TaskFailure): void;
};

export type RunOptions = { deadlineMs?: number; signal?: AbortSignal };

export type LanguageRunner = AsyncDisposable & {
  /** Does the task on a thread. Always answers, with the error block when there is no result; never throws. */
  run<K extends TaskName>(
    task: K,
    input: LanguageTasks[K]['input'],
    options?: RunOptions,
  ): Promise<LanguageTasks[K]['output']>;
  /** Loads the data before the first call needs it. */
  warm(): Promise<void>;
};

/** Whole calls take seconds and must not stand before a sentence that somebody waits for: they have their own thread. */
const wholeCallTasks = new Set<TaskName>(['summarization', 'chapterization', 'call']);

const liveDeadlineMs = 2_000;
const wholeCallDeadlineMs = 20_000;

function deadlineOf(task: TaskName): number {
  return wholeCallTasks.has(task) ? wholeCallDeadlineMs : liveDeadlineMs;
}

const reasons: Record<TaskFailure, [number, string, string]> = {
  deadline: [504, 'LanguageDeadline', 'the language task did not end before its deadline'],
  crashed: [500, 'LanguageThreadLost', 'the thread of the language task ended before its answer'],
  full: [503, 'LanguageBusy', 'too many language tasks are waiting'],
  closed: [503, 'LanguageClosed', 'the language runner is closed'],
  aborted: [499, 'LanguageAborted', 'the language task was no longer wanted'],
};

export function startLanguageRunner(options: LanguageRunnerOptions = {}): LanguageRunner {
  const thread = (idleMs: number): Thread =>
    new Thread({
      workerUrl: options.workerUrl ?? new URL('./worker.ts', import.meta.url),
      queueLimit: options.queueLimit ?? 1_000,
      idleMs,
      onReplaced: (failure) => options.onReplaced?.(failure),
    });
  const live = thread(0);
  const wholeCalls = thread(60_000);
  const llm = llmProvider(options.config);
  let lastId = 0;

  async function runOnThread<K extends TaskName>(
    task: K,
    input: LanguageTasks[K]['input'],
    { deadlineMs, signal }: RunOptions = {},
  ): Promise<LanguageTasks[K]['output']> {
    const startedAtMs = performance.now();
    const isWholeCall = wholeCallTasks.has(task);
    const chosen = isWholeCall ? wholeCalls : live;
    const id = ++lastId;
    const abort = (): void => chosen.abort(id);
    const result = await new Promise<{ output: unknown } | { failure: TaskFailure }>((settle) => {
      if (signal?.aborted) {
        settle({ failure: 'aborted' });
        return;
      }
      signal?.addEventListener('abort', abort, { once: true });
      chosen.give({ id, task, input, deadlineMs: deadlineMs ?? deadlineOf(task), settle });
    });
    signal?.removeEventListener('abort', abort);
    if ('output' in result) return result.output as LanguageTasks[K]['output'];
    return failedTask(task, input, ...reasons[result.failure], startedAtMs);
  }

  return {
    run(task, input, runOptions = {}) {
      if (!llm || runOptions.signal?.aborted) return runOnThread(task, input, runOptions);
      const onThread: OnThread = (name, its) => runOnThread(name, its, runOptions);
      const deadlineMs = runOptions.deadlineMs ?? deadlineOf(task);
      return withModel(llm, task, input, onThread, { ...runOptions, deadlineMs });
    },
    async warm() {
      await runOnThread('entities', { utterance: emptyUtterance }, { deadlineMs: 30_000 });
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([live.close(), wholeCalls.close()]);
    },
  };
}

const emptyUtterance = {
  start: 0,
  end: 0,
  confidence: 1,
  channel: 0,
  words: [],
  text: '',
  language: 'en',
};

/** One piece of work for a thread. `settle` gets the output, or the reason why there is none. */
type TaskOrder = {
  id: number;
  task: TaskName;
  input: unknown;
  deadlineMs: number;
  settle(result: { output: unknown } | { failure: TaskFailure }): void;
};

export type TaskFailure = 'deadline' | 'crashed' | 'full' | 'closed' | 'aborted';

type ThreadOptions = {
  workerUrl: URL;
  /** Orders that may wait; one more is refused at once. */
  queueLimit: number;
  /** A thread that nobody needed for so long is ended, and its memory with it. 0: kept. */
  idleMs: number;
  /** Told each time a thread had to be replaced. */
  onReplaced(failure: TaskFailure): void;
};

/**
 * A worker thread that takes orders one at a time. One order is with the thread, the others wait here, so a
 * thread that hangs takes only its own order with it: it is terminated and the next one goes on with the queue.
 * The clock of an order runs from when it is given; the start of a fresh thread is not charged to it.
 */
class Thread {
  readonly #options: ThreadOptions;
  readonly #queue: TaskOrder[] = [];
  #worker: Worker | undefined;
  #ready = false;
  #running: TaskOrder | undefined;
  #timers = new Map<number, NodeJS.Timeout>();
  #idle: NodeJS.Timeout | undefined;
  #closed = false;
  #startFailures = 0;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  give(order: TaskOrder): void {
    if (this.#closed) {
      order.settle({ failure: 'closed' });
      return;
    }
    if (this.#queue.length >= this.#options.queueLimit) {
      order.settle({ failure: 'full' });
      return;
    }
    this.#queue.push(order);
    if (this.#ready) this.#watch(order);
    this.#next();
  }

  /** The order is no longer wanted; one that is with the thread is left to finish, its answer dropped. */
  abort(id: number): void {
    this.#drop(id, 'aborted');
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    for (const order of [this.#running, ...this.#queue.splice(0)])
      if (order) this.#settle(order, { failure: 'closed' });
    this.#running = undefined;
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #next(): void {
    clearTimeout(this.#idle);
    if (this.#running || this.#closed) return;
    if (this.#queue.length === 0) {
      this.#rest();
      return;
    }
    this.#worker ??= this.#start();
    if (!this.#ready) return;
    const order = this.#queue.shift();
    if (!order) return;
    this.#running = order;
    const message: OrderMessage = { id: order.id, task: order.task, input: order.input };
    this.#worker.postMessage(message);
  }

  #rest(): void {
    if (this.#options.idleMs === 0 || !this.#worker) return;
    this.#idle = setTimeout(() => {
      const worker = this.#worker;
      this.#forget();
      void worker?.terminate();
    }, this.#options.idleMs);
    this.#idle.unref();
  }

  #start(): Worker {
    const worker = new Worker(this.#options.workerUrl, {
      // A text cannot make the thread eat the process: past this the thread alone dies.
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    worker.unref();
    worker.on('message', (answer: AnswerMessage) => {
      if (worker === this.#worker) this.#onAnswer(answer);
    });
    worker.on('error', () => this.#onGone(worker));
    worker.on('exit', () => this.#onGone(worker));
    return worker;
  }

  #onAnswer(answer: AnswerMessage): void {
    if ('ready' in answer) {
      this.#ready = true;
      this.#startFailures = 0;
      for (const order of this.#queue) this.#watch(order);
    } else if (this.#running?.id === answer.id) {
      const order = this.#running;
      this.#running = undefined;
      this.#settle(order, { output: answer.output });
    }
    this.#next();
  }

  #onGone(worker: Worker): void {
    if (worker !== this.#worker) return;
    const wasReady = this.#ready;
    const order = this.#running;
    this.#forget();
    this.#options.onReplaced('crashed');
    if (order) this.#settle(order, { failure: 'crashed' });
    // A thread that cannot even start would be started for ever: three tries, then the orders are answered.
    if (!wasReady && ++this.#startFailures >= 3) {
      this.#startFailures = 0;
      for (const waiting of this.#queue.splice(0)) this.#settle(waiting, { failure: 'crashed' });
    }
    this.#next();
  }

  #watch(order: TaskOrder): void {
    const timer = setTimeout(() => this.#drop(order.id, 'deadline'), order.deadlineMs);
    timer.unref();
    this.#timers.set(order.id, timer);
  }

  #drop(id: number, failure: TaskFailure): void {
    const waiting = this.#queue.findIndex((order) => order.id === id);
    const order = waiting >= 0 ? this.#queue.splice(waiting, 1)[0] : this.#running;
    if (order?.id !== id) return;
    if (waiting < 0 && failure === 'deadline') {
      const worker = this.#worker;
      this.#forget();
      void worker?.terminate();
      this.#options.onReplaced('deadline');
    }
    this.#settle(order, { failure });
    this.#next();
  }

  #forget(): void {
    this.#worker = undefined;
    this.#ready = false;
    this.#running = undefined;
  }

  #settle(order: TaskOrder, result: Parameters<TaskOrder['settle']>[0]): void {
    clearTimeout(this.#timers.get(order.id));
    this.#timers.delete(order.id);
    order.settle(result);
  }
}
