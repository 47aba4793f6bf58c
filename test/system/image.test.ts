import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

/** The content of the image: the copied files, and the packages that are not for development alone. */
async function imageLayout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-image-'));
  for (const path of ['package.json', 'LICENSE', 'config', 'src'])
    await cp(join(root, path), join(folder, path), { recursive: true });
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }>;
  };
  for (const [path, entry] of Object.entries(lock.packages)) {
    const isOwn =
      path.startsWith('node_modules/') &&
      !path.slice('node_modules/'.length).includes('node_modules/');
    if (!isOwn || entry.dev === true) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    // A package for another platform is in the lock file and not on this disk: its link leads nowhere.
    await symlink(join(root, path), join(folder, path));
  }
  return folder;
}

test('the start command of the image runs from a copy laid out as the image is', async () => {
  const folder = await imageLayout();
  const dockerfile = await readFile(join(root, 'Dockerfile'), 'utf8');
  const [program = '', ...args] = JSON.parse(
    /^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]',
  ) as string[];
  expect(program).toBe('node');
  const child = spawn(process.execPath, ['--preserve-symlinks', ...args], {
    cwd: folder,
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      TRUNKLINE_DATA: join(folder, 'data'),
      TRUNKLINE_MODELS: join(folder, 'models'),
      TRUNKLINE_PULL_MODELS: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const ready = new Promise<string>((found, lost) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        const url = /ready at (http:\/\/[^"\s]+)/.exec(line)?.[1];
        if (url !== undefined) found(url);
      });
    child.once('exit', () => lost(new Error(lines.join('\n'))));
  });
  try {
    const url = await ready;
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
});
