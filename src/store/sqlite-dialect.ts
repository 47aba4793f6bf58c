import {
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
  type Kysely,
  type QueryResult,
} from 'kysely';
import { TrunklineError } from '../lib/errors.ts';
import type { SqliteClient, StepsResult } from './sqlite-client.ts';
import type { TransactionTurn, WriterQueue } from './writer-queue.ts';

export type SqliteThreads = { reader: SqliteClient; queue: WriterQueue };

/**
 * Kysely over the two threads: selects outside a transaction go to the reader, any other lone
 * statement is a group-committed transaction of its own, a transaction takes its turn on the writer.
 */
export class SqliteThreadsDialect implements Dialect {
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

/** Turns are taken at the writer's queue, so Kysely need not hold callers back. */
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
  #turn: TransactionTurn | undefined;

  constructor(threads: SqliteThreads) {
    this.#threads = threads;
  }

  async begin(): Promise<void> {
    this.#turn = await this.#threads.queue.begin();
  }

  async commit(): Promise<void> {
    await this.#turn?.commit();
  }

  async rollback(): Promise<void> {
    await this.#turn?.rollback();
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const result = await this.#run(query);
    return {
      rows: result.rows as R[],
      numAffectedRows: BigInt(result.changes),
      insertId: BigInt(result.lastId),
    };
  }

  #run(query: CompiledQuery): Promise<StepsResult> {
    const statement = { sql: query.sql, parameters: query.parameters };
    if (this.#turn) return this.#turn.run(statement);
    if (onlyReads(query)) return this.#threads.reader.run([statement]);
    return this.#threads.queue.write(statement);
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
