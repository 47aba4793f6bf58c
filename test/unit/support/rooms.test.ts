import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const files = readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)));
const textOf = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

function importsOf(file: string): string[] {
  const text = textOf.get(file) ?? '';
  return [...text.matchAll(/(?:from|import|import\() ?'(\.[^']+)'/g)].map(([, path = '']) =>
    relative(root, resolve(root, dirname(file), path)),
  );
}

const isLong = (file: string): boolean => /^test\/(?:trials|bench)\//.test(file);
const isSupport = (file: string): boolean => file.startsWith('test/support/');

test('no test and no support imports from a trial or a bench', () => {
  const wrong = files
    .filter((file) => !isLong(file))
    .flatMap((file) =>
      importsOf(file)
        .filter(isLong)
        .map((path) => `${file} imports ${path}`),
    );
  expect(wrong).toEqual([]);
});

test('every file of test/support serves a test; what only a trial or a bench uses lies beside it', () => {
  const isUsed = new Set<string>();
  const visit = (file: string): void => {
    if (isUsed.has(file)) return;
    isUsed.add(file);
    const text = textOf.get(file) ?? '';
    // A program that is started is named by a string, and by nothing else.
    const started = files.filter((other) => isSupport(other) && text.includes(basename(other)));
    for (const path of [...importsOf(file), ...started]) visit(path);
  };
  const tools = readdirSync(join(root, 'config/tools')).filter((file) => file.endsWith('.ts'));
  for (const file of tools) textOf.set(`config/tools/${file}`, readFileSync(join(root, 'config/tools', file), 'utf8')); // prettier-ignore
  for (const file of textOf.keys()) if (!isSupport(file) && !isLong(file)) visit(file);
  const lost = files.filter((file) => isSupport(file) && !file.endsWith('.d.ts') && !isUsed.has(file)); // prettier-ignore
  expect(lost).toEqual([]);
});
