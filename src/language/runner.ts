import { Worker } from 'node:worker_threads';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { LlmConfig } from './config.ts';
import { llmProvider } from './llm/provider.ts';
import { withModel, type OnThread } from './llm/route.ts';
import {
  failedTask,
  type AnswerMessage,
  type LanguageTasks,
  type OrderMessage,
  type TaskName,
} from './tasks.ts';
import { maxOrdersWaiting, Turns } from './turns.ts';

type LanguageRunnerOptions = {
  /** Names the language model, if there is one. */
  config?: LlmConfig;
  clock?: Clock;
  /** Orders that may wait per lane; one more is answered with an error block at once. */
  queueLimit?: number;
  /** The thread's own file; another one only where a thread's misbehaviour is the subject. */
  workerUrl?: URL;
  /** Told each time a thread had to be replaced. */
  onReplaced?(reason: TaskFailure | 'slow'): void;
};

type RunOptions = {
  deadlineMs?: number;
  signal?: AbortSignal;
  /** The session or call that the task is for: tasks of different owners take turns. */
  owner?: string;
};

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

type LaneName = 'live' | 'redaction' | 'wholeCalls' | 'apart';

/**
 * Which thread does a task. Whole calls take seconds and must not stand before a sentence that somebody waits for.
 * Redaction stands behind nothing: a final without its answer in time leaves as `[REDACTED]`, so whatever else is
 * slow must not cost a call its words.
 */
const laneOf: Partial<Record<TaskName, LaneName>> = {
  redact: 'redaction',
  summarization: 'wholeCalls',
  chapterization: 'wholeCalls',
  call: 'wholeCalls',
  rewriteAll: 'wholeCalls',
  redactAll: 'wholeCalls',
  redactKnown: 'wholeCalls',
  entitiesAll: 'wholeCalls',
  sentimentAll: 'wholeCalls',
  translateAll: 'wholeCalls',
};

/**
 * An order may keep the others of its lane waiting for so long. An utterance takes milliseconds, a call of an hour less
 * than a second; what is past this has a vocabulary or a text that nobody else should pay for.
 */
const slowMs: Record<LaneName, number> = {
  live: 250,
  redaction: 250,
  wholeCalls: 5_000,
  apart: Infinity,
};

/** The owner of a slow order is done apart for so long. Each further slow order begins the time anew. */
const apartMs = 60_000;

/** Owners that are remembered as slow. Past it the one that was slow longest ago is forgotten. */
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
 *   redaction ──┤  an order that keeps others waiting too long
 *   wholeCalls ─┴────────────────────────────────────────────> apart
 *
 * In each lane owners take turns. An owner whose order was slow, hung or killed its thread is done in the lane
 * `apart` for a while, where it only meets others of its kind.
 */
export function startLanguageRunner(options: LanguageRunnerOptions = {}): LanguageRunner {
  const clock = options.clock ?? systemClock;
  const apartUntilMs = new Map<string, number>();
  const lane = (name: LaneName, idleMs: number): Lane =>
    new Lane({
      clock,
      workerUrl: options.workerUrl ?? new URL('./worker.ts', import.meta.url),
      queueLimit: options.queueLimit ?? maxOrdersWaiting,
      idleMs,
      slowMs: slowMs[name],
      onSlow: setApart,
      moveOut: (order) => lanes.apart.give(order),
      onReplaced: (reason) => options.onReplaced?.(reason),
    });
  const lanes: Record<LaneName, Lane> = {
    live: lane('live', 0),
    redaction: lane('redaction', 0),
    wholeCalls: lane('wholeCalls', 60_000),
    apart: lane('apart', 60_000),
  };
  const llm = llmProvider(options.config);
  let lastId = 0;

  function setApart(owner: string): void {
    // Tasks without an owner are of many sessions: one of them being slow says nothing about the others.
    if (owner === '') return;
    apartUntilMs.delete(owner);
    apartUntilMs.set(owner, clock.monotonicMs() + apartMs);
    if (apartUntilMs.size <= maxOwnersApart) return;
    for (const oldest of apartUntilMs.keys()) {
      apartUntilMs.delete(oldest);
      break;
    }
  }

  function laneFor(task: TaskName, owner: string): Lane {
    const untilMs = apartUntilMs.get(owner);
    if (untilMs !== undefined && clock.monotonicMs() < untilMs) return lanes.apart;
    if (untilMs !== undefined) apartUntilMs.delete(owner);
    return lanes[laneOf[task] ?? 'live'];
  }

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
      laneFor(task, owner).give(order);
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
      await Promise.all(Object.values(lanes).map((one) => one.close()));
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

type TaskResult = { output: unknown } | { failure: TaskFailure };

/** One piece of work for a thread. `settle` gets the output, or the reason why there is none. */
type TaskOrder = {
  readonly id: number;
  readonly task: TaskName;
  readonly input: unknown;
  readonly owner: string;
  readonly deadlineMs: number;
  readonly settle: (result: TaskResult) => void;
  /** The lane in which it waits or is done. */
  lane?: Lane;
  /** Set while the deadline runs. */
  stopDeadline?: () => void;
  /** Nobody waits for the answer any more. */
  isAborted?: true;
};

type LaneOptions = {
  clock: Clock;
  workerUrl: URL;
  queueLimit: number;
  /** A thread that nobody needed for so long is ended, and its memory with it. 0: kept. */
  idleMs: number;
  slowMs: number;
  /** Told whose order was slow, hung or lost its thread. */
  onSlow: (owner: string) => void;
  /** Takes an order that kept others waiting. */
  moveOut: (order: TaskOrder) => void;
  onReplaced: (reason: TaskFailure | 'slow') => void;
};

/**
 * One worker thread and the orders that wait for it. One order is with the thread, the others wait here in turns, so
 * a thread that hangs takes only its own order with it: it is terminated and a fresh one goes on with the others.
 * The deadline of an order runs from when it is given; the start of a thread is not charged to it.
 */
class Lane {
  readonly #options: LaneOptions;
  readonly #waiting: Turns<TaskOrder>;
  #worker: Worker | undefined;
  #ready = false;
  #running: { order: TaskOrder; isSlow: boolean; stopWatch: () => void } | undefined;
  #stopIdle: (() => void) | undefined;
  #closed = false;
  #startFailures = 0;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#waiting = new Turns(options.queueLimit);
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
   * The order is no longer wanted. One that is with the thread is left to finish and its answer dropped; its deadline
   * goes on, or a thread that hangs on it would never be replaced.
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

  /** Notices when the order with the thread has taken longer than others should wait. */
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

  /** The other orders of the owner would be as slow: it goes along. */
  #setApart(owner: string): void {
    const { onSlow, moveOut, slowMs: afterMs } = this.#options;
    onSlow(owner);
    if (owner === '' || afterMs === Infinity) return;
    for (const order of this.#waiting.takeOf(owner)) moveOut(order);
  }

  /**
   * While nobody else waits, a slow order is left alone: the machine may just be busy. As soon as somebody does, the
   * order begins again in the lane of the slow ones, with what is left of its deadline, and the thread is replaced.
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
    // A thread that cannot even start would be started for ever: three tries, then the orders are answered.
    if (!wasReady && ++this.#startFailures >= 3) {
      this.#startFailures = 0;
      for (const waiting of this.#waiting.clear()) this.#settle(waiting, { failure: 'crashed' });
    }
    this.#next();
  }

  /** Once per order: one that is moved keeps the deadline that it has. */
  #startDeadline(order: TaskOrder): void {
    order.stopDeadline ??= this.#options.clock.after(order.deadlineMs, () =>
      order.lane?.onDeadline(order),
    );
  }

  /** Called by the order's own deadline, which may have begun in another lane. */
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

  /** Lets go of the thread. Deadlines of what waits begin anew with the next one: its start is not charged to them. */
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
