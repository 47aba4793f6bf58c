import {
  CompiledQuery,
  Kysely,
  PostgresDialect,
  PostgresDriver,
  sql,
  type DatabaseConnection,
  type Driver,
  type PostgresDialectConfig,
  type TransactionSettings,
} from 'kysely';
import pg from 'pg';
import { within, wait, type Clock } from '../lib/clock.ts';
import { TrunklineError, reasonOf } from '../lib/errors.ts';
import { storableText } from '../lib/storable.ts';
import type { Logger } from '../lib/log.ts';
import type { Health } from '../lib/health.ts';
import { timed } from './metrics.ts';
import { migrate } from './migrations.ts';
import { isConnectionTrouble, isRefusedForGood, isWorthAnotherTry } from './postgres-errors.ts';
import type { Database } from './schema.ts';
import { maxCloseMs, maxDatabaseWaitMs, type Backend, type BackendOptions } from './backend.ts';

/*
 * Postgres for several nodes. Each statement has a deadline on the server and a longer one on this side, so that a
 * half-open connection is noticed. A commit whose answer was lost is looked up by its transaction id: a guess would
 * store an event twice or not at all.
 */

/** Connections of one process. Callers beyond them wait for `connectMaxMs` at most and then fail. */
export const maxPostgresConnections = 10;
const sessionSettings =
  '-c synchronous_commit=on -c statement_timeout=5000 -c lock_timeout=2000 ' +
  '-c idle_in_transaction_session_timeout=10000 -c tcp_user_timeout=10000 ' +
  '-c default_transaction_isolation=read\\ committed';
const answerMaxMs = 10_000;
const connectMaxMs = 5_000;
const transactionTries = 5;
const commitLookupMs = 30_000;
const startMaxMs = 30_000;
/**
 * Work is done again for so long. Where Postgres refuses connections or does not take them up, the last attempt has ended
 * within the 10 s that clients wait for an answer.
 */
export const retriedForMs = 5_000;
const retryEveryMs = 100;
const probeEveryMs = 5_000;

export async function openPostgres(options: BackendOptions): Promise<Backend> {
  const { log, clock } = options;
  const pool = new pg.Pool({
    connectionString: options.config.databaseUrl,
    max: maxPostgresConnections,
    options: sessionSettings,
    connectionTimeoutMillis: connectMaxMs,
    query_timeout: answerMaxMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: 'trunkline',
    types: { getTypeParser: parserOf },
  });
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));
  // A connection that breaks while it is lent out fails its statement, whose caller hears the reason. Without this
  // listener the error event would end the process as well.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const clients = new Set<pg.PoolClient>();
  pool
    .on('connect', (client) => clients.add(client))
    .on('remove', (client) => clients.delete(client));
  const closing = new AbortController();
  const { signal } = closing;
  const db = new Kysely<Database>({ dialect: new CheckedPostgresDialect(pool, clock, signal) });
  const state: { health: Health } = { health: { state: 'ok' } };
  try {
    await whenReady(log, clock, async () => {
      await refuseReplica(db);
      await migrate(db, 'postgres', clock);
    });
  } catch (error) {
    await db.destroy();
    if (error instanceof TrunklineError) throw error;
    throw new TrunklineError('STORE_FAILED', `Postgres cannot be used: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  void probe(db, clock, signal, (error) => {
    state.health =
      error === undefined ? { state: 'ok' } : { state: 'down', detail: 'Postgres does not answer' };
    if (error !== undefined) log.error({ err: error }, 'Postgres does not answer');
  });
  return {
    db,
    retried: (work) => retriedWhileAway(clock, signal, work),
    transaction: (work) => withTries(clock, signal, () => db.transaction().execute(work)),
    databaseNow: () => databaseNow(db),
    health: () => state.health,
    refusesForGood: isRefusedForGood,
    forgetDeleted: () => Promise.resolve(true), // the server's own vacuum and log recycling do the rest
    threadsEnded: () => Promise.resolve(), // there is none
    close: async () => {
      closing.abort();
      const destroyed = db
        .destroy()
        .catch((error: unknown) => log.warn({ err: error }, 'the connections could not be closed'));
      // A database that is known to be away is not waited for again.
      const waitMs = state.health.state === 'down' ? maxDatabaseWaitMs : maxCloseMs;
      if (await within(clock, waitMs, destroyed)) return;
      log.warn('Postgres does not answer: what it was asked last may or may not be stored');
      // Breaks the connection of a statement under way, whose caller hears of it.
      for (const client of clients) (client as unknown as pg.Client).end().catch(() => undefined);
    },
  };
}

/** Asks for an answer every few seconds until the signal ends it. Never rejects. */
async function probe(
  db: Kysely<Database>,
  clock: Clock,
  signal: AbortSignal,
  tell: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    await wait(clock, probeEveryMs, signal);
    if (signal.aborted) return;
    await sql`select 1`.execute(db).then(
      () => tell(undefined),
      (error: unknown) => tell(error ?? new Error('no reason was given')),
    );
  }
}

/** Waits, with an end, for a database that starts beside this process or is busy while several nodes start. */
async function whenReady(log: Logger, clock: Clock, attempt: () => Promise<void>): Promise<void> {
  const endMs = clock.monotonicMs() + startMaxMs;
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!isWorthAnotherTry(error) || clock.monotonicMs() >= endMs) throw error;
      log.warn({ reason: reasonOf(error) }, 'Postgres is not ready yet, tried again in a second');
      // Not the clock's timer, which does not keep the process alive: at the start nothing else may do so yet.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

/** A deadlock or a connection lost before the commit undid everything: the same work may run again. */
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

/** Clients that poll give up after two failures in a row, and a restart or a failover takes a second or two. */
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

/** A replica may lack commits that were acknowledged, and takes no writes: claims and reads go to the primary. */
async function refuseReplica(db: Kysely<Database>): Promise<void> {
  const { rows } = await sql<{ replica: boolean }>`select pg_is_in_recovery() as replica`.execute(
    db,
  );
  if (rows[0]?.replica)
    throw new TrunklineError(
      'STORE_FAILED',
      'DATABASE_URL leads to a replica; the primary is needed.',
    );
}

/** Times and counts are below 2^53, so both databases give plain numbers. */
function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === int8Oid || oid === numericOid) return Number;
  // Any number of the server's is an oid; the package's enumeration knows the built-in ones.
  // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
  return pg.types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown;
}
const int8Oid = 20;
const numericOid = 1700;

class CheckedPostgresDialect extends PostgresDialect {
  readonly #pool: pg.Pool;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;

  constructor(pool: pg.Pool, clock: Clock, closing: AbortSignal) {
    super({ pool });
    this.#pool = pool;
    this.#clock = clock;
    this.#closing = closing;
  }

  override createDriver(): Driver {
    return new CheckedPostgresDriver(this.#pool, this.#clock, this.#closing, {
      pool: discardingPool(this.#pool),
    });
  }
}

type KyselyPool = Exclude<PostgresDialectConfig['pool'], (...args: never[]) => unknown>;

/** A connection that once timed out or broke is ended, never given to the next caller. */
function discardingPool(pool: pg.Pool): KyselyPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => {
      const client = await pool.connect();
      const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
      const release = client.release.bind(client);
      let broken = false;
      let isInTransaction = false;
      // Kysely awaits promises only; the callback form of `query` is not used here.
      const checked = async (...args: unknown[]): Promise<unknown> => {
        const kind = kindOf(args[0]);
        // The statements of a transaction are in the time of the whole.
        const isTimed = !isInTransaction && kind !== 'begin' && kind !== 'end';
        if (kind === 'begin' || kind === 'end') isInTransaction = kind === 'begin';
        const run = (): Promise<unknown> => query(...args.map(storableParameters));
        try {
          return await (isTimed ? timed(kind, run) : run());
        } catch (error) {
          if (isConnectionTrouble(error)) broken = true;
          throw error;
        }
      };
      return Object.assign(client, {
        query: checked,
        release: (end?: boolean | Error) => {
          // The pool hands the same client out again: it goes back without this wrapping.
          Reflect.deleteProperty(client, 'query');
          client.release = release;
          release(broken || end);
        },
      });
    },
  };
}

function kindOf(statement: unknown): 'begin' | 'end' | 'read' | 'write' {
  const text = typeof statement === 'string' ? statement : '';
  if (/^\s*(?:begin|start transaction)\b/i.test(text)) return 'begin';
  if (/^\s*(?:commit|rollback)\s*$/i.test(text)) return 'end';
  return /^\s*select\b/i.test(text) ? 'read' : 'write';
}

/** The last guard for all parts: a text that Postgres would refuse must not fail every try of its transaction. */
function storableParameters(argument: unknown): unknown {
  if (!Array.isArray(argument)) return argument;
  return argument.map((value: unknown) =>
    typeof value === 'string' ? storableText(value) : value,
  );
}

/** The connection of the driver itself, a class that Kysely does not export. */
type DriverConnection = Parameters<PostgresDriver['rollbackTransaction']>[0];

class CheckedPostgresDriver extends PostgresDriver {
  readonly #pool: pg.Pool;
  readonly #clock: Clock;
  readonly #closing: AbortSignal;
  readonly #transactionIds = new WeakMap<DatabaseConnection, string>();

  constructor(pool: pg.Pool, clock: Clock, closing: AbortSignal, config: PostgresDialectConfig) {
    super(config);
    this.#pool = pool;
    this.#clock = clock;
    this.#closing = closing;
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    await super.beginTransaction(connection, settings);
    const { rows } = await connection.executeQuery<{ id: string }>(
      CompiledQuery.raw('select pg_current_xact_id()::text as id'),
    );
    if (rows[0]) this.#transactionIds.set(connection, rows[0].id);
  }

  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await super.commitTransaction(connection);
    } catch (error) {
      const id = this.#transactionIds.get(connection);
      if (id === undefined || !isConnectionTrouble(error)) throw error;
      if (!(await this.#wasCommitted(id))) throw error;
    }
  }

  override async rollbackTransaction(connection: DriverConnection): Promise<void> {
    // On a lost connection the server rolls back by itself. The first error is the one to tell, not this one.
    await super.rollbackTransaction(connection).catch(() => undefined);
  }

  /** The answer to COMMIT was lost: the server remembers how the transaction ended. */
  async #wasCommitted(id: string): Promise<boolean> {
    const endMs = this.#clock.monotonicMs() + commitLookupMs;
    let last: unknown;
    while (this.#clock.monotonicMs() < endMs && !this.#closing.aborted) {
      try {
        const { rows } = await this.#pool.query<{ status: string | null }>(
          'select pg_xact_status($1::xid8) as status',
          [id],
        );
        if (rows[0]?.status === 'committed') return true;
        if (rows[0]?.status === 'aborted') return false;
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
}
