import { spawn } from 'node:child_process';
import { chownSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endsWithUs } from '../process/ends-with-us.ts';
import { freePort } from '../process/free-port.ts';
import { programOnPath } from '../process/programs.ts';
import { unprivileged } from './postgres.ts';

const program = programOnPath('pgbouncer');

export const pgbouncerMissing: string | undefined =
  program === undefined ? 'PgBouncer is not installed' : undefined;

/** A real PgBouncer in front of one database. */
export async function pgbouncer(
  databaseUrl: string,
  mode: 'transaction' | 'statement',
  more: readonly string[] = [],
): Promise<AsyncDisposable & { readonly url: string }> {
  if (program === undefined) throw new Error(pgbouncerMissing);
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-pgbouncer-'));
  const target = new URL(databaseUrl);
  const port = await freePort();
  const user = unprivileged();
  const settings = join(folder, 'pgbouncer.ini');
  const users = join(folder, 'users.txt');
  writeFileSync(users, '"trunkline" ""\n');
  writeFileSync(
    settings,
    [
      '[databases]',
      `* = host=${target.hostname} port=${target.port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${users}`,
      `pool_mode = ${mode}`,
      // Fewer than the connections of one process, so every one of them is shared.
      'default_pool_size = 3',
      'max_client_conn = 200',
      ...more,
      '',
    ].join('\n'),
  );
  if (user) for (const path of [folder, settings, users]) chownSync(path, user.uid, user.gid);
  const child = endsWithUs(
    spawn(program, [settings], { ...user, stdio: ['ignore', 'ignore', 'pipe'] }),
  );
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`PgBouncer ended:\n${lines.join('\n')}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line);
      if (line.includes('process up')) resolve();
    });
  });
  const url = new URL(databaseUrl);
  url.port = String(port);
  return {
    url: url.href,
    [Symbol.asyncDispose]: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGQUIT');
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
