import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { JournalWriter } from '../../../src/bridge/journal-writer.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { until } from '../../support/until.ts';

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

test('F52: one slow write moves the journal off the event loop for a second, slow ones again and again for longer, at most 30 s', async () => {
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
