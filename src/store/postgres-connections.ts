import type { PostgresDialectConfig } from 'kysely';
import pg from 'pg';
import { storableText } from '../lib/storable.ts';
import type { Logger } from '../lib/log.ts';
import type { StoreConfig } from './config.ts';
import { timed } from './metrics.ts';
import { indexWords, type LargeIndex } from './large-index.ts';
import { isConnectionTrouble, ReplicaReached, refusesSettings } from './postgres-errors.ts';
import { TrunklineError } from '../lib/errors.ts';

/**
 * At most this many connections are open in one process. Further callers wait for at most `connectMaxMs` and then fail.
 */
export const maxPostgresConnections = 10;
const connectMaxMs = 5_000;
/**
 * This process waits this much longer than the server's own limit for a statement. After that, the connection itself is
 * given up.
 */
const answerGraceMs = 5_000;

type KyselyPool = Exclude<PostgresDialectConfig['pool'], (...args: never[]) => unknown>;
type DatabaseConfig = Pick<StoreConfig, 'databaseUrl' | 'statementTimeoutMs'>;

/**
 * The connections to the server that accepts writes. If one of several hosts cannot be reached or is a replica, the
 * next host is tried. At the start, we test whether a pool such as PgBouncer stands in front of the server. Behind a
 * pool, sessions are shared, so each transaction sets its own settings.
 */
export class PostgresConnections {
  /** True once the table of commit marks exists. */
  marksCommits = false;
  /** The pool from which Kysely takes its connections. */
  readonly forKysely: KyselyPool;
  readonly #urls: string[];
  readonly #settings: Record<string, string>;
  readonly #log: Logger;
  readonly #pool: pg.Pool;
  readonly #clients = new Set<pg.PoolClient>();
  #isPooled = false;

  constructor({ databaseUrl = '', statementTimeoutMs }: DatabaseConfig, log: Logger) {
    this.#log = log;
    this.#urls = addressesOf(databaseUrl);
    this.#settings = {
      synchronous_commit: 'on',
      statement_timeout: String(statementTimeoutMs),
      lock_timeout: '2000',
      idle_in_transaction_session_timeout: '10000',
    };
    const pool = new pg.Pool({
      connectionString: this.#urls[0],
      max: maxPostgresConnections,
      options: this.#startOptions,
      connectionTimeoutMillis: connectMaxMs,
      query_timeout: statementTimeoutMs + answerGraceMs,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      application_name: 'trunkline',
      types: { getTypeParser: parserOf },
      // The package's types know no answer of it that is waited for; the pool does wait.
      // eslint-disable-next-line @typescript-eslint/no-misused-promises
      onConnect: refuseReplica,
    });
    pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));
    // If a connection breaks while it is in use, its statement fails and the caller gets the reason. Without this
    // listener, the error event would also end the process.
    pool.on('connect', (client) => client.on('error', () => undefined));
    pool
      .on('connect', (client) => this.#clients.add(client))
      .on('remove', (client) => this.#clients.delete(client));
    this.#pool = pool;
    this.forKysely = {
      options: pool.options,
      end: () => pool.end(),
      connect: async () => discarding(await this.#connect()),
    };
  }

  /**
   * SQL statements that set the settings for one transaction, each ended by a semicolon. Empty if the connection itself
   * has the settings.
   */
  get settingsOfTransaction(): string {
    if (!this.#isPooled) return '';
    return Object.entries(this.#settings)
      .map(([name, value]) => `set local ${name} = '${value}';`)
      .join(' ');
  }

  /** Tests which kind of server is at the address. Rejects if no server can be reached. */
  async learn(): Promise<void> {
    this.#isPooled = await this.#isBehindPool();
    // A setting that the server refuses is left out, because every connection of this pool uses these options.
    this.#pool.options.options = this.#isPooled ? undefined : this.#startOptions;
    const { rows } = await this.query<{ sync: string; statement: string }>(
      "select current_setting('synchronous_commit') as sync, current_setting('statement_timeout') as statement",
    );
    if (!this.#isPooled) return;
    const [found] = rows;
    if (found?.sync === 'off')
      throw new TrunklineError(
        'STORE_FAILED',
        'Behind this pool synchronous_commit is off, and a commit that was acknowledged could be lost: ALTER ROLE ... SET synchronous_commit = on',
      );
    this.#log.info(
      'DATABASE_URL leads to a pool such as PgBouncer: its sessions are shared, and each transaction brings its settings along',
    );
    if (found?.statement === '0')
      this.#log.warn(
        'behind the pool single statements have no time limit at the server: ALTER ROLE ... SET statement_timeout would give them one',
      );
  }

  /** Runs a query outside the transactions. */
  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ): Promise<pg.QueryResult<Row>> {
    const client = await this.#connect();
    try {
      const result = await client.query<Row>(text, values);
      client.release();
      return result;
    } catch (error) {
      client.release(isConnectionTrouble(error));
      throw error;
    }
  }

  /**
   * Creates an index beside all other work, for as long as that takes. The table stays writable. Remains of an earlier
   * try are dropped first.
   */
  async makeIndex(index: LargeIndex, signal?: AbortSignal): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#pool.options.connectionString,
      connectionTimeoutMillis: connectMaxMs,
      ...(this.#isPooled ? {} : { options: '-c statement_timeout=0 -c lock_timeout=0' }),
    });
    client.on('error', () => undefined);
    // The server continues, or leaves half of the index. A process that stops waits for neither.
    const leave = (): void => void client.connection.stream.destroy();
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await client.connect();
      await client.query(`drop index concurrently if exists ${index.name}`);
      await client.query(`create index concurrently ${indexWords(index)}`);
    } finally {
      signal?.removeEventListener('abort', leave);
      await client.end().catch(() => undefined);
    }
  }

  /** Breaks the connections of running statements. Their callers get an error. */
  breakAll(): void {
    for (const client of this.#clients)
      (client as unknown as pg.Client).end().catch(() => undefined);
  }

  get #startOptions(): string {
    const settings = {
      ...this.#settings,
      tcp_user_timeout: '10000',
      default_transaction_isolation: 'read\\ committed',
    };
    return Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' ');
  }

  async #connect(): Promise<pg.PoolClient> {
    const { options } = this.#pool;
    for (let tries = 1; ; tries++) {
      const url = options.connectionString;
      try {
        return await this.#pool.connect();
      } catch (error) {
        // All connections are in use, so the query was not sent.
        const isCrowded = error instanceof Error && error.message.includes('timeout exceeded');
        if (isCrowded || this.#urls.length === 1) throw error;
        // When many callers fail at one host, only one of them switches to the next.
        if (options.connectionString === url)
          options.connectionString =
            this.#urls[(this.#urls.indexOf(url ?? '') + 1) % this.#urls.length];
        if (tries >= this.#urls.length) throw error;
      }
    }
  }

  /**
   * True if a pool such as PgBouncer stands in front of the server. A pool refuses settings, or accepts and forgets
   * them.
   */
  async #isBehindPool(): Promise<boolean> {
    let last: unknown;
    for (const connectionString of this.#urls) {
      const client = new pg.Client({
        connectionString,
        options: this.#startOptions,
        connectionTimeoutMillis: connectMaxMs,
        query_timeout: connectMaxMs,
      });
      client.on('error', () => undefined);
      try {
        await client.connect();
        const { rows } = await client.query<{ ms: string }>(
          "select setting as ms from pg_settings where name = 'statement_timeout'",
        );
        return rows[0]?.ms !== this.#settings['statement_timeout'];
      } catch (error) {
        if (refusesSettings(error)) return true;
        last = error;
      } finally {
        await client.end().catch(() => undefined);
      }
    }
    throw last;
  }
}

/** Returns one address for each host of a list of hosts in the form of libpq. */
export function addressesOf(databaseUrl: string): string[] {
  const [, start = '', hosts = '', rest = ''] =
    /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^/?@]*)(.*)$/s.exec(databaseUrl) ?? [];
  const list = hosts.split(',');
  return list.length < 2 ? [databaseUrl] : list.map((host) => `${start}${host}${rest}`);
}

/**
 * Throws for a replica. A replica accepts no writes and may lack commits that were acknowledged, so claims and reads
 * must go to the primary.
 */
async function refuseReplica(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ replica: boolean }>(
    'select pg_is_in_recovery() as replica',
  );
  if (rows[0]?.replica === true) throw new ReplicaReached();
}

/** Wraps a connection so that it is closed after a time-out or a break, and is never given to the next caller. */
function discarding(client: pg.PoolClient): Awaited<ReturnType<KyselyPool['connect']>> {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const release = client.release.bind(client);
  let broken = false;
  let isInTransaction = false;
  // Kysely only awaits promises. It never uses the callback form of `query`.
  const checked = async (...args: unknown[]): Promise<unknown> => {
    const kind = kindOf(args[0]);
    // The transaction's deadline covers its statements.
    const isTimed = !isInTransaction && kind !== 'begin' && kind !== 'end';
    if (kind === 'begin' || kind === 'end') isInTransaction = kind === 'begin';
    const run = (): Promise<unknown> => query(...args.map(storableParameters));
    try {
      const result = await (isTimed ? timed(kind, run) : run());
      // When one query holds several statements, the last result counts.
      return Array.isArray(result) ? (result.at(-1) as unknown) : result;
    } catch (error) {
      if (isConnectionTrouble(error)) broken = true;
      throw error;
    }
  };
  return Object.assign(client, {
    query: checked,
    release: (end?: boolean | Error) => {
      // The pool hands out the same client again, so the wrapping is removed first.
      Reflect.deleteProperty(client, 'query');
      client.release = release;
      release(broken || end);
    },
  });
}

function kindOf(statement: unknown): 'begin' | 'end' | 'read' | 'write' {
  const text = typeof statement === 'string' ? statement : '';
  if (/^\s*(?:begin|start transaction)\b/i.test(text)) return 'begin';
  if (/^\s*(?:commit|rollback)\s*$/i.test(text)) return 'end';
  return /^\s*select\b/i.test(text) ? 'read' : 'write';
}

/**
 * Makes texts acceptable for Postgres, as the last check for all parts. A text that Postgres refuses would make every
 * try of its transaction fail.
 */
function storableParameters(argument: unknown): unknown {
  if (!Array.isArray(argument)) return argument;
  return argument.map((value: unknown) =>
    typeof value === 'string' ? storableText(value) : value,
  );
}

/** Reads large whole numbers as plain numbers, as SQLite does. Times and counts are below 2^53. */
function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === int8Oid || oid === numericOid) return Number;
  // Any number of the server's is an oid; the package's enumeration knows the built-in ones.
  // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
  return pg.types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown;
}
const int8Oid = 20;
const numericOid = 1700;
