import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { JournalWriter } from '../../../../src/bridge/journal/writer.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { createLog } from '../../../../src/lib/log.ts';
import { until } from '../../../support/process/until.ts';

/** A writer whose every write takes as long as the test says, on a clock that the test moves. */
function writerOnSlowDisk() {
  const dir = mkdtempSync(join(tmpdir(), 'trunkline-writer-'));
  const disk = { nowMs: 1_000_000, writeMs: 0 };
  const writer = new JournalWriter({
    dir,
    run: 1,
    firstSeq: 1,
    clock: { ...systemClock, monotonicMs: () => (disk.nowMs += disk.writeMs) },
    log: createLog({ level: 'silent' }),
    onSealed: () => undefined,
    onRecovered: () => undefined,
  });
  onTestFinished(async () => {
    await writer.close();
    rmSync(dir, { recursive: true });
  });
  return { writer, disk };
}

test('one slow write moves the journal off the event loop for a second, slow ones again and again for longer, at most 30 s', async () => {
  const { writer, disk } = writerOnSlowDisk();
  const lasted: number[] = [];
  for (let time = 0; time < 7; time++) {
    writer.leg(1, 0, 'state');
    disk.writeMs = 30;
    writer.flush();
    await until(() => writer.slow);
    disk.writeMs = 0;
    const sinceMs = disk.nowMs;
    while (writer.slow) {
      disk.nowMs += 500;
      writer.tick();
      await new Promise((resolve) => setImmediate(resolve));
    }
    lasted.push(Math.floor((disk.nowMs - sinceMs) / 1_000));
  }
  expect(lasted).toEqual([1, 2, 4, 8, 16, 30, 30]);

  disk.nowMs += 31_000;
  writer.tick();
  writer.leg(1, 0, 'state');
  disk.writeMs = 30;
  writer.flush();
  await until(() => writer.slow);
  disk.writeMs = 0;
  disk.nowMs += 1_500;
  await until(() => (writer.tick(), !writer.slow));
});

test('a listener may append more than a batch holds: the listeners after it are still told their own bytes', async () => {
  const { writer } = writerOnSlowDisk();
  const heard = new Map<number, Buffer[]>();
  const leg = (id: number, then?: () => void) => ({
    written(_position: number, bytes: Buffer) {
      // A copy: what it lies in is written over.
      heard.set(id, [...(heard.get(id) ?? []), Buffer.from(bytes)]);
      then?.();
    },
    silenceWritten: () => undefined,
  });
  const many = Array.from({ length: 300 }, (_, at) => Buffer.alloc(16_000, at));
  const appendMany = (): void => {
    writer.tick(); // beside a sync the batch waits for the thread pool
    for (const [at, bytes] of many.entries()) writer.audio(3, at * 16_000, bytes, leg(3));
  };
  writer.audio(1, 0, Buffer.alloc(160, 1), leg(1, appendMany));
  for (let at = 0; at < 20; at++) writer.audio(2, at * 160, Buffer.alloc(160, 100 + at), leg(2));
  writer.flush();
  await until(() => heard.get(3)?.length === many.length);
  expect(heard.get(2)).toEqual(Array.from({ length: 20 }, (_, at) => Buffer.alloc(160, 100 + at)));
  expect(Buffer.concat(heard.get(3) ?? []).equals(Buffer.concat(many))).toBe(true);
});
