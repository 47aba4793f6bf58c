import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Playbooks } from '../../../src/assist/playbooks.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { temporaryFolder } from '../../support/store/store.ts';

const log = createLog({ level: 'silent' });

const playbook = (title: string) =>
  `id: shop\nstatus: live\nrules:\n  - { id: it, title: ${title}, when: { phrase: { any: [hello there] } }, then: [{ tag: t }] }\n`;

const titlesOf = (playbooks: Playbooks): string[] =>
  playbooks.current.rules.map(({ rule }) => rule.title);

test('the folder is read again when a file changes, and nothing is parsed again while none does', async () => {
  await using temporary = await temporaryFolder();
  const folder = join(temporary.path, 'assist');
  const options = { folder, starter: false, clock: new TestClock(1), log };
  await using playbooks = await Playbooks.open(options);
  expect(titlesOf(playbooks)).toEqual([]);
  await mkdir(folder);
  await writeFile(join(folder, 'shop.yaml'), playbook('First'));
  await playbooks.load();
  expect(titlesOf(playbooks)).toEqual(['First']);
  const before = playbooks.current;
  expect(await playbooks.load()).toBe(false);
  expect(playbooks.current).toBe(before);
  await writeFile(join(folder, 'shop.yaml'), playbook('A second title'));
  await playbooks.load();
  expect(titlesOf(playbooks)).toEqual(['A second title']);
  await rm(join(folder, 'shop.yaml'));
  await playbooks.load();
  expect(titlesOf(playbooks)).toEqual([]);
});

test('a device and a file that is too long are not read, and the others are used', async () => {
  await using temporary = await temporaryFolder();
  const folder = temporary.path;
  await writeFile(join(folder, 'shop.yaml'), playbook('First'));
  await symlink('/dev/zero', join(folder, 'zero.yaml'));
  await writeFile(join(folder, 'long.yaml'), `id: long\n#${'x'.repeat(600_000)}`);
  const options = { folder, starter: false, clock: new TestClock(1), log };
  await using playbooks = await Playbooks.open(options);
  expect(titlesOf(playbooks)).toEqual(['First']);
  expect(playbooks.problems.map(({ reason }) => reason)).toEqual([
    'a playbook is at most 512 KiB long',
    'it is no file',
  ]);
});

test('a folder that cannot be read is told, and the process starts without it', async () => {
  await using temporary = await temporaryFolder();
  const file = join(temporary.path, 'file');
  await writeFile(file, 'id: [');
  const options = { folder: file, starter: false, clock: new TestClock(1), log };
  await using playbooks = await Playbooks.open(options);
  expect(playbooks.current.rules).toEqual([]);
  expect(playbooks.problems).toHaveLength(1);
});
