import type { Kysely, Transaction } from 'kysely';
import { systemClock, type Clock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import { createLog, type Logger } from '../lib/log.ts';
import type { Health } from '../lib/health.ts';
import { DiskWatch } from './disk.ts';
import type { DiskRoom } from './disk-room.ts';
import { FolderLock } from './folder-lock.ts';
import { timed } from './metrics.ts';
import type { Database } from './schema.ts';
import type { SchemaState } from './migrations.ts';
import { migrateSqlite, openSqlite } from './sqlite.ts';
import { SqliteError } from './sqlite-client.ts';
import type { Backend } from './backend.ts';
import { StoreConfig } from './config.ts';

export type Store = AsyncDisposable & {
  readonly kind: 'sqlite' | 'postgres';
  /** Runs single statements. A select goes to a reader; a single write is a synced transaction of its own. */
  readonly db: Kysely<Database>;
  /**
   * Repeats the work if Postgres is away for a moment. The work must do no harm if it runs twice, as with a select that
   * a client waits for. On SQLite, a reader never waits for our own writer. It waits up to 5 s for another program that
   * holds the whole file, and then fails without another try.
   */
  retried<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Runs a transaction, which is durable when this resolves. `work` may only do database work, because it holds the
   * writer while it runs. On Postgres it runs again after a deadlock or serialization failure.
   */
  transaction<T>(work: (tx: Transaction<Database>) => Promise<T>): Promise<T>;
  /** Milliseconds on the database's clock. Leases and schedules use no other clock. */
  databaseNow(): Promise<number>;
  health(): Record<string, Health>;
  /** Says whether the disk has room for the journal and rows of a new call. */
  readonly acceptsNewCalls: () => { ok: true } | { ok: false; reason: string };
  /**
   * Promises room for files on the data disk to work that can wait. The work may not write more than it was promised.
   * Throws a `NoRoomError` if the bytes do not fit above the low-water mark, because calls come first.
   */
  reserve(bytes: number): DiskRoom;
  /** True if `reserve` would promise this many bytes now. */
  hasRoomFor(bytes: number): boolean;
  /** True if the database refused the content itself. The same statements can then never succeed. */
  refusesForGood(error: unknown): boolean;
  /**
   * Removes deleted data from the database's files; call this after an erasure. Returns true if none of it is readable
   * any more. Returns false if another program, such as a backup, holds an old state. The store then tries again by
   * itself until it succeeds, and its health says so.
   */
  forgetDeleted(): Promise<boolean>;
  /**
   * Resolves, without a deadline, when all threads have ended. Call it after closing. A thread that waited for a lock
   * or for the disk was abandoned then, and `process.exit` would block until that thread ends.
   */
  threadsEnded(): Promise<void>;
};

export type StoreOptions = Partial<StoreConfig> & {
  log?: Logger;
  clock?: Clock;
  freeBytes?: () => Promise<number>;
  /** Called once when the disk fails during a write. Acknowledged data is safe; nothing new is accepted. */
  onFailure?: (error: Error) => void;
};

/** Locks the folder, opens the database and migrates it. The store is ready when this resolves. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { log: givenLog, clock = systemClock, freeBytes, onFailure, ...rest } = options;
  const config = StoreConfig.parse(rest);
  const log = (givenLog ?? createLog({ level: 'silent' })).child({ part: 'store' });
  const lock = FolderLock.take(config.dataDir);
  const disk = new DiskWatch({ ...config, log, clock, ...(freeBytes ? { freeBytes } : {}) });
  try {
    await disk.start();
    const shared = { config, log, clock, disk, lock, onFailure };
    const backend = config.databaseUrl
      ? await (await import('./postgres.ts')).openPostgres(shared)
      : await openSqlite(shared);
    return assemble(config.databaseUrl ? 'postgres' : 'sqlite', backend, disk, lock);
  } catch (error) {
    await disk.close();
    lock.release();
    throw error;
  }
}

/** An error of a start on a full disk, in words for the person who must free some space. Undefined for other errors. */
export function fullDiskError(error: unknown): TrunklineError | undefined {
  const isFull = error instanceof SqliteError && error.isFull;
  if (!isFull && (error as NodeJS.ErrnoException).code !== 'ENOSPC') return undefined;
  return new TrunklineError(
    'STORE_FULL',
    'The disk of the data folder is full, so the database cannot be opened. Free some space there (TRUNKLINE_DATA names the folder) and start again. Nothing that was stored is lost.',
    { cause: error },
  );
}

/**
 * Runs `trunkline migrate`: brings the database to this program's schema, or only shows the state. On Postgres, nodes
 * may run at the same time. On SQLite, no other process may use the folder.
 */
export async function migrateStore(
  options: Pick<StoreOptions, 'log'> & { config: StoreConfig; isCheck: boolean },
): Promise<SchemaState> {
  const { config, isCheck } = options;
  const log = (options.log ?? createLog({ level: 'silent' })).child({ part: 'store' });
  if (config.databaseUrl !== undefined) {
    const { migratePostgres } = await import('./postgres.ts');
    return migratePostgres({ config, log, clock: systemClock }, isCheck);
  }
  const lock = FolderLock.take(config.dataDir);
  try {
    return await migrateSqlite(config.dataDir, isCheck);
  } finally {
    lock.release();
  }
}

function assemble(kind: Store['kind'], backend: Backend, disk: DiskWatch, lock: FolderLock): Store {
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await disk.close();
    await backend.close();
    lock.release();
  };
  return {
    kind,
    db: backend.db,
    retried: (work) => backend.retried(work),
    transaction: (work) => timed('write', () => backend.transaction(work)),
    databaseNow: () => backend.databaseNow(),
    health: () => ({ store: backend.health(), disk: disk.health() }),
    acceptsNewCalls: () => {
      const store = backend.health();
      if (store.state === 'down') return { ok: false, reason: store.detail ?? 'the store is down' };
      const room = disk.health();
      return room.state === 'down'
        ? { ok: false, reason: room.detail ?? 'the disk is full' }
        : { ok: true };
    },
    reserve: (bytes) => disk.rooms.reserve(bytes),
    hasRoomFor: (bytes) => disk.rooms.leftBytes >= bytes,
    refusesForGood: (error) => backend.refusesForGood(error),
    forgetDeleted: () => backend.forgetDeleted(),
    threadsEnded: () => backend.threadsEnded(),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}
