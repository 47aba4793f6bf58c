import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Kysely,
  RawNode,
  SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type QueryResult,
} from 'kysely';
import { TrunklineError, reasonOf } from '../lib/errors.ts';
import { within, systemClock, type Clock } from '../lib/clock.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import type { Health } from '../lib/health.ts';
import { maxCloseMs, type Backend, type BackendOptions } from './backend.ts';
import { createPrivate } from './folder-lock.ts';
import { timed } from './metrics.ts';
import { migrate, refuseOtherSchema, schemaState, type SchemaState } from './migrations.ts';
import type { Database } from './schema.ts';
import { SqliteClient, SqliteError, type StatementsResult } from './sqlite-client.ts';
import type { SqlStatement } from './sqlite-thread.ts';
import { WriterQueue, type TransactionSlot } from './writer-queue.ts';

/** The first SQLite without the bug that loses a commit when two connections reset the log at once. */
const oldestVersion = '3.51.3';
const busyTimeoutMs = 5_000;
/** A thread has at least this long to close its connection, even if closing the store already took too long. */
const closingThreadMs = 500;
/**
 * A larger database is not checked at the start. Checking takes about a second per 500 MB, and calls would have to
 * wait.
 */
const checkUpToBytes = 268_435_456;

/** SQLite in the data folder: one writer thread with group commit, one reader thread. */
export async function openSqlite(options: BackendOptions): Promise<Backend> {
  const { log } = options;
  const path = join(options.config.dataDir, 'trunkline.sqlite');
  if (await isLostDatabase(path, options.lock.databaseWasMade))
    await refuseOrSetAside(path, options, 'it is missing or empty although calls were stored here');
  createPrivate(path);
  let writer: SqliteClient;
  try {
    writer = await openChecked(path, log);
  } catch (error) {
    if (!(error instanceof SqliteError) || !error.isCorrupt) throw cannotOpen(path, error);
    await refuseOrSetAside(path, options, error.message);
    createPrivate(path);
    writer = await openChecked(path, log);
  }
  return ready(path, writer, options);
}

async function ready(
  path: string,
  writer: SqliteClient,
  options: BackendOptions,
): Promise<Backend> {
  const { log, disk, clock } = options;
  let reader: SqliteClient | undefined;
  try {
    assertVersion(writer.version);
    reader = await SqliteClient.open({ path, role: 'reader', busyTimeoutMs });
    const queue = new WriterQueue(writer, clock, (error) => {
      if (error.isFull) {
        void disk
          .releaseBallast()
          .catch((cause: unknown) =>
            log.error({ err: cause }, 'the ballast file could not be released'),
          );
        return;
      }
      if (queue.refusal) return;
      // After a failed sync, the kernel may have dropped the pages. Only a restart reads the file again and shows what
      // the disk holds.
      const refusal = new TrunklineError(
        'STORE_FAILED',
        `The database file failed (${error.message}); nothing more is accepted until a restart.`,
        { cause: error },
      );
      queue.refuse(refusal);
      log.fatal({ err: error }, 'the store failed: restart needed');
      options.onFailure?.(refusal);
    });
    const db = new Kysely<Database>({ dialect: new SqliteThreadsDialect({ reader, queue }) });
    if (options.config.migrate === 'at-start') await migrate(db, 'sqlite', clock);
    else await refuseOtherSchema(db);
    options.lock.noteDatabaseMade();
    return backend(path, { writer, reader, queue, db }, options);
  } catch (error) {
    await reader?.close(clock, maxCloseMs);
    await writer.close(clock, maxCloseMs);
    throw error;
  }
}

/** Migrates the database of a folder that no other process uses. */
export async function migrateSqlite(dataDir: string, isCheck: boolean): Promise<SchemaState> {
  const path = join(dataDir, 'trunkline.sqlite');
  createPrivate(path);
  const writer = await SqliteClient.open({ path, role: 'writer', busyTimeoutMs });
  try {
    assertVersion(writer.version);
    const reader = await SqliteClient.open({ path, role: 'reader', busyTimeoutMs });
    try {
      const queue = new WriterQueue(writer, systemClock, () => undefined);
      const db = new Kysely<Database>({ dialect: new SqliteThreadsDialect({ reader, queue }) });
      return isCheck ? await schemaState(db) : await migrate(db, 'sqlite');
    } finally {
      await reader.close(systemClock, maxCloseMs);
    }
  } finally {
    await writer.close(systemClock, maxCloseMs);
  }
}

/** Everything that is opened for one database and closed together with it. */
type OpenedSqlite = {
  writer: SqliteClient;
  reader: SqliteClient;
  queue: WriterQueue;
  db: Kysely<Database>;
};

function backend(path: string, open: OpenedSqlite, options: BackendOptions): Backend {
  const { db, queue } = open;
  const wal = new WalWatch({
    path: `${path}-wal`,
    log: options.log,
    clock: options.clock,
    shrink: (waitMs) => cutTheLog(queue, waitMs),
  });
  return {
    db,
    retried: (work) => work(),
    transaction: (work) => db.transaction().execute(work),
    databaseNow: () => Promise.resolve(options.clock.now()),
    health: () => (queue.refusal ? { state: 'down', detail: queue.refusal.message } : wal.health()),
    refusesForGood: (error) => error instanceof SqliteError && error.isRefusedForGood,
    forgetDeleted: () => wal.forgetDeleted(),
    threadsEnded: async () => {
      await Promise.all([open.reader.ended, open.writer.ended]);
    },
    close: async () => {
      const { clock } = options;
      const untilMs = clock.monotonicMs() + maxCloseMs;
      const leftMs = (): number => Math.max(closingThreadMs, untilMs - clock.monotonicMs());
      wal.close();
      await within(clock, maxCloseMs, queue.drained());
      queue.close(new TrunklineError('STORE_FAILED', 'The store is closed'));
      await db.destroy();
      await open.reader.close(clock, leftMs()); // before the writer: the last connection empties the log
      await open.writer.close(clock, leftMs());
    },
  };
}

const cutLog: SqlStatement = { sql: 'PRAGMA wal_checkpoint(TRUNCATE)', parameters: [] };

/**
 * Moves all pages of the log into the database and empties the log. Returns false if a reader of an older state still
 * needs the log. Writes wait during a checkpoint, so it waits only briefly for readers.
 */
async function cutTheLog(queue: WriterQueue, waitMs: number): Promise<boolean> {
  // Both are put into the queue together, so that nothing runs between them.
  const cut = queue.outside([{ sql: `PRAGMA busy_timeout = ${waitMs}`, parameters: [] }, cutLog]);
  const reset = queue.outside([{ sql: `PRAGMA busy_timeout = ${busyTimeoutMs}`, parameters: [] }]);
  const [{ rows }] = await Promise.all([cut, reset]);
  return (rows[0] as { busy?: number } | undefined)?.busy === 0;
}

async function openChecked(path: string, log: Logger): Promise<SqliteClient> {
  const writer = await SqliteClient.open({ path, role: 'writer', busyTimeoutMs });
  try {
    const { size } = await stat(path);
    if (size > checkUpToBytes) {
      log.warn(
        { bytes: size, checkedUpTo: checkUpToBytes },
        'the database is too large to check every page at the start; damage shows when a page is read',
      );
      return writer;
    }
    const { rows } = await writer.run([{ sql: 'PRAGMA quick_check(1)', parameters: [] }]);
    const verdict = Object.values((rows[0] ?? {}) as Record<string, unknown>)[0];
    if (verdict !== 'ok') throw new SqliteError(String(verdict), 11, false);
    return writer;
  } catch (error) {
    await writer.close(systemClock, maxCloseMs);
    throw error;
  }
}

async function isLostDatabase(path: string, wasMade: boolean): Promise<boolean> {
  if (!wasMade) return false;
  return stat(path).then(
    ({ size }) => size === 0,
    () => true,
  );
}

/**
 * Refuses to start with an empty database in place of a damaged or missing one. If the operator asks for it, the old
 * file is set aside and kept.
 */
async function refuseOrSetAside(path: string, options: BackendOptions, why: string): Promise<void> {
  if (!options.config.setAsideCorrupt)
    throw new TrunklineError(
      'STORE_CORRUPT',
      `The database ${path} is damaged (${why}). Restore a copy, or start once with TRUNKLINE_STORE_SET_ASIDE=1 to keep it under another name and begin empty.`,
    );
  const aside = `${path}.corrupt-${options.clock.now()}`;
  await rename(path, aside).catch(() => undefined); // the file may not exist
  await rename(`${path}-wal`, `${aside}-wal`).catch(() => undefined);
  await rm(`${path}-shm`, { force: true });
  options.log.error({ file: aside }, 'a damaged database was set aside; the store begins empty');
}

function assertVersion(version: string): void {
  const numbers = (text: string): number[] => text.split('.').map(Number);
  const [have, need] = [numbers(version), numbers(oldestVersion)];
  for (const [index, least] of need.entries()) {
    const part = have[index] ?? 0;
    if (part > least) return;
    if (part < least)
      throw new TrunklineError(
        'STORE_TOO_OLD',
        `SQLite ${version} can lose commits; at least ${oldestVersion} is needed. Run "npm ci" for the right Node.`,
      );
  }
}

function cannotOpen(path: string, error: unknown): TrunklineError {
  return new TrunklineError(
    'STORE_FAILED',
    `The database ${path} cannot be opened: ${reasonOf(error)}`,
    {
      cause: error,
    },
  );
}

/**
 * SQLite keeps the log near 4 MB by itself. A log of this size is kept by a reader, and it can fill the disk unnoticed.
 */
const alarmBytes = 67_108_864;
const lookEveryMs = 10_000;
/** A checkpoint after an erasure waits this long for current readers. Every write waits with it. */
const forgetWaitMs = 500;

type WalWatchOptions = {
  path: string;
  log: Logger;
  clock: Clock;
  /** Makes a checkpoint that also cuts the file. Returns false if a reader still needs an older state. */
  shrink: (waitMs: number) => Promise<boolean>;
  alarmBytes?: number;
  lookEveryMs?: number;
};

/**
 * Watches the size of the log beside the database, because a reader that never ends keeps the log from being reused.
 */
export class WalWatch {
  readonly #options: WalWatchOptions;
  readonly #alarmBytes: number;
  #bytes = 0;
  /**
   * The number of erasures whose rows may still be readable in the log. It begins at 1, because an earlier process may
   * have ended before its checkpoint.
   */
  #owed = 1;
  #couldNotForget = false;
  readonly #looks: Loop;

  constructor(options: WalWatchOptions) {
    this.#options = options;
    this.#alarmBytes = options.alarmBytes ?? alarmBytes;
    const { clock, log } = options;
    // The next check begins only after this one has ended, because a checkpoint may wait for a long transaction.
    this.#looks = every(clock, options.lookEveryMs ?? lookEveryMs, () => this.#look(), {
      failed: (error) => log.warn({ err: error }, 'the size of the database log could not be read'),
    });
  }

  /** Removes deleted rows from the files. Returns true if they are gone. If not, each check tries again. */
  async forgetDeleted(): Promise<boolean> {
    this.#owed++;
    const isDone = await this.#forget(forgetWaitMs);
    if (!isDone) this.#couldNotForget = true;
    return isDone;
  }

  async #forget(waitMs: number): Promise<boolean> {
    const owed = this.#owed;
    if (!(await this.#options.shrink(waitMs))) return false;
    // An erasure that came during this checkpoint may have written after it. That erasure makes its own checkpoint.
    if (this.#owed === owed) {
      this.#owed = 0;
      this.#couldNotForget = false;
    }
    return true;
  }

  health(): Health {
    if (this.#couldNotForget)
      return {
        state: 'degraded',
        detail:
          'erased rows can still be read in the database and its log: another program holds an old state of it; tried again until it has let go',
      };
    if (this.#bytes <= this.#alarmBytes) return { state: 'ok' };
    const megabytes = Math.round(this.#bytes / 1048576);
    return {
      state: 'degraded',
      detail: `the database's log has grown to ${megabytes} MiB: another program holds an old state of it`,
    };
  }

  close(): void {
    void this.#looks.stop();
  }

  async #look(): Promise<void> {
    const { path, log, shrink } = this.#options;
    const was = this.health().state;
    try {
      this.#bytes = (await stat(path)).size;
      if (this.#owed > 0) await this.#forget(0);
      else if (this.#bytes > this.#alarmBytes) await shrink(0);
      this.#bytes = (await stat(path)).size;
    } catch (error) {
      log.warn({ err: error }, 'the log of the database could not be shortened');
    }
    const is = this.health();
    if (was === 'ok' && is.state !== 'ok')
      log.error({ bytes: this.#bytes }, is.detail ?? 'the log of the database grows');
    if (was !== 'ok' && is.state === 'ok')
      log.info({ bytes: this.#bytes }, 'the log of the database is short again');
  }
}

type SqliteThreads = { reader: SqliteClient; queue: WriterQueue };

/**
 * Connects Kysely to the two threads. A select outside a transaction goes to the reader. Any other single statement is
 * a transaction of its own and shares a commit with others. A transaction waits for its turn on the writer.
 */
class SqliteThreadsDialect implements Dialect {
  readonly #threads: SqliteThreads;

  constructor(threads: SqliteThreads) {
    this.#threads = threads;
  }

  createDriver(): Driver {
    return new ThreadsDriver(this.#threads);
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): DialectAdapter {
    return new ThreadsAdapter();
  }

  createIntrospector(db: Kysely<unknown>): SqliteIntrospector {
    return new SqliteIntrospector(db);
  }
}

/** Kysely need not make callers wait, because the writer's queue gives them their turns. */
class ThreadsAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }

  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class ThreadsDriver implements Driver {
  readonly #threads: SqliteThreads;

  constructor(threads: SqliteThreads) {
    this.#threads = threads;
  }

  init(): Promise<void> {
    return Promise.resolve();
  }

  acquireConnection(): Promise<DatabaseConnection> {
    return Promise.resolve(new ThreadsConnection(this.#threads));
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    if (connection instanceof ThreadsConnection) await connection.begin();
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    if (connection instanceof ThreadsConnection) await connection.commit();
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (connection instanceof ThreadsConnection) await connection.rollback();
  }

  releaseConnection(): Promise<void> {
    return Promise.resolve();
  }

  destroy(): Promise<void> {
    return Promise.resolve(); // the store closes its threads
  }
}

class ThreadsConnection implements DatabaseConnection {
  readonly #threads: SqliteThreads;
  #slot: TransactionSlot | undefined;

  constructor(threads: SqliteThreads) {
    this.#threads = threads;
  }

  async begin(): Promise<void> {
    this.#slot = await this.#threads.queue.begin();
  }

  async commit(): Promise<void> {
    await this.#slot?.commit();
  }

  async rollback(): Promise<void> {
    await this.#slot?.rollback();
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const result = await this.#run(query);
    return {
      rows: result.rows as R[],
      numAffectedRows: BigInt(result.changes),
      insertId: BigInt(result.lastId),
    };
  }

  #run(query: CompiledQuery): Promise<StatementsResult> {
    const statement = { sql: query.sql, parameters: query.parameters };
    if (this.#slot) return this.#slot.run(statement);
    if (onlyReads(query)) return timed('read', () => this.#threads.reader.run([statement]));
    return timed('write', () => this.#threads.queue.write(statement));
  }

  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    await Promise.resolve();
    throw new TrunklineError(
      'STORE_FAILED',
      'Streaming a query is not supported: read pages by id',
    );
  }
}

function onlyReads(query: CompiledQuery): boolean {
  if (SelectQueryNode.is(query.query)) return true;
  return RawNode.is(query.query) && /^\s*select\b/i.test(query.sql);
}
