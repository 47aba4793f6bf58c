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
 * A group takes no more turns once it is this old or holds this many. The first bound keeps the wait of its
 * first member short; the second keeps the memory that one commit pins in SQLite small.
 */
const groupMaxMs = 5;
const groupMaxSlots = 256;

/** The queue of work that waits for the writer is bounded in pieces of work. A full queue refuses more. */
export const maxWritesWaiting = 20_000;

/**
 * A turn does database work only. A turn that takes this long waits for something else, perhaps for a second turn
 * that can never come while the first one runs, and is rolled back so that the writer goes on.
 */
const slotMaxMs = 10_000;

type Settled = { resolve: () => void; reject: (error: Error) => void };
type Outcome = 'release' | 'rollback';
/** One piece of work in the queue: a lone statement, a transaction, or statements outside any transaction. */
type QueuedWork = {
  /**
   * Does the work on the writer. `opening` holds the BEGIN when the group is not open yet. The answer is the caller
   * to tell about the commit, or undefined when the work left nothing to commit.
   */
  take: (opening: SqlStatement[]) => Promise<Settled | undefined>;
  reject: (error: Error) => void;
  /** True for statements that SQLite refuses inside a transaction: they run between two groups. */
  outside?: boolean;
  /** Times that another program's lock on the file outlasted the busy timeout. */
  busy?: number;
};

/** Three tries of the 5 s busy timeout: a backup tool may hold the file for 15 s before a write fails. */
const busyTriesMax = 3;

const command = (sql: string): SqlStatement => ({ sql, parameters: [] });
/** IMMEDIATE takes the write lock now: a lock that is refused later would fail in the middle of a group. */
const begin = command('BEGIN IMMEDIATE');

export class WriterQueue {
  readonly #writer: SqliteClient;
  readonly #clock: Clock;
  readonly #onFailure: (error: SqliteError) => void;
  readonly #waiting: QueuedWork[] = [];
  #running = false;
  #refusal: TrunklineError | undefined;
  #idle: (() => void)[] = [];

  /** `onFailure` hears of a disk that is full or fails and of a damaged file; other errors are their caller's alone. */
  constructor(writer: SqliteClient, clock: Clock, onFailure: (error: SqliteError) => void) {
    this.#writer = writer;
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  /** From here on all work is refused with this error. After a failed sync nobody knows what the disk holds. */
  refuse(error: TrunklineError): void {
    this.#refusal ??= error;
  }

  /** Also refuses what waits already, at once and not only when its turn would come. */
  close(error: TrunklineError): void {
    this.refuse(error);
    for (const work of this.#waiting.splice(0)) work.reject(error);
  }

  get refusal(): TrunklineError | undefined {
    return this.#refusal;
  }

  /** One statement on its own; resolves once it is synced. */
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

  /** Statements that run between two groups, outside any transaction. */
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

  /** Resolves when the transaction has its turn: its statements run alone until it commits or rolls back. */
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

  /** Resolves when nothing waits or runs. */
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

  /** A bug of ours in the loop itself: callers hear of it instead of waiting for ever. */
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
        // A full or failing disk makes SQLite end the whole transaction by itself. Members whose work was already
        // done are then not committed either, and must hear so.
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

/** The one transaction whose turn it is: runs its statements and ends by commit, rollback or the turn's deadline. */
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
    // The caller of commit hears the failure. Where nobody commits any more, nobody needs to hear it.
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
    // When SQLite has already ended the whole transaction there is nothing left to take back.
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
