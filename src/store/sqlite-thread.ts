import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/*
 * One SQLite connection in a thread of its own, so that a disk whose sync takes 50 ms delays no audio frame. There
 * are two such threads: the only writer, and a reader that never waits for a sync.
 */

/* The messages between the process and this thread. The process imports only these types from here. */

export type SqlStatement = { sql: string; parameters: readonly unknown[] };

/** The statements run in order and stop at the first failure. The answer is that of the last statement. */
type SqliteRequest = { id: number; statements: SqlStatement[] };

export type SqliteReply = {
  id: number;
  /** True if a transaction is open afterwards. SQLite ends a transaction by itself after some errors. */
  inTransaction: boolean;
} & (
  | { rows: unknown[]; changes: number; lastId: number }
  | { error: { message: string; code: number } }
);

export type SqliteThreadOptions = {
  path: string;
  role: 'writer' | 'reader';
  busyTimeoutMs: number;
};

export type SqliteReady = { ready: true; version: string };
export type SqliteRefused = { refused: { message: string; code: number } };

const { path, role, busyTimeoutMs } = workerData as SqliteThreadOptions;
/** At most this many prepared statements are kept, those used last. The program itself uses about 150. */
const maxPreparedStatements = 300;

function open(): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, readOnly: role === 'reader' });
  if (role === 'reader') return database;
  // With a write-ahead log the reader never waits for the writer, and a commit is one sync.
  database.exec('PRAGMA journal_mode = WAL');
  // WAL resets this setting to a weaker level, which loses commits at a power cut. It must therefore be set after WAL.
  database.exec('PRAGMA synchronous = FULL');
  // Rows of erased calls must not stay readable in free pages.
  database.exec('PRAGMA secure_delete = ON');
  // 1,000 pages are 4 MB. After a burst, the file is cut back to 16 MB, so that it does not stay at its largest size.
  database.exec('PRAGMA wal_autocheckpoint = 1000');
  database.exec('PRAGMA journal_size_limit = 16777216');
  // Sorting must not leave rows of calls in temporary files.
  database.exec('PRAGMA temp_store = MEMORY');
  return database;
}

type Prepared = { statement: StatementSync; returnsRows: boolean };

function serve(database: DatabaseSync): void {
  const prepared = new Map<string, Prepared>();

  const prepare = (sql: string): Prepared => {
    const known = prepared.get(sql);
    if (known) {
      prepared.delete(sql);
      prepared.set(sql, known);
      return known;
    }
    const statement = database.prepare(sql);
    const made = { statement, returnsRows: statement.columns().length > 0 };
    prepared.set(sql, made);
    if (prepared.size > maxPreparedStatements)
      for (const oldest of prepared.keys()) {
        prepared.delete(oldest);
        break;
      }
    return made;
  };

  const run = (one: SqlStatement): { rows: unknown[]; changes: number; lastId: number } => {
    const { statement, returnsRows } = prepare(one.sql);
    const values = one.parameters.map(bindable);
    if (returnsRows) {
      const rows = statement.all(...values);
      return { rows, changes: rows.length, lastId: 0 };
    }
    const { changes, lastInsertRowid } = statement.run(...values);
    return { rows: [], changes: Number(changes), lastId: Number(lastInsertRowid) };
  };

  parentPort?.on('message', (request: SqliteRequest | 'close') => {
    if (request === 'close') {
      database.close();
      parentPort?.close();
      return;
    }
    let reply: SqliteReply;
    try {
      let answer = { rows: [] as unknown[], changes: 0, lastId: 0 };
      for (const one of request.statements) answer = run(one);
      reply = { id: request.id, inTransaction: database.isTransaction, ...answer };
    } catch (error) {
      reply = { id: request.id, inTransaction: database.isTransaction, error: plain(error) };
    }
    parentPort?.postMessage(reply);
  });
}

/** Converts a value for SQLite, which has no booleans and no undefined. */
function bindable(value: unknown): SQLInputValue {
  if (value === undefined) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value as SQLInputValue;
}

function plain(error: unknown): { message: string; code: number } {
  const code =
    typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) : 0;
  return { message: error instanceof Error ? error.message : String(error), code };
}

try {
  const database = open();
  const row = database.prepare('SELECT sqlite_version() AS version').get();
  serve(database);
  parentPort?.postMessage({ ready: true, version: String(row?.['version']) } satisfies SqliteReady);
} catch (error) {
  parentPort?.postMessage({ refused: plain(error) } satisfies SqliteRefused);
}
