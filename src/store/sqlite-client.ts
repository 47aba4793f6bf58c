import { Worker } from 'node:worker_threads';
import { within, type Clock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import type {
  SqliteReady,
  SqliteRefused,
  SqliteReply,
  SqliteThreadOptions,
  SqlStatement,
} from './sqlite-thread.ts';

export type StatementsResult = {
  rows: unknown[];
  changes: number;
  lastId: number;
  inTransaction: boolean;
};

/** Thrown if a statement failed. `code` is SQLite's extended result code. */
export class SqliteError extends Error {
  readonly code: number;
  readonly inTransaction: boolean;

  constructor(message: string, code: number, inTransaction: boolean) {
    super(message);
    this.name = 'SqliteError';
    this.code = code;
    this.inTransaction = inTransaction;
  }

  get isFull(): boolean {
    return (this.code & 0xff) === 13;
  }

  /** True if the disk refused a read, write or sync. Acknowledged data is safe, but nothing new may be acknowledged. */
  get isDisk(): boolean {
    return (this.code & 0xff) === 10;
  }

  /**
   * True if the content itself was refused: too large, against a constraint, or of the wrong type. The same statements
   * can never succeed.
   */
  get isRefusedForGood(): boolean {
    return [18, 19, 20, 25].includes(this.code & 0xff);
  }

  get isCorrupt(): boolean {
    const primary = this.code & 0xff;
    return primary === 11 || primary === 26;
  }
}

type Pending = { resolve: (result: StatementsResult) => void; reject: (error: Error) => void };

/**
 * Sends statements to one SQLite thread and receives the rows, in order. The queue in front of the writer limits it.
 * The reader is limited by its callers, because each waits for its answer.
 */
export class SqliteClient {
  readonly version: string;
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  /**
   * Resolves when the thread has ended. An abandoned thread still waits for the database, and the end of the process
   * waits for that thread.
   */
  readonly ended: Promise<void>;
  #nextId = 1;
  #gone: Error | undefined;

  private constructor(worker: Worker, version: string) {
    this.#worker = worker;
    this.version = version;
    worker.on('message', (reply: SqliteReply) => this.#settle(reply));
    worker.on('error', (error) =>
      this.#end(error instanceof Error ? error : new Error(String(error))),
    );
    worker.on('exit', () => this.#end(new Error('the database thread ended')));
    this.ended = new Promise((resolve) => worker.once('exit', () => resolve()));
  }

  static async open(options: SqliteThreadOptions): Promise<SqliteClient> {
    const worker = new Worker(new URL('./sqlite-thread.ts', import.meta.url), {
      workerData: options,
      name: `store ${options.role}`,
    });
    const first = await new Promise<SqliteReady | SqliteRefused>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    worker.removeAllListeners('error');
    if ('ready' in first) return new SqliteClient(worker, first.version);
    await worker.terminate();
    throw new SqliteError(first.refused.message, first.refused.code, false);
  }

  run(statements: SqlStatement[]): Promise<StatementsResult> {
    if (this.#gone) return Promise.reject(storeGone(this.#gone));
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage({ id, statements });
    });
  }

  /**
   * Closes the connection. A thread that does not end in time is abandoned, because a thread that waits for the disk
   * cannot be ended.
   */
  async close(clock: Clock, maxMs: number): Promise<void> {
    if (this.#gone) return;
    this.#gone = new Error('the store is closed');
    // Statements that were sent earlier run first. The thread ends by itself once its connection is closed.
    this.#worker.postMessage('close');
    if (await within(clock, maxMs, this.ended)) return;
    this.#end(this.#gone);
    this.#worker.terminate().catch(() => undefined); // it then ends by itself
    this.#worker.unref();
  }

  #settle(reply: SqliteReply): void {
    const pending = this.#pending.get(reply.id);
    if (!pending) return;
    this.#pending.delete(reply.id);
    if ('error' in reply)
      pending.reject(new SqliteError(reply.error.message, reply.error.code, reply.inTransaction));
    else pending.resolve(reply);
  }

  #end(error: Error): void {
    this.#gone ??= error;
    for (const pending of this.#pending.values()) pending.reject(storeGone(this.#gone));
    this.#pending.clear();
  }
}

function storeGone(cause: Error): TrunklineError {
  return new TrunklineError('STORE_FAILED', `The database is gone: ${cause.message}`, { cause });
}
