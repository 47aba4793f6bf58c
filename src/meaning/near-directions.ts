import { Worker } from 'node:worker_threads';
import type { FromNear, ToNear } from './near-thread.ts';
import { noneNear, type PackedNear } from './packed-near.ts';
import type { NearAsk } from './sign-index.ts';

/** At most this many questions wait for the thread. */
export const maxNearWaiting = 32;

/** All directions of an installation in a thread of this process, which is started by the first rows. */
export class NearDirections implements AsyncDisposable {
  #worker: Worker | undefined;
  readonly #waits = new Map<number, (found: PackedNear | undefined) => void>();
  #order = 0;

  /** Resolves when the thread has them: whoever adds many waits, so that no copies pile up on the way. */
  async add(rows: Omit<ToNear & { type: 'add' }, 'type' | 'order'>): Promise<void> {
    const worker = (this.#worker ??= this.#start());
    await this.#ask(worker, (order) => ({ type: 'add', order, ...rows }));
  }

  forget(calls: readonly string[]): void {
    this.#worker?.postMessage({ type: 'forget', calls } satisfies ToNear);
  }

  drop(ids: readonly number[]): void {
    this.#worker?.postMessage({ type: 'drop', ids } satisfies ToNear);
  }

  /** False until the first rows, and after the thread was lost: then all rows are added again. */
  get hasRows(): boolean {
    return this.#worker !== undefined;
  }

  /** Rows that are nearly the nearest. Undefined if too many ask at once, or if the thread was lost. */
  nearest(ask: NearAsk): Promise<PackedNear | undefined> {
    const worker = this.#worker;
    if (worker === undefined) return Promise.resolve(noneNear);
    if (this.#waits.size >= maxNearWaiting) return Promise.resolve(undefined);
    return this.#ask(worker, (order) => ({ type: 'nearest', order, ask }));
  }

  #ask(worker: Worker, message: (order: number) => ToNear): Promise<PackedNear | undefined> {
    const order = this.#order++;
    const { promise, resolve } = Promise.withResolvers<PackedNear | undefined>();
    this.#waits.set(order, resolve);
    worker.postMessage(message(order));
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker;
    this.#lost(worker);
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./near-thread.ts', import.meta.url), { name: 'meanings' });
    worker.on('message', ({ order, found }: FromNear) => {
      this.#waits.get(order)?.(found);
      this.#waits.delete(order);
    });
    // The thread holds nothing that the database does not have.
    worker.on('error', () => this.#lost(worker));
    worker.on('exit', () => this.#lost(worker));
    worker.unref();
    return worker;
  }

  #lost(worker: Worker | undefined): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    for (const resolve of this.#waits.values()) resolve(undefined);
    this.#waits.clear();
  }
}
