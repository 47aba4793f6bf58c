import { Worker } from 'node:worker_threads';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { LlmConfig } from './config.ts';
import { llmProvider } from './llm/provider.ts';
import { withFelt } from './sentiment/felt.ts';
import type { SentenceFeelings } from './types.ts';
import { withModel, type OnThread } from './llm/with-model.ts';
import {
  failedTask,
  type AnswerMessage,
  type LanguageTasks,
  type OrderMessage,
  type TaskName,
} from './tasks.ts';
import { maxOrdersWaiting, FairQueue } from './fair-queue.ts';

type LanguageRunnerOptions = {
  /** The language model, if one is configured. */
  config?: LlmConfig;
  clock?: Clock;
  /** The number of orders that may wait per lane. Further ones get an error block at once. */
  queueLimit?: number;
  /** The worker's file. Tests of a misbehaving thread pass another one. */
  workerUrl?: URL;
  /** Hears what sentences of other languages than English express. Without it that is unknown. */
  feelings?: SentenceFeelings | undefined;
  /** Called with the reason each time an answer of the language model could not be used. */
  onUnusedAnswer?: (reason: string) => void;
  /** Called each time a thread had to be replaced. */
  onReplaced?(reason: TaskFailure | 'slow'): void;
};

type RunOptions = {
  deadlineMs?: number;
  signal?: AbortSignal;
  /** The session or call that the task belongs to. Owners are served in rotation. */
  owner?: string;
};

export type LanguageRunner = AsyncDisposable & {
  /** Runs the task on a thread. Always resolves, with the error block if there is no result, and never throws. */
  run<K extends TaskName>(
    task: K,
    input: LanguageTasks[K]['input'],
    options?: RunOptions,
  ): Promise<LanguageTasks[K]['output']>;
  /** Loads the language data before the first call needs it. */
  warm(): Promise<void>;
};

type LaneName = 'live' | 'redaction' | 'wholeCalls' | 'apart';

/**
 * The lane of each task. Whole calls take seconds and must not delay a sentence that somebody waits for. Redaction has
 * a lane of its own, because a final whose redaction is late is sent as `[REDACTED]`.
 */
const laneOf: Partial<Record<TaskName, LaneName>> = {
  redact: 'redaction',
  summarization: 'wholeCalls',
  chapterization: 'wholeCalls',
  call: 'wholeCalls',
  writtenAll: 'wholeCalls',
  writtenUtterances: 'wholeCalls',
  rewriteAll: 'wholeCalls',
  redactAll: 'wholeCalls',
  redactKnown: 'wholeCalls',
  entitiesAll: 'wholeCalls',
  sentimentAll: 'wholeCalls',
  translateAll: 'wholeCalls',
};

/**
 * The longest that an order may delay the others of its lane. An utterance takes milliseconds and a call of an hour
 * less than a second. A slower order has an unusual vocabulary or text, and other owners should not pay for it.
 */
const slowMs: Record<LaneName, number> = {
  live: 250,
  redaction: 250,
  wholeCalls: 5_000,
  apart: Infinity,
};

/**
 * The owner of a slow order is moved to the lane `apart` for this long. Each further slow order starts the time again.
 */
const apartMs = 60_000;

/** At most this many owners are remembered as slow. Beyond it the one that was slow longest ago is forgotten. */
export const maxOwnersApart = 1_000;

const liveDeadlineMs = 2_000;
const wholeCallDeadlineMs = 20_000;

function deadlineOf(task: TaskName): number {
  return laneOf[task] === 'wholeCalls' ? wholeCallDeadlineMs : liveDeadlineMs;
}

type TaskFailure = 'deadline' | 'crashed' | 'full' | 'closed' | 'aborted';

const reasons: Record<TaskFailure, [number, string, string]> = {
  deadline: [504, 'LanguageDeadline', 'the language task did not end before its deadline'],
  crashed: [500, 'LanguageThreadLost', 'the thread of the language task ended before its answer'],
  full: [503, 'LanguageBusy', 'too many language tasks are waiting'],
  closed: [503, 'LanguageClosed', 'the language runner is closed'],
  aborted: [499, 'LanguageAborted', 'the language task was no longer wanted'],
};

/**
 * Four lanes, each a thread that is started when something first needs it:
 *
 *   live ───────┐
 *   redaction ──┤  an order that delays others too long
 *   wholeCalls ─┴────────────────────────────────────────────> apart
 *
 * Each lane serves its owners in rotation. An owner whose order was slow, hung or killed its thread moves to the lane
 * `apart` for a while, where it can delay only other such owners.
 */
export function startLanguageRunner(options: LanguageRunnerOptions = {}): LanguageRunner {
  const clock = options.clock ?? systemClock;
  const slowOwners = new SlowOwners(clock);
  const lane = (name: LaneName, idleMs: number): Lane =>
    new Lane({
      clock,
      workerUrl: options.workerUrl ?? new URL('./worker.ts', import.meta.url),
      queueLimit: options.queueLimit ?? maxOrdersWaiting,
      idleMs,
      slowMs: slowMs[name],
      onSlow: (owner) => slowOwners.add(owner),
      moveOut: (order) => lanes.apart.give(order),
      onReplaced: (reason) => options.onReplaced?.(reason),
    });
  const lanes: Record<LaneName, Lane> = {
    live: lane('live', 0),
    redaction: lane('redaction', 0),
    wholeCalls: lane('wholeCalls', 60_000),
    apart: lane('apart', 60_000),
  };
  const llm = llmProvider(options.config, undefined, ({ message }) =>
    options.onUnusedAnswer?.(message),
  );
  let lastId = 0;

  async function runOnThread<K extends TaskName>(
    task: K,
    input: LanguageTasks[K]['input'],
    { deadlineMs, signal, owner = '' }: RunOptions = {},
  ): Promise<LanguageTasks[K]['output']> {
    const startedAtMs = performance.now();
    let abort = (): void => undefined;
    const result = await new Promise<TaskResult>((settle) => {
      if (signal?.aborted) {
        settle({ failure: 'aborted' });
        return;
      }
      const order: TaskOrder = {
        id: ++lastId,
        task,
        input,
        owner,
        deadlineMs: deadlineMs ?? deadlineOf(task),
        settle,
      };
      abort = () => order.lane?.abort(order);
      signal?.addEventListener('abort', abort, { once: true });
      lanes[slowOwners.has(owner) ? 'apart' : (laneOf[task] ?? 'live')].give(order);
    });
    signal?.removeEventListener('abort', abort);
    if ('output' in result) return result.output as LanguageTasks[K]['output'];
    return failedTask(task, input, ...reasons[result.failure], startedAtMs);
  }

  return {
    async run(task, asked, runOptions = {}) {
      const { feelings } = options;
      const input = feelings
        ? await withFelt(task, asked, feelings, { deadlineMs: deadlineOf(task), ...runOptions })
        : asked;
      if (!llm || runOptions.signal?.aborted) return runOnThread(task, input, runOptions);
      const onThread: OnThread = (name, its) => runOnThread(name, its, runOptions);
      const deadlineMs = runOptions.deadlineMs ?? deadlineOf(task);
      return withModel(llm, task, input, onThread, { ...runOptions, deadlineMs });
    },
    async warm() {
      await runOnThread('entities', { utterance: emptyUtterance }, { deadlineMs: 30_000 });
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(lanes).map((one) => one.close()));
    },
  };
}

/** Owners whose orders were slow recently. */
class SlowOwners {
  readonly #clock: Clock;
  readonly #untilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(owner: string): void {
    // Tasks without an owner come from many sessions. One slow task says nothing about the others.
    if (owner === '') return;
    this.#untilMs.delete(owner);
    this.#untilMs.set(owner, this.#clock.monotonicMs() + apartMs);
    if (this.#untilMs.size <= maxOwnersApart) return;
    for (const oldest of this.#untilMs.keys()) {
      this.#untilMs.delete(oldest);
      break;
    }
  }

  has(owner: string): boolean {
    const untilMs = this.#untilMs.get(owner);
    if (untilMs === undefined) return false;
    if (this.#clock.monotonicMs() < untilMs) return true;
    this.#untilMs.delete(owner);
    return false;
  }
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

type TaskResult = { output: unknown } | { failure: TaskFailure };

/** One task for a thread. `settle` gets the output, or the reason why there is none. */
type TaskOrder = {
  readonly id: number;
  readonly task: TaskName;
  readonly input: unknown;
  readonly owner: string;
  readonly deadlineMs: number;
  readonly settle: (result: TaskResult) => void;
  /** The lane in which the order waits or runs. */
  lane?: Lane;
  /** Set while the deadline runs. */
  stopDeadline?: () => void;
  /** True once nobody waits for the answer. */
  isAborted?: true;
};

type LaneOptions = {
  clock: Clock;
  workerUrl: URL;
  queueLimit: number;
  /** A thread without work for this long is ended, which frees its memory. 0 keeps the thread. */
  idleMs: number;
  slowMs: number;
  /** Called with the owner of an order that was slow, hung or lost its thread. */
  onSlow: (owner: string) => void;
  /** Takes over an order that delayed others. */
  moveOut: (order: TaskOrder) => void;
  onReplaced: (reason: TaskFailure | 'slow') => void;
};

/**
 * One worker thread and the orders that wait for it. The thread has one order at a time. A thread that hangs therefore
 * loses only that order: it is terminated, and a fresh thread does the others. The deadline of an order runs from its
 * arrival; the start of a thread does not count.
 */
class Lane {
  readonly #options: LaneOptions;
  readonly #waiting: FairQueue<TaskOrder>;
  #worker: Worker | undefined;
  #ready = false;
  #running: { order: TaskOrder; isSlow: boolean; stopWatch: () => void } | undefined;
  #stopIdle: (() => void) | undefined;
  #closed = false;
  #startFailures = 0;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#waiting = new FairQueue(options.queueLimit);
  }

  give(order: TaskOrder): void {
    order.lane = this;
    if (this.#closed) this.#settle(order, { failure: 'closed' });
    else if (!this.#waiting.push(order)) this.#settle(order, { failure: 'full' });
    else {
      if (this.#ready) this.#startDeadline(order);
      this.#next();
    }
  }

  /**
   * The caller no longer wants the order. An order that is already with the thread runs to its end and its answer is
   * dropped. Its deadline stays, or a hanging thread would never be replaced.
   */
  abort(order: TaskOrder): void {
    if (this.#waiting.remove(order)) this.#settle(order, { failure: 'aborted' });
    else if (this.#running?.order === order) {
      order.isAborted = true;
      order.settle({ failure: 'aborted' });
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopIdle?.();
    const running = this.#running?.order;
    const worker = this.#forget();
    for (const order of [running, ...this.#waiting.clear()])
      if (order) this.#settle(order, { failure: 'closed' });
    await worker?.terminate();
  }

  #next(): void {
    this.#stopIdle?.();
    if (this.#closed) return;
    this.#moveOutSlow();
    if (this.#running) return;
    if (this.#waiting.size === 0) {
      this.#rest();
      return;
    }
    this.#worker ??= this.#start();
    if (!this.#ready) return;
    const order = this.#waiting.shift();
    if (!order) return;
    this.#running = { order, isSlow: false, stopWatch: this.#watch(order) };
    const message: OrderMessage = { id: order.id, task: order.task, input: order.input };
    this.#worker.postMessage(message);
  }

  /** Notices when the running order has taken longer than others should wait. */
  #watch(order: TaskOrder): () => void {
    const { clock, slowMs: afterMs } = this.#options;
    if (afterMs === Infinity) return () => undefined;
    return clock.after(afterMs, () => {
      if (this.#running?.order !== order) return;
      this.#running.isSlow = true;
      this.#setApart(order.owner);
      this.#next();
    });
  }

  /** Moves the owner's waiting orders as well: they would be as slow. */
  #setApart(owner: string): void {
    const { onSlow, moveOut, slowMs: afterMs } = this.#options;
    onSlow(owner);
    if (owner === '' || afterMs === Infinity) return;
    for (const order of this.#waiting.takeOf(owner)) moveOut(order);
  }

  /**
   * Moves a slow order to the lane `apart`, but only while somebody else waits: the machine may just be busy. The order
   * starts again there with the rest of its deadline, and this thread is replaced.
   */
  #moveOutSlow(): void {
    const running = this.#running;
    if (!running?.isSlow || !this.#waiting.hasOthers(running.order.owner)) return;
    void this.#forget()?.terminate();
    this.#options.onReplaced('slow');
    if (running.order.isAborted) running.order.stopDeadline?.();
    else this.#options.moveOut(running.order);
  }

  #rest(): void {
    if (this.#options.idleMs === 0 || !this.#worker) return;
    this.#stopIdle = this.#options.clock.after(this.#options.idleMs, () => {
      void this.#forget()?.terminate();
    });
  }

  #start(): Worker {
    const worker = new Worker(this.#options.workerUrl, {
      // A text must not use up the memory of the process. Past this limit only the thread dies.
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
      for (const order of this.#waiting) this.#startDeadline(order);
    } else if (this.#running?.order.id === answer.id) {
      const { order, stopWatch } = this.#running;
      stopWatch();
      this.#running = undefined;
      this.#settle(order, { output: answer.output });
    }
    this.#next();
  }

  #onGone(worker: Worker): void {
    if (worker !== this.#worker) return;
    const wasReady = this.#ready;
    const order = this.#running?.order;
    this.#forget();
    this.#options.onReplaced('crashed');
    if (order) {
      this.#setApart(order.owner);
      this.#settle(order, { failure: 'crashed' });
    }
    // A thread that cannot start would be restarted for ever. After three tries the orders are answered with an error.
    if (!wasReady && ++this.#startFailures >= 3) {
      this.#startFailures = 0;
      for (const waiting of this.#waiting.clear()) this.#settle(waiting, { failure: 'crashed' });
    }
    this.#next();
  }

  /** Starts the deadline once per order. An order that is moved keeps its deadline. */
  #startDeadline(order: TaskOrder): void {
    order.stopDeadline ??= this.#options.clock.after(order.deadlineMs, () =>
      order.lane?.onDeadline(order),
    );
  }

  /** The order's own deadline calls this, even if it started in another lane. */
  onDeadline(order: TaskOrder): void {
    const isRunning = this.#running?.order === order;
    if (!isRunning && !this.#waiting.remove(order)) return;
    if (isRunning) {
      void this.#forget()?.terminate();
      this.#setApart(order.owner);
      this.#options.onReplaced('deadline');
    }
    this.#settle(order, { failure: 'deadline' });
    this.#next();
  }

  /**
   * Lets go of the thread. Deadlines of waiting orders start again with the next thread, whose start does not count.
   */
  #forget(): Worker | undefined {
    const worker = this.#worker;
    for (const order of this.#waiting) {
      order.stopDeadline?.();
      delete order.stopDeadline;
    }
    this.#running?.stopWatch();
    this.#running = undefined;
    this.#worker = undefined;
    this.#ready = false;
    return worker;
  }

  #settle(order: TaskOrder, result: TaskResult): void {
    order.stopDeadline?.();
    order.settle(result);
  }
}
