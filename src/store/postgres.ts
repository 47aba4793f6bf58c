import {
  CompiledQuery,
  Kysely,
  PostgresDialect,
  PostgresDriver,
  sql,
  type DatabaseConnection,
  type Driver,
  type TransactionSettings,
} from 'kysely';
import { randomBytes } from 'node:crypto';
import { within, wait, type Clock } from '../lib/clock.ts';
import { TrunklineError, reasonOf } from '../lib/errors.ts';
import { every } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import type { Health } from '../lib/health.ts';
import {
  migrate,
  missingIndexes,
  refuseOtherSchema,
  schemaState,
  type SchemaState,
} from './migrations.ts';
import { PostgresConnections } from './postgres-connections.ts';
import {
  isConnectionTrouble,
  isRefusedForGood,
  isWorthAnotherTry,
  refusesTransactions,
  ReplicaReached,
} from './postgres-errors.ts';
import type { Database } from './schema.ts';
import { maxCloseMs, maxDatabaseWaitMs, type Backend, type BackendOptions } from './backend.ts';

/*
 * Postgres for several nodes. Each statement has a deadline on the server and a longer one on this side, so that a
 * half-open connection is noticed. A commit whose answer was lost is looked up by a mark that the transaction made, also
 * after a failover: a guess would store an event twice or not at all.
 */

const transactionTries = 5;
const commitLookupMs = 30_000;
const startMaxMs = 30_000;
/** A migration waits this long for a backup that locks a table. */
const migrateMaxMs = 600_000;
const indexAgainMs = 60_000;
const marksKeptMs = 600_000;
const marksPerStep = 10_000;
/**
 * Work is retried for this long. Even if Postgres refuses or ignores connections, the last try ends within the 10 s
 * that clients wait for an answer.
 */
export const retriedForMs = 5_000;
const retryEveryMs = 100;
const probeEveryMs = 5_000;

export async function openPostgres(options: BackendOptions): Promise<Backend> {
  const { log, clock, config } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const connections = new PostgresConnections(config, log);
  const dialect = new CheckedPostgresDialect(connections, clock, signal);
  const db = new Kysely<Database>({ dialect });
  try {
    await whenReady(log, clock, startMaxMs, async () => {
      await connections.learn();
      if (config.migrate === 'at-start') await migrate(db, 'postgres', clock);
      else await refuseOtherSchema(db);
    });
  } catch (error) {
    await db.destroy();
    throw cannotBeUsed(error);
  }
  connections.marksCommits = true;
  const watch = await watched(db, log);
  const loops = [
    every(clock, probeEveryMs, () => forgetMarks(db, signal), {
      failed: (error) =>
        log.warn(
          { reason: reasonOf(error) },
          'old marks of commits could not be deleted; will retry',
        ),
    }),
    every(clock, probeEveryMs, () => watch.probe(), {
      failed: (error) => watch.tell(error ?? new Error('no reason was given')),
    }),
  ];
  if (config.migrate === 'at-start')
    loops.push(
      every(
        clock,
        indexAgainMs,
        () => makeIndexes(db, connections, log, signal).then(() => 'over' as const),
        {
          firstMs: 0,
          failed: (error) => {
            if (!signal.aborted)
              log.warn(
                { reason: reasonOf(error) },
                'an index could not be made; tried again in a minute',
              );
          },
        },
      ),
    );
  return {
    db,
    retried: (work) => retriedWhileAway(clock, signal, work),
    transaction: (work) => withTries(clock, signal, () => db.transaction().execute(work)),
    databaseNow: () => databaseNow(db),
    health: () => watch.health(),
    refusesForGood: isRefusedForGood,
    forgetDeleted: () => Promise.resolve(true), // the server's own vacuum and log recycling do the rest
    threadsEnded: () => Promise.resolve(), // there is none
    close: async () => {
      closing.abort();
      for (const loop of loops) void loop.stop();
      const destroyed = db
        .destroy()
        .catch((error: unknown) => log.warn({ err: error }, 'the connections could not be closed'));
      // If the database is known to be unreachable, closing waits no longer than this.
      const waitMs = watch.health().state === 'down' ? maxDatabaseWaitMs : maxCloseMs;
      if (await within(clock, waitMs, destroyed)) return;
      log.warn('Postgres does not answer: its last change may or may not be stored');
      // Breaks the connection of a running statement. Its caller gets an error.
      connections.breakAll();
    },
  };
}

/** The health of the database: that of its last probe. */
async function watched(db: Kysely<Database>, log: Logger) {
  let order = await changedOrder(db);
  if (order !== undefined) log.warn(order.versions, order.told);
  const well = (): Health =>
    order === undefined ? { state: 'ok' } : { state: 'degraded', detail: order.told };
  let health = well();
  const tell = (error: unknown): void => {
    health = error === undefined ? well() : { state: 'down', detail: 'Postgres does not answer' };
    if (error !== undefined) log.error({ err: error }, 'Postgres does not answer');
  };
  return {
    health: () => health,
    tell,
    async probe(): Promise<void> {
      // A person who mends the order of text need not restart every node.
      if (order !== undefined) order = await changedOrder(db);
      tell(await takesWrites(db));
    },
  };
}

/**
 * Returns undefined if the server accepts writes, otherwise the reason why not. A primary that became a replica still
 * answers every read.
 */
async function takesWrites(db: Kysely<Database>): Promise<Error | undefined> {
  const { rows } = await sql<{
    readonly: boolean;
  }>`select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as readonly`.execute(
    db,
  );
  return rows[0]?.readonly === true ? new ReplicaReached() : undefined;
}

type ChangedOrder = { versions: { made: string; now: string }; told: string };

/**
 * Returns what to do if the system's sorting rules changed. An index that was built with another version of them may
 * miss rows that exist.
 */
async function changedOrder(db: Kysely<Database>): Promise<ChangedOrder | undefined> {
  try {
    const { rows } = await sql<{ made: string | null; now: string | null }>`
      select datcollversion as made, pg_database_collation_actual_version(oid) as now
      from pg_database where datname = current_database()`.execute(db);
    const { made = null, now = null } = rows[0] ?? {};
    if (made === null || now === null || made === now) return undefined;
    const told =
      'the order of text of this database was changed under it: run REINDEX DATABASE, then ALTER DATABASE ... REFRESH COLLATION VERSION';
    return { versions: { made, now }, told };
  } catch {
    return undefined; // servers before 15 do not tell
  }
}

/**
 * Deletes old marks. A mark is looked up within half a minute; older ones are deleted in steps, faster than new ones
 * come.
 */
async function forgetMarks(db: Kysely<Database>, signal: AbortSignal): Promise<void> {
  for (let more = true; more && !signal.aborted;) {
    const { numAffectedRows } = await sql`
      delete from commit_marks where (at, mark) in (
        select at, mark from commit_marks
        where at < (extract(epoch from now()) * 1000)::bigint - ${marksKeptMs}::bigint
        order by at limit ${marksPerStep})`.execute(db);
    more = numAffectedRows === BigInt(marksPerStep);
  }
}

/**
 * Creates indexes one after the other. If the process ends meanwhile, half an index is left, and the next process
 * creates it again.
 */
async function makeIndexes(
  db: Kysely<Database>,
  connections: PostgresConnections,
  log: Logger,
  signal?: AbortSignal,
): Promise<void> {
  for (const index of await missingIndexes(db)) {
    log.info({ index: index.name }, 'an index is made beside the work');
    await connections.makeIndex(index, signal);
  }
}

function cannotBeUsed(error: unknown): Error {
  if (error instanceof TrunklineError) return error;
  const why = refusesTransactions(error)
    ? 'the pool in front of it is in statement mode, and Trunkline needs transactions: set pool_mode = transaction'
    : reasonOf(error);
  return new TrunklineError('STORE_FAILED', `Postgres cannot be used: ${why}`, { cause: error });
}

/**
 * For `trunkline migrate`: shows the schema, or brings it to this program's version. Nodes may run at the same time.
 */
export async function migratePostgres(
  options: Pick<BackendOptions, 'config' | 'log' | 'clock'>,
  isCheck: boolean,
): Promise<SchemaState> {
  const { config, log, clock } = options;
  const connections = new PostgresConnections(config, log);
  const dialect = new CheckedPostgresDialect(connections, clock, new AbortController().signal);
  const db = new Kysely<Database>({ dialect });
  try {
    let state: SchemaState | undefined;
    await whenReady(log, clock, migrateMaxMs, async () => {
      await connections.learn();
      state = isCheck ? await schemaState(db) : await migrate(db, 'postgres', clock);
    });
    if (state === undefined) throw new Error('nothing was looked at');
    if (!isCheck) await makeIndexes(db, connections, log);
    return state;
  } catch (error) {
    throw cannotBeUsed(error);
  } finally {
    await db.destroy();
  }
}

/**
 * Waits for a limited time until the database is ready. It may be starting too, or be busy while several nodes start.
 */
async function whenReady(
  log: Logger,
  clock: Clock,
  maxMs: number,
  attempt: () => Promise<void>,
): Promise<void> {
  const endMs = clock.monotonicMs() + maxMs;
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!isWorthAnotherTry(error) || refusesTransactions(error)) throw error;
      if (clock.monotonicMs() >= endMs) throw error;
      log.warn({ reason: reasonOf(error) }, 'Postgres is not ready yet, tried again in a second');
      // A plain timer is used, because the clock's own timer does not keep the process alive: at the start nothing
      // else does so yet.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

/** Repeats a transaction after a deadlock or a connection that was lost before the commit. Both undo everything. */
async function withTries<T>(
  clock: Clock,
  closing: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (tries >= transactionTries || closing.aborted || !isWorthAnotherTry(error)) throw error;
      const waitMs = 20 * 2 ** tries * (0.5 + Math.random());
      await wait(clock, waitMs, closing);
    }
  }
}

/**
 * Repeats work while Postgres is away for a moment. Clients that poll give up after two failures in a row, but a
 * restart or a failover takes only a second or two.
 */
export async function retriedWhileAway<T>(
  clock: Clock,
  closing: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const endMs = clock.monotonicMs() + retriedForMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isWorthAnotherTry(error) || clock.monotonicMs() >= endMs) throw error;
      await wait(clock, retryEveryMs, closing);
      if (closing.aborted) throw error;
    }
  }
}

async function databaseNow(db: Kysely<Database>): Promise<number> {
  const { rows } = await sql<{
    now: number;
  }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(db);
  const now = rows[0]?.now;
  if (now === undefined) throw new TrunklineError('STORE_FAILED', 'Postgres told no time');
  return now;
}

class CheckedPostgresDialect extends PostgresDialect {
  readonly #connections: PostgresConnections;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;

  constructor(connections: PostgresConnections, clock: Clock, closing: AbortSignal) {
    super({ pool: connections.forKysely });
    this.#connections = connections;
    this.#clock = clock;
    this.#closing = closing;
  }

  override createDriver(): Driver {
    return new CheckedPostgresDriver(this.#connections, this.#clock, this.#closing);
  }
}

/** The driver's own connection, a class that Kysely does not export. */
type DriverConnection = Parameters<PostgresDriver['rollbackTransaction']>[0];

/** The values by which the result of a transaction can be looked up. */
type CommitMark = { at: number; mark: string; xid: string };

class CheckedPostgresDriver extends PostgresDriver {
  readonly #connections: PostgresConnections;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  readonly #marks = new WeakMap<DatabaseConnection, CommitMark>();

  constructor(connections: PostgresConnections, clock: Clock, closing: AbortSignal) {
    super({ pool: connections.forKysely });
    this.#connections = connections;
    this.#clock = clock;
    this.#closing = closing;
  }

  /** Begins a transaction. The mark, and the settings if the connection has none, go in the same round trip. */
  override async beginTransaction(
    connection: DriverConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    this.#marks.delete(connection);
    const { settingsOfTransaction, marksCommits } = this.#connections;
    if (
      !marksCommits ||
      settings.accessMode !== undefined ||
      settings.isolationLevel !== undefined
    ) {
      await super.beginTransaction(connection, settings);
      if (settingsOfTransaction !== '')
        await connection.executeQuery(CompiledQuery.raw(settingsOfTransaction));
      return;
    }
    const mark = String(randomBytes(8).readBigInt64BE());
    try {
      const { rows } = await connection.executeQuery<{ at: number; xid: string }>(
        CompiledQuery.raw(
          `begin; ${settingsOfTransaction} insert into commit_marks (at, mark)
          values ((extract(epoch from now()) * 1000)::bigint, ${mark})
          returning at, pg_current_xact_id()::text as xid`,
        ),
      );
      if (rows[0]) this.#marks.set(connection, { ...rows[0], mark });
    } catch (error) {
      // Kysely does not know that this transaction has begun, so it would not roll it back.
      await this.rollbackTransaction(connection);
      throw error;
    }
  }

  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await super.commitTransaction(connection);
    } catch (error) {
      const mark = this.#marks.get(connection);
      if (mark === undefined || !isConnectionTrouble(error)) throw error;
      if (!(await this.#wasCommitted(mark))) throw error;
    }
  }

  override async rollbackTransaction(connection: DriverConnection): Promise<void> {
    // The server rolls back by itself if the connection is lost. The first error is thrown, not the error of this
    // rollback.
    await super.rollbackTransaction(connection).catch(() => undefined);
  }

  /**
   * Called if the answer to COMMIT was lost. Once the server no longer runs the transaction, either its mark exists or
   * the transaction was undone. The transaction's number alone is not enough, because a promoted standby gives the same
   * numbers to other transactions.
   */
  async #wasCommitted({ at, mark, xid }: CommitMark): Promise<boolean> {
    const endMs = this.#clock.monotonicMs() + commitLookupMs;
    let last: unknown;
    while (this.#clock.monotonicMs() < endMs && !this.#closing.aborted) {
      try {
        if (!(await this.#isUnderWay(xid))) {
          const { rows } = await this.#connections.query<{ found: boolean }>(
            'select exists (select 1 from commit_marks where at = $1 and mark = $2) as found',
            [at, mark],
          );
          return rows[0]?.found === true;
        }
      } catch (error) {
        last = error;
      }
      await wait(this.#clock, 200, this.#closing);
    }
    throw new TrunklineError(
      'STORE_FAILED',
      'A commit was not confirmed and Postgres cannot be asked',
      {
        cause: last,
      },
    );
  }

  async #isUnderWay(xid: string): Promise<boolean> {
    try {
      const { rows } = await this.#connections.query<{ status: string | null }>(
        'select pg_xact_status($1::xid8) as status',
        [xid],
      );
      return rows[0]?.status === 'in progress';
    } catch (error) {
      // This server has not given that number yet, so the transaction ran on another server.
      if (isRefusedForGood(error)) return false;
      throw error;
    }
  }
}
