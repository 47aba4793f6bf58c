import { chmodSync, closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { reasonOf, TrunklineError } from '../lib/errors.ts';
import { makeFolder } from '../lib/make-folder.ts';

/**
 * Ensures that only one process owns a data folder. The lock is SQLite's own file lock on a small file. The kernel
 * frees it when the process ends in any way, so nobody has to remove a stale lock.
 */
export class FolderLock {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  static take(dataDir: string): FolderLock {
    try {
      return FolderLock.#take(dataDir);
    } catch (error) {
      if (error instanceof TrunklineError) throw error;
      throw new TrunklineError(
        'DATA_UNUSABLE',
        `The data folder ${dataDir} cannot be used: ${reasonOf(error)}. Name one that this process may make and write (TRUNKLINE_DATA); in a folder that belongs to another user, one below it.`,
        { cause: error },
      );
    }
  }

  static #take(dataDir: string): FolderLock {
    // Transcripts and audio lie in this folder, so no other user of the machine may read it.
    const made = makeFolder(dataDir, 0o700);
    chmodSync(dataDir, 0o700);
    if (made !== undefined) syncFolder(dirname(made));
    const path = join(dataDir, 'owner.lock');
    createPrivate(path);
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      database.exec('PRAGMA locking_mode = EXCLUSIVE');
      database.exec('BEGIN EXCLUSIVE; COMMIT'); // in this locking mode the lock is kept after the commit
    } catch (error) {
      database.close();
      if (!isBusy(error)) throw error;
      throw new TrunklineError(
        'DATA_LOCKED',
        `Another process uses the data folder ${dataDir}. Stop it, or give this one a folder of its own (TRUNKLINE_DATA).`,
        { cause: error },
      );
    }
    return new FolderLock(database);
  }

  /**
   * True if a database was ever created in this folder. If its file is empty now, data was lost; otherwise this is a
   * first start.
   */
  get databaseWasMade(): boolean {
    return this.#database.prepare('PRAGMA user_version').get()?.['user_version'] === 1;
  }

  noteDatabaseMade(): void {
    if (!this.databaseWasMade) this.#database.exec('PRAGMA user_version = 1');
  }

  release(): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

/**
 * True for SQLITE_BUSY: another process holds the lock. A failing disk or a file that is not a database gives another
 * error.
 */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 5;
}

/** Creates a file that only its owner can read. SQLite gives its additional files the mode of the database file. */
export function createPrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  syncFolder(dirname(path));
}

/**
 * Syncs a folder to the disk. Without this, a power cut can remove the name of a new file even if its contents were
 * synced.
 */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
