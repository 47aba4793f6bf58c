import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Health } from '../lib/health.ts';
import type { StoreConfig } from './config.ts';
import type { DiskWatch } from './disk.ts';
import type { FolderLock } from './folder-lock.ts';
import type { Database } from './schema.ts';

/** What a database behind the store provides. */
export type Backend = {
  db: Kysely<Database>;
  transaction<T>(work: (tx: Transaction<Database>) => Promise<T>): Promise<T>;
  databaseNow(): Promise<number>;
  health(): Health;
  refusesForGood(error: unknown): boolean;
  forgetDeleted(): Promise<void>;
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
