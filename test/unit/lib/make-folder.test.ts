import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder } from '../../../src/lib/make-folder.ts';

function place(): string {
  const path = mkdtempSync(join(tmpdir(), 'trunkline-folder-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('answers the topmost folder that it made, or nothing', () => {
  const top = place();
  expect(makeFolder(join(top, 'a/b/c'), 0o700)).toBe(join(top, 'a'));
  expect(statSync(join(top, 'a/b/c')).mode & 0o777).toBe(0o700);
  expect(makeFolder(join(top, 'a/b/c'))).toBeUndefined();
  expect(makeFolder(join(top, 'a/d'))).toBe(join(top, 'a/d'));
});

test('a path that cannot be a folder is an error and never a wait', () => {
  const file = join(place(), 'file');
  writeFileSync(file, '');
  expect(() => makeFolder(file)).toThrow('EEXIST');
  expect(() => makeFolder(join(file, 'a'))).toThrow('ENOTDIR');
  expect(() => makeFolder('/proc/nope')).toThrow('ENOENT');
  expect(() => makeFolder('/proc/nope/a/b')).toThrow('ENOENT');
});
