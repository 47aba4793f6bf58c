import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { DiskWatch } from '../../../src/store/disk.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

test('a data folder that can no longer be asked refuses calls and ends nothing, and recovers by itself', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-disk-'));
  let isGone = false;
  const disk = new DiskWatch({
    dataDir,
    lowWaterBytes: 1_000,
    ballastBytes: 0,
    clock: systemClock,
    log: createLog({ level: 'silent' }),
    freeBytes: () => (isGone ? Promise.reject(new Error('gone')) : Promise.resolve(1_000_000)),
  });
  await disk.start();
  expect(disk.health().state).toBe('ok');
  isGone = true;
  await disk.check();
  expect(disk.health().state).toBe('down');
  isGone = false;
  await disk.check();
  expect(disk.health().state).toBe('ok');
  await disk.close();
  await rm(dataDir, { recursive: true });
});

test('a file system that hangs holds the closing up for half a second', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-disk-'));
  const clock = new TestClock(0);
  let hangs = false;
  const disk = new DiskWatch({
    dataDir,
    lowWaterBytes: 1_000,
    ballastBytes: 0,
    clock,
    log: createLog({ level: 'silent' }),
    freeBytes: () => (hangs ? new Promise<number>(() => undefined) : Promise.resolve(1_000_000)),
  });
  await disk.start();
  hangs = true;
  void disk.check();
  let isClosed = false;
  const closing = disk.close().then(() => (isClosed = true));
  await clock.pass(499);
  expect(isClosed).toBe(false);
  await clock.pass(1);
  await closing;
  await rm(dataDir, { recursive: true });
});
