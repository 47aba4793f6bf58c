import { TrunklineError } from '../lib/errors.ts';
import { SqliteError, type SqliteClient, type StepsResult } from './sqlite-client.ts';
import type { Step } from './sqlite-messages.ts';
import { commitSeconds, commitTransactions, storeFailures } from './metrics.ts';

/*
 * Group commit. Transactions take turns on the one writer connection, each inside a savepoint of a
 * shared BEGIN..COMMIT; nobody hears "committed" before the synced COMMIT that carries them:
 *
 *   BEGIN  [savepoint A release]  [lone write B]  [savepoint C rollback]  COMMIT → A and B resolve
 *
 * While a COMMIT syncs, the next group gathers by itself, so no time is spent waiting for company.
 */

/** A group takes no more turns once it is this old or holds this many. */
const groupMaxMs = 5;
const groupMaxTurns = 256;

/** Queue of turns: bound in turns, refuses when full. */
const waitingMax = 20_000;

/** A turn does database work only; one that takes this long has lost its way and is rolled back. */
const turnMaxMs = 10_000;

type Settled = { resolve: () => void; reject: (error: Error) => void };
type Outcome = 'release' | 'rollback';
/** Runs on the writer with BEGIN already in `opening` when the group is not open yet. */
type Turn = {
  /** Answers whether it left something to commit, and whom to tell. */
  take: (opening: Step[]) => Promise<Settled | undefined>;
  reject: (error: Error) => void;
  /** For statements that SQLite refuses inside a transaction. */
  outside?: boolean;
  /** Times that another program's lock on the file outlasted the busy timeout. */
  busy?: number;
};

/** With a busy timeout of 5 s: a backup tool may hold the file for 15 s before a write fails. */
const busyTriesMax = 3;

const begin: Step = { sql: 'BEGIN IMMEDIATE', parameters: [] };
const step = (sql: string): Step => ({ sql, parameters: [] });

export class WriterQueue {
  readonly #writer: SqliteClient;
  readonly #onFailure: (error: SqliteError) => void;
  readonly #waiting: Turn[] = [];
  #running = false;
  #refusal: TrunklineError | undefined;
  #idle: (() => void)[] = [];

  constructor(writer: SqliteClient, onFailure: (error: SqliteError) => void) {
    this.#writer = writer;
    this.#onFailure = onFailure;
  }

  /** Nothing is accepted any more: after a failed sync nobody knows what the disk holds. */
  refuse(error: TrunklineError): void {
    this.#refusal ??= error;
  }

  get refusal(): TrunklineError | undefined {
    return this.#refusal;
  }

  /** One statement on its own; resolves once it is synced. */
  write(statement: Step): Promise<StepsResult> {
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

  /** Statements between two groups, outside any transaction. */
  outside(statements: Step[]): Promise<StepsResult> {
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

  /** A transaction's turn: from here on its statements run alone, until it commits or rolls back. */
  begin(): Promise<TransactionTurn> {
    return new Promise((resolve, reject) => {
      let turn: TransactionTurn | undefined;
      this.#enqueue({
        reject: (error) => (turn ? turn.settle.reject(error) : reject(error)),
        take: async (opening) => {
          await this.#writer.run([...opening, step('SAVEPOINT turn')]);
          turn = new TransactionTurn(this.#writer, (error) => this.#note(error));
          resolve(turn);
          const outcome = await turn.ended(turnMaxMs);
          if (outcome === 'release') {
            await this.#writer.run([step('RELEASE turn')]);
            return turn.settle;
          }
          await this.#writer.run([step('ROLLBACK TO turn'), step('RELEASE turn')]);
          turn.settle.resolve();
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

  #enqueue(turn: Turn): void {
    if (this.#refusal) return turn.reject(this.#refusal);
    if (this.#waiting.length >= waitingMax)
      return turn.reject(new TrunklineError('STORE_FAILED', 'Too many writes wait for the disk'));
    this.#waiting.push(turn);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) await this.#group();
    this.#running = false;
    for (const tell of this.#idle.splice(0)) tell();
  }

  async #group(): Promise<void> {
    const members: Settled[] = [];
    const startedMs = performance.now();
    let open = false;
    let turns = 0;
    while (this.#waiting.length > 0 && turns < groupMaxTurns) {
      if (turns > 0 && performance.now() - startedMs >= groupMaxMs) break;
      if (open && this.#waiting[0]?.outside) break;
      const turn = this.#waiting.shift();
      if (!turn) break;
      if (this.#refusal) {
        turn.reject(this.#refusal);
        continue;
      }
      turns++;
      try {
        const member = await turn.take(open ? [] : [begin]);
        open ||= !turn.outside;
        if (member) members.push(member);
      } catch (cause) {
        const error = asError(cause);
        if (!open && isBusy(error) && (turn.busy ?? 0) < busyTriesMax) {
          turn.busy = (turn.busy ?? 0) + 1;
          this.#waiting.unshift(turn);
          continue;
        }
        turn.reject(error);
        this.#note(error);
        const still = error instanceof SqliteError && error.inTransaction;
        // A full or failing disk makes SQLite end the whole transaction: then nobody in it is committed.
        if (open && !still) {
          for (const member of members.splice(0)) member.reject(error);
        }
        open = still;
      }
    }
    if (open) await this.#commit(members);
  }

  async #commit(members: Settled[]): Promise<void> {
    const startedMs = performance.now();
    try {
      await this.#writer.run([step(members.length > 0 ? 'COMMIT' : 'ROLLBACK')]);
    } catch (cause) {
      const error = asError(cause);
      this.#note(error);
      await this.#writer.run([step('ROLLBACK')]).catch(() => undefined); // it may have ended by itself
      for (const member of members) member.reject(error);
      return;
    }
    if (members.length > 0) {
      commitSeconds.observe((performance.now() - startedMs) / 1000);
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

/** What a transaction holds while it is its turn. */
export class TransactionTurn {
  readonly #writer: SqliteClient;
  readonly #note: (error: unknown) => void;
  readonly #done = Promise.withResolvers<Outcome>();
  readonly #settled = Promise.withResolvers<undefined>();
  #over: TrunklineError | undefined;

  constructor(writer: SqliteClient, note: (error: unknown) => void) {
    this.#writer = writer;
    this.#note = note;
    this.#settled.promise.catch(() => undefined); // heard by whoever commits, if anyone does
  }

  async run(statement: Step): Promise<StepsResult> {
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
    const timer = setTimeout(() => this.#end('rollback'), maxMs);
    const outcome = await this.#done.promise;
    clearTimeout(timer);
    return outcome;
  }

  #end(outcome: Outcome): void {
    this.#over = new TrunklineError('STORE_FAILED', 'The transaction is over');
    this.#done.resolve(outcome);
  }
}
