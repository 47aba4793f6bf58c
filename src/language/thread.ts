import { Worker } from 'node:worker_threads';
import type { TaskName } from './tasks.ts';

/** One piece of work for a thread. `settle` gets the output, or the reason why there is none. */
export type Order = {
  id: number;
  task: TaskName;
  input: unknown;
  deadlineMs: number;
  settle(result: { output: unknown } | { failure: Failure }): void;
};

export type Failure = 'deadline' | 'crashed' | 'full' | 'closed' | 'aborted';

export type ThreadOptions = {
  workerUrl: URL;
  /** Orders that may wait; one more is refused at once. */
  queueLimit: number;
  /** A thread that nobody needed for so long is ended, and its memory with it. 0: kept. */
  idleMs: number;
  /** Told each time a thread had to be replaced. */
  onReplaced(failure: Failure): void;
};

type Answer = { ready: true } | { id: number; output: unknown };

/**
 * A worker thread that takes orders one at a time. One order is with the thread, the others wait here, so a
 * thread that hangs takes only its own order with it: it is terminated and the next one goes on with the queue.
 * The clock of an order runs from when it is given; the start of a fresh thread is not charged to it.
 */
export class Thread {
  readonly #options: ThreadOptions;
  readonly #queue: Order[] = [];
  #worker: Worker | undefined;
  #ready = false;
  #running: Order | undefined;
  #timers = new Map<number, NodeJS.Timeout>();
  #idle: NodeJS.Timeout | undefined;
  #closed = false;
  #startFailures = 0;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  give(order: Order): void {
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
    this.#worker.postMessage({ id: order.id, task: order.task, input: order.input });
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
    worker.on('message', (answer: Answer) => {
      if (worker === this.#worker) this.#onAnswer(answer);
    });
    worker.on('error', () => this.#onGone(worker));
    worker.on('exit', () => this.#onGone(worker));
    return worker;
  }

  #onAnswer(answer: Answer): void {
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

  #watch(order: Order): void {
    const timer = setTimeout(() => this.#drop(order.id, 'deadline'), order.deadlineMs);
    timer.unref();
    this.#timers.set(order.id, timer);
  }

  #drop(id: number, failure: Failure): void {
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

  #settle(order: Order, result: Parameters<Order['settle']>[0]): void {
    clearTimeout(this.#timers.get(order.id));
    this.#timers.delete(order.id);
    order.settle(result);
  }
}
