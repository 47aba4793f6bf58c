import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');

/** The program before the last change of its schema, checked out from git and ready to start. */
export type VersionBefore = AsyncDisposable & { folder: string; commit: string; knows: number };

/**
 * The reason why the earlier version is not available, for the name of a skipped test. Undefined if it is available.
 */
export const versionBeforeMissing: string | undefined = (() => {
  try {
    git('rev-parse', 'HEAD');
    return undefined;
  } catch {
    return 'this is no git repository';
  }
})();

export function versionBefore(): VersionBefore {
  if (git('rev-parse', '--is-shallow-repository') === 'true')
    throw new Error('the history is shallow, and the version before is not in it: git fetch --unshallow'); // prettier-ignore
  const changed = git(
    'log',
    '-1',
    '--diff-filter=A',
    '--no-renames',
    '--format=%H',
    '--',
    'src/store/migrations/0*.ts',
  );
  const commit = git('rev-parse', `${changed}^`);
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-before-'));
  const files = git('ls-tree', '-r', '--name-only', commit, 'src', 'config').split('\n');
  const archive = execFileSync('git', ['archive', commit, 'src', 'config', 'package.json', 'package-lock.json'], { cwd: root, maxBuffer: 1e9 }); // prettier-ignore
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  const [older, ours] = [folder, root].map(packagesOf);
  if (older === ours) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  // The old version has other packages. npm takes them from its cache or fetches them. No install scripts run, and none
  // are needed.
  else execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--silent'], { cwd: folder }); // prettier-ignore
  return {
    folder,
    commit,
    knows: files.filter((name) => /^src\/store\/migrations\/\d+-.*\.ts$/.test(name)).length,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The packages in a program's lock file. */
function packagesOf(folder: string): string {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string; dev?: boolean }>;
  };
  const run = Object.entries(lock.packages).filter(
    ([name, one]) => name !== '' && one.dev !== true,
  );
  return JSON.stringify(run.map(([name, { version }]) => [name, version]).toSorted());
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim(); // prettier-ignore
}
