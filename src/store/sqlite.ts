import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Kysely } from 'kysely';
import { TrunklineError, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { createPrivate } from './folder-lock.ts';
import { migrate } from './migrations.ts';
import type { Database } from './schema.ts';
import { SqliteClient, SqliteError } from './sqlite-client.ts';
import { SqliteThreadsDialect } from './sqlite-dialect.ts';
import type { Step } from './sqlite-messages.ts';
import type { Backend, BackendOptions } from './backend.ts';
import { WalWatch } from './wal-watch.ts';
import { WriterQueue } from './writer-queue.ts';

/** The first SQLite without the bug in which two connections resetting the log lose a commit. */
const oldestVersion = '3.51.3';
const busyTimeoutMs = 5_000;
/** Checking every page takes a second per 500 MB or so: beyond this size a start would be late for calls, and says so. */
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
    const queue = new WriterQueue(writer, (error) => {
      if (error.isFull) {
        void disk
          .releaseBallast()
          .catch((cause: unknown) => log.error({ err: cause }, 'no ballast'));
        return;
      }
      if (queue.refusal) return;
      // Nobody can say what a disk holds after a failed sync; a restart reads it anew.
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
    await migrate(db, 'sqlite', clock.now());
    options.lock.noteDatabaseMade();
    return backend(path, { writer, reader, queue, db }, options);
  } catch (error) {
    await reader?.close();
    await writer.close();
    throw error;
  }
}

type Open = {
  writer: SqliteClient;
  reader: SqliteClient;
  queue: WriterQueue;
  db: Kysely<Database>;
};

function backend(path: string, open: Open, options: BackendOptions): Backend {
  const { db, queue } = open;
  const wal = new WalWatch({
    path: `${path}-wal`,
    log: options.log,
    shrink: () => checkpointAtOnce(queue),
  });
  return {
    db,
    transaction: (work) => db.transaction().execute(work),
    databaseNow: () => Promise.resolve(options.clock.now()),
    health: () => (queue.refusal ? { state: 'down', detail: queue.refusal.message } : wal.health()),
    forgetDeleted: () => checkpoint(queue),
    close: async () => {
      wal.close();
      await queue.drained();
      await db.destroy();
      await open.reader.close(); // first, so that the writer is the last connection and empties the log
      await open.writer.close();
    },
  };
}

const cutLog: Step = { sql: 'PRAGMA wal_checkpoint(TRUNCATE)', parameters: [] };

async function checkpoint(queue: WriterQueue): Promise<void> {
  await queue.outside([cutLog]);
}

/** Without the wait for a reader: it may hold on for hours, and writes would wait with the checkpoint. */
async function checkpointAtOnce(queue: WriterQueue): Promise<void> {
  await queue.outside([
    { sql: 'PRAGMA busy_timeout = 0', parameters: [] },
    cutLog,
    { sql: `PRAGMA busy_timeout = ${busyTimeoutMs}`, parameters: [] },
  ]);
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
    await writer.close();
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

/** Never empty in silence: the operator says so, and the old file stays. */
async function refuseOrSetAside(path: string, options: BackendOptions, why: string): Promise<void> {
  if (!options.config.setAsideCorrupt)
    throw new TrunklineError(
      'STORE_CORRUPT',
      `The database ${path} is damaged (${why}). Restore a copy, or start once with TRUNKLINE_STORE_SET_ASIDE=1 to keep it under another name and begin empty.`,
    );
  const aside = `${path}.corrupt-${options.clock.now()}`;
  await rename(path, aside).catch(() => undefined); // it may be missing altogether
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
