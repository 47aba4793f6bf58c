import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

type Instruction = { name: string; rest: string };

/** Dockerfile lines with continuations joined and comments gone. */
function instructions(text: string): Instruction[] {
  return text
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => /^(\w+)\s+(.*)$/.exec(line.trim()))
    .map((match) => ({ name: match?.[1] ?? '', rest: (match?.[2] ?? '').replace(/\s+/g, ' ') }));
}

const all = instructions(readFileSync(join(root, 'Dockerfile'), 'utf8'));
const lastStage = all.slice(all.findLastIndex(({ name }) => name === 'FROM'));
const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n');

test('every path that the image copies exists and is let through by .dockerignore', () => {
  const copied = all
    .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1));
  expect(copied.length).toBeGreaterThan(3);
  for (const path of copied) {
    expect([path, existsSync(join(root, path))]).toEqual([path, true]);
    expect(ignored).toContain(`!${path.replace('./', '')}`);
  }
});

test('the image runs as a stranger to root, stops by SIGTERM, keeps data in a volume and says whether it is well', () => {
  const value = (name: string): string | undefined =>
    lastStage.find((line) => line.name === name)?.rest;
  // A release may pin the base by its digest; without an argument it is the exact version that npm scripts run on.
  expect(value('FROM')).toBe('${NODE_IMAGE}');
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>;
  };
  const node = lock.packages['node_modules/node']?.version ?? '';
  expect(all).toContainEqual({ name: 'ARG', rest: `NODE_IMAGE=node:${node}-bookworm-slim` });
  for (const { rest } of all.filter(({ name }) => name === 'ARG'))
    expect(rest).toMatch(/:\d+\.\d+\.\d+-/);
  // The first process waits for every process whose parent is gone: node waits for its own alone.
  expect(value('ENTRYPOINT')).toBe('["/usr/bin/tini", "-s", "--"]');
  expect(lastStage.find(({ rest }) => rest.includes('apt-get install'))?.rest).toMatch(/'tini=.*'/);
  expect(value('USER')).toBe('node');
  expect(value('STOPSIGNAL')).toBe('SIGTERM');
  expect(value('VOLUME')).toBe('/data');
  expect(value('HEALTHCHECK')).toContain('/health/live');
  expect(value('LABEL')).toContain('org.opencontainers.image.licenses="Apache-2.0"');
  expect(all.find(({ rest }) => rest.startsWith('npm ci'))?.rest).toContain('--omit=dev');
});

test('the image starts what npm start starts', () => {
  const command = JSON.parse(
    lastStage.find(({ name }) => name === 'CMD')?.rest ?? '[]',
  ) as string[];
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  // The script replaces npm's shell, so that npm's process is the parent; the image has no shell.
  expect(`exec ${command.join(' ')}`).toBe(scripts['start']);
  expect(existsSync(join(root, command.at(-1) ?? ''))).toBe(true);
});

test('the image keeps only its own platform’s libraries of the model runtime', () => {
  const install = all.find(({ rest }) => rest.startsWith('npm ci'))?.rest ?? '';
  const [prune] = /find node_modules\/onnxruntime-node.*$/.exec(install) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-image-'));
  const own = `${process.platform}/${process.arch}`;
  try {
    const libraries = join(folder, 'node_modules/onnxruntime-node/bin/napi-v6');
    for (const platform of [own, 'darwin/arm64', 'win32/x64', 'linux/riscv64'])
      mkdirSync(join(libraries, platform), { recursive: true });
    execFileSync('/bin/sh', ['-c', prune ?? 'false'], { cwd: folder });
    const left = readdirSync(libraries).flatMap((system) =>
      readdirSync(join(libraries, system)).map((machine) => `${system}/${machine}`),
    );
    expect(left).toEqual([own]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('nothing of the model runtime is fetched by its install script, whatever npm is there', () => {
  const { allowScripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    allowScripts: Record<string, boolean>;
  };
  expect(allowScripts['onnxruntime-node']).toBe(false);
  expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^onnxruntime-node-install=skip$/m);
});
