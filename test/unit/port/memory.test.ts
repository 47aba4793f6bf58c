import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { controlGroup, isShort } from '../../../src/port/memory.ts';

const mib = 2 ** 20;

/** The files of a system: what stands in /proc/self/cgroup, and below /sys/fs/cgroup. */
function groups(own: string, files: Record<string, string>): ReturnType<typeof controlGroup> {
  const root = mkdtempSync(join(tmpdir(), 'trunkline-cgroup-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries({ ...files, self: own })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return controlGroup(join(root, 'self'), root);
}

test('the limit of a control group of either version is read, without the pages that can be given back', () => {
  const limits = { what: 'control group', limit: 300 * mib, used: 60 * mib };
  expect(
    groups('0::/app\n', {
      'app/memory.max': `${300 * mib}\n`,
      'app/memory.current': `${100 * mib}\n`,
      'app/memory.stat': `anon 5\ninactive_file ${40 * mib}\nactive_file 7\n`,
    }),
  ).toEqual(limits);
  expect(
    groups('5:cpu:/x\n4:memory:/outside/app\n0::/\n', {
      'memory/memory.limit_in_bytes': `${300 * mib}\n`,
      'memory/memory.usage_in_bytes': `${100 * mib}\n`,
      'memory/memory.stat': `cache 1\ntotal_inactive_file ${40 * mib}\n`,
    }),
  ).toEqual(limits);
});

test('no limit, or none that is under the memory of the machine, is no limit', () => {
  expect(groups('0::/\n', { 'memory.max': 'max\n', 'memory.current': '1\n' })).toBeUndefined();
  expect(
    groups('4:memory:/\n', {
      'memory/memory.limit_in_bytes': '9223372036854771712\n',
      'memory/memory.usage_in_bytes': '1\n',
    }),
  ).toBeUndefined();
  expect(groups('', {})).toBeUndefined();
});

test('an eighth is kept, at most 64 MiB, and what the legs there are may still come to hold', () => {
  const group = (usedMib: number) => ({
    what: 'control group',
    limit: 320 * mib,
    used: usedMib * mib,
  });
  expect(isShort(group(280), 0)).toBe(false);
  expect(isShort(group(281), 0)).toBe(true);
  expect(isShort(group(200), 1_000)).toBe(false);
  expect(isShort(group(202), 1_000)).toBe(true);
  const heap = { what: 'heap', limit: 4_096 * mib, used: 4_000 * mib };
  expect(isShort(heap, 1_000)).toBe(false);
  expect(isShort({ ...heap, used: 4_020 * mib }, 1_000)).toBe(true);
});
