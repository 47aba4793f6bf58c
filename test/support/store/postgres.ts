import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { chownSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { endsWithUs } from '../process/ends-with-us.ts';
import { freePort } from '../process/free-port.ts';
import { baseBackupMissing, postgresPrograms, programsMissing } from './postgres-programs.ts';

const run = promisify(execFile);

/** A Postgres for one test file: its own cluster on a free port in a temporary folder, ended afterwards. */
export type TestPostgres = AsyncDisposable & {
  /** A fresh database: empty, or a copy of one without connections. */
  newDatabase(copyOf?: string): Promise<string>;
  /** The folder with all data and the log. Only for our own cluster. */
  readonly dataFolder?: string;
  /** Stops the server at once and restarts it on the same port with its data. Only for our own cluster. */
  readonly outage?: { begin(): Promise<void>; end(): Promise<void> };
  /** Starts a second server that follows the first over the network. Only for our own cluster. */
  standby?(isSynchronous: boolean): Promise<Standby>;
};

export type Standby = AsyncDisposable & {
  readonly port: number;
  /** Makes the standby accept writes, with the data it has received. */
  promote(): Promise<void>;
  /** Keeps the standby running but cuts it off: it no longer receives the first server's changes. */
  stopHearing(): Promise<void>;
};

/** The reason why there is none, for the name of a skipped test. Undefined if there is one. */
export const postgresMissing: string | undefined = process.env['TEST_DATABASE_URL']
  ? undefined
  : programsMissing;

/** The reason why there is no standby server, for the name of a skipped test. */
export const standbyMissing: string | undefined = process.env['TEST_DATABASE_URL']
  ? 'TEST_DATABASE_URL names a server that is not ours'
  : baseBackupMissing;

/** `settings` are added to those of our own cluster. */
export async function startPostgres(settings: readonly string[] = []): Promise<TestPostgres> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given)
    return {
      newDatabase: (copyOf) => newDatabase(given, copyOf),
      [Symbol.asyncDispose]: async () => undefined,
    };
  return ownCluster(await postgresPrograms(), settings);
}

async function ownCluster(bin: string, more: readonly string[]): Promise<TestPostgres> {
  const cluster = await newCluster(bin, more);
  const { port, url, run: runAs } = cluster;
  const data = join(cluster.folder, 'data');
  await cluster.initialise(data);
  let server: ChildProcess | undefined = cluster.start(data, port);
  const end = async (): Promise<void> => {
    const ending = server;
    server = undefined;
    if (ending !== undefined) await endAtOnce(ending);
  };
  await untilItAnswers(url);
  const standby = async (isSynchronous: boolean): Promise<Standby> => {
    const copy = join(cluster.folder, 'standby');
    const second = await freePort();
    await runAs('pg_basebackup', baseBackup(port, copy));
    const following = cluster.start(copy, second);
    const secondUrl = urlAt(second);
    await untilItAnswers(secondUrl);
    await untilFollowed(url, 1);
    if (isSynchronous) await setOf(url, 'synchronous_standby_names', '*');
    return {
      port: second,
      promote: async () => {
        await ask(secondUrl, 'select pg_promote(true, 30)');
      },
      stopHearing: async () => {
        await setOf(secondUrl, 'primary_conninfo', '');
        await untilFollowed(url, 0);
      },
      [Symbol.asyncDispose]: async () => {
        await endAtOnce(following);
        await rm(copy, { recursive: true, force: true });
      },
    };
  };
  return {
    standby,
    dataFolder: data,
    newDatabase: (copyOf) => newDatabase(url, copyOf),
    outage: {
      begin: end,
      end: async () => {
        server ??= cluster.start(data, port);
        await untilItAnswers(url);
      },
    },
    [Symbol.asyncDispose]: async () => {
      await end();
      await rm(cluster.folder, { recursive: true, force: true });
    },
  };
}

/** A primary and a synchronous standby that change roles repeatedly. One address lists both hosts. */
export type PostgresPair = AsyncDisposable & {
  newDatabase(): Promise<string>;
  /** Stops the current primary at once and restarts it with its data. */
  readonly outage: { begin(): Promise<void>; end(): Promise<void> };
  /** Ends the current primary permanently; the standby takes its place. */
  failOver(): Promise<void>;
  /** Starts the lost primary again as the standby of the other. */
  renew(): Promise<void>;
};

export async function startPostgresPair(): Promise<PostgresPair> {
  if (standbyMissing !== undefined) throw new Error(standbyMissing);
  const bin = await postgresPrograms();
  const cluster = await newCluster(bin);
  const sides = [cluster.port, await freePort()].map((port) => ({
    port,
    url: urlAt(port),
    data: join(cluster.folder, `data-${port}`),
    server: undefined as ChildProcess | undefined,
  }));
  const [first, second] = sides;
  if (first === undefined || second === undefined) throw new Error('two sides');
  let [primary, standby] = [first, second];
  const start = async (side: typeof first): Promise<void> => {
    side.server ??= cluster.start(side.data, side.port);
    await untilItAnswers(side.url);
  };
  const end = async (side: typeof first): Promise<void> => {
    const ending = side.server;
    side.server = undefined;
    if (ending !== undefined) await endAtOnce(ending);
  };
  const renew = async (): Promise<void> => {
    if (standby.server !== undefined) return;
    await rm(standby.data, { recursive: true, force: true });
    await cluster.run('pg_basebackup', baseBackup(primary.port, standby.data));
    await start(standby);
    await untilFollowed(primary.url, 1);
    await setOf(primary.url, 'synchronous_standby_names', '*');
  };
  await cluster.initialise(first.data);
  await start(first);
  await renew();
  return {
    newDatabase: async () => {
      const url = await newDatabase(primary.url);
      return url.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${first.port},127.0.0.1:${second.port}`);
    },
    outage: { begin: () => end(primary), end: () => start(primary) },
    failOver: async () => {
      await end(primary);
      await ask(standby.url, 'select pg_promote(true, 30)');
      [primary, standby] = [standby, primary];
    },
    renew,
    [Symbol.asyncDispose]: async () => {
      for (const side of sides) await end(side);
      await rm(cluster.folder, { recursive: true, force: true });
    },
  };
}

/** A folder, a port and the server's programs, owned by a user that the server accepts. */
async function newCluster(bin: string, more: readonly string[] = []) {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-pg-'));
  const user = unprivileged();
  if (user) chownSync(folder, user.uid, user.gid);
  const as = user ?? {};
  const port = await freePort();
  const settings = [
    'fsync=off',
    'max_connections=60',
    'shared_buffers=32MB',
    'listen_addresses=127.0.0.1',
    // A standby reconnects to a returning primary without delay.
    'wal_retrieve_retry_interval=200ms',
    ...more,
  ];
  const runAs = async (program: string, args: readonly string[]): Promise<void> => {
    await run(join(bin, program), args, as);
  };
  return {
    folder,
    port,
    url: urlAt(port),
    run: runAs,
    initialise: (data: string) =>
      runAs('initdb', ['-D', data, '-U', 'trunkline', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C']), // prettier-ignore
    start: (data: string, atPort: number): ChildProcess => {
      const words = settings.flatMap((setting) => ['-c', setting]);
      const args = ['-D', data, '-p', String(atPort), '-k', folder, ...words];
      return endsWithUs(spawn(join(bin, 'postgres'), args, { ...as, stdio: 'ignore' }));
    },
  };
}

function urlAt(port: number): string {
  return `postgres://trunkline@127.0.0.1:${port}/postgres`;
}

function baseBackup(fromPort: number, folder: string): string[] {
  const of = ['-h', '127.0.0.1', '-p', String(fromPort), '-U', 'trunkline'];
  return [...of, '-D', folder, '-R', '-X', 'stream', '-c', 'fast'];
}

/** Ends a server at once. Its clients get no message. */
async function endAtOnce(server: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGQUIT');
  await ended;
}

async function setOf(url: string, setting: string, value: string): Promise<void> {
  await ask(url, `alter system set ${setting} = '${value}'`);
  await ask(url, 'select pg_reload_conf()');
}

async function untilFollowed(url: string, standbys: number): Promise<void> {
  const follows = 'select count(*)::int as n from pg_stat_replication where state = $1';
  while ((await ask(url, follows, ['streaming'])) !== standbys)
    await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Returns the first column of the first row. */
async function ask(url: string, text: string, values: unknown[] = []): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query({ text, values, rowMode: 'array' });
    return (rows[0] as unknown[] | undefined)?.[0];
  } finally {
    await client.end();
  }
}

let databases = 0;

async function newDatabase(url: string, copyOf?: string): Promise<string> {
  const name = `t_${process.pid}_${Date.now()}_${++databases}`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const template = copyOf === undefined ? '' : ` template ${new URL(copyOf).pathname.slice(1)}`;
  await client.query(`create database ${name}${template}`);
  await client.end();
  const made = new URL(url);
  made.pathname = `/${name}`;
  return made.href;
}

async function untilItAnswers(url: string): Promise<void> {
  const endMs = Date.now() + 30_000;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (Date.now() > endMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** A user for servers that refuse to run as root: the one from Debian's package, or `nobody`. */
export function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = accounts.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('/etc/passwd has neither postgres nor nobody');
}
