import type { Clock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import { SqliteError, type SqliteClient, type StatementsResult } from './sqlite-client.ts';
import type { SqlStatement } from './sqlite-thread.ts';
import { commitSeconds, commitTransactions, storeFailures } from './metrics.ts';

/*
 * Group commit. Transactions take turns on the one writer connection, each inside a savepoint of a
 * shared BEGIN..COMMIT; nobody hears "committed" before the synced COMMIT that carries them:
 *
 *   BEGIN  [savepoint A release]  [lone write B]  [savepoint C rollback]  COMMIT → A and B resolve
 *
 * While a COMMIT syncs, the next group gathers by itself, so no time is spent waiting for company.
 */

/**
 * A group takes no more work once it is this old or has this many members. The first limit keeps the wait of its first
 * member short. The second limit keeps the memory small that one commit holds in SQLite.
 */
const groupMaxMs = 5;
const groupMaxSlots = 256;

/** At most this many pieces of work wait for the writer. A full queue refuses more. */
export const maxWritesWaiting = 20_000;

/**
 * A transaction that takes this long is rolled back, so that the writer can continue. Its caller waits for something
 * other than the database, perhaps for a second transaction, which cannot begin before this one ends.
 */
const slotMaxMs = 10_000;

type Settled = { resolve: () => void; reject: (error: Error) => void };
type Outcome = 'release' | 'rollback';
/** One piece of work in the queue: a lone statement, a transaction, or statements outside any transaction. */
type QueuedWork = {
  /**
   * Does the work on the writer. `opening` holds the BEGIN if the group is not open yet. Resolves with the caller to
   * tell about the commit, or with undefined if there is nothing to commit.
   */
  take: (opening: SqlStatement[]) => Promise<Settled | undefined>;
  reject: (error: Error) => void;
  /** True for statements that SQLite refuses inside a transaction. They run between two groups. */
  outside?: boolean;
  /** The number of times that another program held the file longer than the busy timeout. */
  busy?: number;
};

/** Three tries with a busy timeout of 5 s: a backup tool may hold the file for 15 s before a write fails. */
const busyTriesMax = 3;

const command = (sql: string): SqlStatement => ({ sql, parameters: [] });
/** IMMEDIATE takes the write lock at once. Without it, a lock could be refused in the middle of a group. */
const begin = command('BEGIN IMMEDIATE');

export class WriterQueue {
  readonly #writer: SqliteClient;
  readonly #clock: Clock;
  readonly #onFailure: (error: SqliteError) => void;
  readonly #waiting: QueuedWork[] = [];
  #running = false;
  #refusal: TrunklineError | undefined;
  #idle: (() => void)[] = [];

  /**
   * `onFailure` is called if the disk is full or fails, or if the file is damaged. Other errors only go to their
   * callers.
   */
  constructor(writer: SqliteClient, clock: Clock, onFailure: (error: SqliteError) => void) {
    this.#writer = writer;
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  /** Refuses all further work with this error. After a failed sync, nobody knows what the disk holds. */
  refuse(error: TrunklineError): void {
    this.#refusal ??= error;
  }

  /** Refuses further work and the work that waits already, both at once. */
  close(error: TrunklineError): void {
    this.refuse(error);
    for (const work of this.#waiting.splice(0)) work.reject(error);
  }

  get refusal(): TrunklineError | undefined {
    return this.#refusal;
  }

  /** Runs a single statement. Resolves once it is synced. */
  write(statement: SqlStatement): Promise<StatementsResult> {
    return new Promise((resolve, reject) => {
      this.#enqueue({
        reject,
        take: async (opening) => {
          const result = await this.#writer.run([...opening, statement]);
          return { resolve: () => resolve(result), reject };
        },
      });
    });
  }

  /** Runs statements between two groups, outside any transaction. */
  outside(statements: SqlStatement[]): Promise<StatementsResult> {
    return new Promise((resolve, reject) => {
      this.#enqueue({
        reject,
        outside: true,
        take: async () => {
          resolve(await this.#writer.run(statements));
          return undefined;
        },
      });
    });
  }

  /** Begins a transaction. Resolves at its turn; its statements then run alone until it commits or rolls back. */
  begin(): Promise<TransactionSlot> {
    return new Promise((resolve, reject) => {
      let slot: TransactionSlot | undefined;
      this.#enqueue({
        reject: (error) => (slot ? slot.settle.reject(error) : reject(error)),
        take: async (opening) => {
          await this.#writer.run([...opening, command('SAVEPOINT turn')]);
          slot = new TransactionSlot(this.#writer, this.#clock, (error) => this.#note(error));
          resolve(slot);
          const outcome = await slot.ended(slotMaxMs);
          if (outcome === 'release') {
            await this.#writer.run([command('RELEASE turn')]);
            return slot.settle;
          }
          await this.#writer.run([command('ROLLBACK TO turn'), command('RELEASE turn')]);
          slot.settle.resolve();
          return undefined;
        },
      });
    });
  }

  /** Resolves when no work waits or runs. */
  async drained(): Promise<void> {
    if (!this.#running) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #enqueue(slot: QueuedWork): void {
    if (this.#refusal) return slot.reject(this.#refusal);
    if (this.#waiting.length >= maxWritesWaiting)
      return slot.reject(new TrunklineError('STORE_FAILED', 'Too many writes wait for the disk'));
    this.#waiting.push(slot);
    if (!this.#running) this.#run().catch((error: unknown) => this.#giveUp(asError(error)));
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) await this.#group();
    this.#running = false;
    for (const tell of this.#idle.splice(0)) tell();
  }

  /** Ends the queue after a bug in its loop. The callers get an error instead of waiting for ever. */
  #giveUp(cause: Error): void {
    this.#running = false;
    this.close(new TrunklineError('STORE_FAILED', 'The queue of the writer broke', { cause }));
    for (const tell of this.#idle.splice(0)) tell();
  }

  async #group(): Promise<void> {
    const members: Settled[] = [];
    const startedMs = this.#clock.monotonicMs();
    let open = false;
    let slots = 0;
    while (this.#waiting.length > 0 && slots < groupMaxSlots) {
      if (slots > 0 && this.#clock.monotonicMs() - startedMs >= groupMaxMs) break;
      if (open && this.#waiting[0]?.outside) break;
      const slot = this.#waiting.shift();
      if (!slot) break;
      if (this.#refusal) {
        slot.reject(this.#refusal);
        continue;
      }
      slots++;
      try {
        const member = await slot.take(open ? [] : [begin]);
        open ||= !slot.outside;
        if (member) members.push(member);
      } catch (cause) {
        const error = asError(cause);
        if (!open && isBusy(error) && (slot.busy ?? 0) < busyTriesMax) {
          slot.busy = (slot.busy ?? 0) + 1;
          this.#waiting.unshift(slot);
          continue;
        }
        slot.reject(error);
        this.#note(error);
        const still = error instanceof SqliteError && error.inTransaction;
        // A full or failing disk makes SQLite end the whole transaction by itself. Members whose work was already done
        // are then not committed either, and get the error too.
        if (open && !still) {
          for (const member of members.splice(0)) member.reject(error);
        }
        open = still;
      }
    }
    if (open) await this.#commit(members);
  }

  async #commit(members: Settled[]): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    try {
      await this.#writer.run([command(members.length > 0 ? 'COMMIT' : 'ROLLBACK')]);
    } catch (cause) {
      const error = asError(cause);
      this.#note(error);
      await this.#writer.run([command('ROLLBACK')]).catch(() => undefined); // SQLite may have ended it by itself
      for (const member of members) member.reject(error);
      return;
    }
    if (members.length > 0) {
      commitSeconds.observe((this.#clock.monotonicMs() - startedMs) / 1000);
      commitTransactions.observe(members.length);
    }
    for (const member of members) member.resolve();
  }

  #note(error: unknown): void {
    if (!(error instanceof SqliteError)) return;
    if (error.isDisk || error.isFull || error.isCorrupt) {
      storeFailures.inc({ cause: error.isFull ? 'full' : error.isDisk ? 'disk' : 'corrupt' });
      this.#onFailure(error);
    }
  }
}

function asError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}

function isBusy(error: unknown): boolean {
  return error instanceof SqliteError && (error.code & 0xff) === 5 && !error.inTransaction;
}

/** The one transaction whose turn it is. It runs statements until it commits, rolls back or takes too long. */
export class TransactionSlot {
  readonly #writer: SqliteClient;
  readonly #clock: Clock;
  readonly #note: (error: unknown) => void;
  readonly #done = Promise.withResolvers<Outcome>();
  readonly #settled = Promise.withResolvers<undefined>();
  #over: TrunklineError | undefined;

  constructor(writer: SqliteClient, clock: Clock, note: (error: unknown) => void) {
    this.#writer = writer;
    this.#clock = clock;
    this.#note = note;
    // The caller of `commit` gets the failure. If nobody commits, nobody needs it.
    this.#settled.promise.catch(() => undefined);
  }

  async run(statement: SqlStatement): Promise<StatementsResult> {
    if (this.#over) throw this.#over;
    try {
      return await this.#writer.run([statement]);
    } catch (error) {
      this.#note(error);
      throw error;
    }
  }

  /** Resolves after the synced COMMIT of the group. */
  async commit(): Promise<void> {
    if (this.#over) throw this.#over;
    this.#end('release');
    await this.#settled.promise;
  }

  async rollback(): Promise<void> {
    if (this.#over) return;
    this.#end('rollback');
    // If SQLite has already ended the whole transaction, there is nothing to roll back.
    await this.#settled.promise.catch(() => undefined);
  }

  get settle(): Settled {
    return {
      resolve: () => this.#settled.resolve(undefined),
      reject: (error) => this.#settled.reject(error),
    };
  }

  async ended(maxMs: number): Promise<Outcome> {
    const cancel = this.#clock.after(maxMs, () => this.#end('rollback'));
    const outcome = await this.#done.promise;
    cancel();
    return outcome;
  }

  #end(outcome: Outcome): void {
    this.#over = new TrunklineError('STORE_FAILED', 'The transaction is over');
    this.#done.resolve(outcome);
  }
}
