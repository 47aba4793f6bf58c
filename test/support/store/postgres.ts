import { execFile, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { endsWithUs } from '../process/ends-with-us.ts';

const run = promisify(execFile);

/** A Postgres for one test file: an own cluster on a free port in a temporary folder, ended afterwards. */
export type TestPostgres = AsyncDisposable & {
  /** A fresh database: empty, or a copy of one that nobody is connected to. */
  newDatabase(copyOf?: string): Promise<string>;
  /** Only of a cluster of our own: it is gone, at once, and comes back on the same port with what it had. */
  readonly outage?: { begin(): Promise<void>; end(): Promise<void> };
  /** Only of a cluster of our own: a second server that follows the first over the wire. */
  standby?(isSynchronous: boolean): Promise<Standby>;
};

export type Standby = AsyncDisposable & {
  readonly port: number;
  /** It takes writes from here on, with what it has heard. */
  promote(): Promise<void>;
  /** It is there and hears nothing: what the first server does from here on is unknown to it. */
  stopHearing(): Promise<void>;
};

/** Why there is none, for the name of a skipped test; undefined when there is one. */
export const postgresMissing: string | undefined =
  process.env['TEST_DATABASE_URL'] || binaries() ? undefined : 'Postgres is not installed';

export async function startPostgres(): Promise<TestPostgres> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given)
    return {
      newDatabase: (copyOf) => newDatabase(given, copyOf),
      [Symbol.asyncDispose]: async () => undefined,
    };
  const bin = binaries();
  if (!bin) throw new Error('Postgres is not installed and TEST_DATABASE_URL is not set');
  return ownCluster(bin);
}

async function ownCluster(bin: string): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-pg-'));
  // Postgres refuses to run as root: there the cluster belongs to the user that the package made.
  const user = process.getuid?.() === 0 ? accountOf('postgres') : undefined;
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const as = user ?? {};
  await run(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'trunkline', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    as,
  );
  const port = await freePort();
  const settings = [
    'fsync=off',
    'max_connections=60',
    'shared_buffers=32MB',
    'listen_addresses=127.0.0.1',
  ];
  const startServer = (dataFolder: string, atPort: number) => {
    const words = settings.flatMap((setting) => ['-c', setting]);
    const args = ['-D', dataFolder, '-p', String(atPort), '-k', folder, ...words];
    return endsWithUs(spawn(join(bin, 'postgres'), args, { ...as, stdio: 'ignore' }));
  };
  const start = () => startServer(data, port);
  const url = `postgres://trunkline@127.0.0.1:${port}/postgres`;
  let server: ReturnType<typeof start> | undefined = start();
  const end = async (): Promise<void> => {
    const ending = server;
    if (ending === undefined) return;
    server = undefined;
    const ended = new Promise((resolve) => ending.once('exit', resolve));
    ending.kill('SIGQUIT'); // at once: clients hear no word
    await ended;
  };
  await untilItAnswers(url);
  const standby = async (isSynchronous: boolean): Promise<Standby> => {
    const copy = join(folder, 'standby');
    const second = await freePort();
    const of = ['-h', '127.0.0.1', '-p', String(port), '-U', 'trunkline'];
    await run(
      join(bin, 'pg_basebackup'),
      [...of, '-D', copy, '-R', '-X', 'stream', '-c', 'fast'],
      as,
    );
    const following = startServer(copy, second);
    const secondUrl = `postgres://trunkline@127.0.0.1:${second}/postgres`;
    await untilItAnswers(secondUrl);
    const follows = 'select count(*)::int as n from pg_stat_replication where state = $1';
    while ((await ask(url, follows, ['streaming'])) !== 1)
      await new Promise((resolve) => setTimeout(resolve, 50));
    if (isSynchronous) {
      await ask(url, "alter system set synchronous_standby_names = '*'");
      await ask(url, 'select pg_reload_conf()');
    }
    return {
      port: second,
      promote: async () => {
        await ask(secondUrl, 'select pg_promote(true, 30)');
      },
      stopHearing: async () => {
        await ask(secondUrl, "alter system set primary_conninfo = ''");
        await ask(secondUrl, 'select pg_reload_conf()');
        while ((await ask(url, follows, ['streaming'])) !== 0)
          await new Promise((resolve) => setTimeout(resolve, 50));
      },
      [Symbol.asyncDispose]: async () => {
        const ended = new Promise((resolve) => following.once('exit', resolve));
        following.kill('SIGQUIT');
        await ended;
        await rm(copy, { recursive: true, force: true });
      },
    };
  };
  return {
    standby,
    newDatabase: (copyOf) => newDatabase(url, copyOf),
    outage: {
      begin: end,
      end: async () => {
        server ??= start();
        await untilItAnswers(url);
      },
    },
    [Symbol.asyncDispose]: async () => {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The first column of the first row. */
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

function binaries(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  for (const version of versions) {
    const bin = join(root, version, 'bin');
    if (existsSync(join(bin, 'initdb'))) return bin;
  }
  return undefined;
}

export function accountOf(name: string): { uid: number; gid: number } {
  const id = (flag: string): number =>
    Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
