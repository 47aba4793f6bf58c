import type { Kysely, Transaction } from 'kysely';
import { systemClock, type Clock } from '../lib/clock.ts';
import { createLog, type Logger } from '../lib/log.ts';
import type { Health } from '../lib/health.ts';
import { DiskWatch } from './disk.ts';
import type { DiskRoom } from './disk-room.ts';
import { FolderLock } from './folder-lock.ts';
import { timed } from './metrics.ts';
import type { Database } from './schema.ts';
import type { SchemaState } from './migrations.ts';
import { migrateSqlite, openSqlite } from './sqlite.ts';
import type { Backend } from './backend.ts';
import { StoreConfig } from './config.ts';

export type Store = AsyncDisposable & {
  readonly kind: 'sqlite' | 'postgres';
  /** Selects run on a reader; a lone write is a synced transaction of its own. */
  readonly db: Kysely<Database>;
  /**
   * For work that does no harm when it is done twice, such as the selects that a client waits for: on Postgres it is done
   * again while Postgres is away for a moment. A reader of SQLite waits for no writer of ours, and for 5 s for another
   * program that holds the whole file; what is refused then is not tried again.
   */
  retried<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Durable when it resolves. `work` does database work only: it holds the writer while it runs,
   * and on Postgres it is run again after a deadlock or serialization failure.
   */
  transaction<T>(work: (tx: Transaction<Database>) => Promise<T>): Promise<T>;
  /** Milliseconds on the database's clock: the only one that decides leases and schedules. */
  databaseNow(): Promise<number>;
  health(): Record<string, Health>;
  /** True when the disk has room for a call's journal and rows. */
  readonly acceptsNewCalls: () => { ok: true } | { ok: false; reason: string };
  /**
   * Everything that writes files to the data disk and can wait asks here first, and writes no more than it was promised.
   * Throws a `NoRoomError` where the bytes do not fit above the low-water mark: calls come first.
   */
  reserve(bytes: number): DiskRoom;
  /** True when `reserve` would promise so many bytes now. */
  hasRoomFor(bytes: number): boolean;
  /** True when the database refused the content itself: the same statements can never work, now or later. */
  refusesForGood(error: unknown): boolean;
  /**
   * Call this after an erasure. True if no deleted data is readable in the database's files any more. False while
   * another program, a backup for example, holds an old state: the store tries again by itself until it is done, and
   * its health says so.
   */
  forgetDeleted(): Promise<boolean>;
  /**
   * Resolves, without a deadline, when all threads have ended. Call it after closing. A thread that waits for a lock
   * or for the disk was left behind by then, and `process.exit` would block until that thread ends.
   */
  threadsEnded(): Promise<void>;
};

export type StoreOptions = Partial<StoreConfig> & {
  log?: Logger;
  clock?: Clock;
  freeBytes?: () => Promise<number>;
  /** Called once when the disk fails under a write. What was acknowledged stands; nothing new is taken. */
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

/**
 * `trunkline migrate`: brings the database to this program's schema, or only looks. On Postgres nodes may run meanwhile;
 * SQLite is one process's own, so that nothing else may have the folder.
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
