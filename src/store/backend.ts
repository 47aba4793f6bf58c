import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Health } from '../lib/health.ts';
import type { StoreConfig } from './config.ts';
import type { DiskWatch } from './disk.ts';
import type { FolderLock } from './folder-lock.ts';
import type { Database } from './schema.ts';

/**
 * When a store closes, running work may take this long. Then waiting work is refused and connections are broken,
 * because a database that cannot commit must not delay a shutdown. As after a crash, the next start finds the work that
 * was not stored.
 */
export const maxCloseMs = 4_000;

/**
 * A part that stops waits this long for its work at the database. As after a crash, the next start continues that work.
 * A database that does not answer delays one part after another: together they have nine seconds.
 */
export const maxDatabaseWaitMs = 500;

/** The interface of a database to the store. */
export type Backend = {
  db: Kysely<Database>;
  retried<T>(work: () => Promise<T>): Promise<T>;
  transaction<T>(work: (tx: Transaction<Database>) => Promise<T>): Promise<T>;
  databaseNow(): Promise<number>;
  health(): Health;
  refusesForGood(error: unknown): boolean;
  forgetDeleted(): Promise<boolean>;
  threadsEnded(): Promise<void>;
  close(): Promise<void>;
};

export type BackendOptions = {
  config: StoreConfig;
  log: Logger;
  clock: Clock;
  disk: DiskWatch;
  lock: FolderLock;
  onFailure: ((error: Error) => void) | undefined;
};
