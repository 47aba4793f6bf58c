import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { openStore } from '../../../src/store/store.ts';
import { readTrace, replayCuts, seeded, traced } from '../../support/store/power-cut.ts';
import { storedRows, temporaryFolder } from '../../support/store/store.ts';
import { acknowledged, runChild, straceMissing } from '../../support/faults/strace.ts';

// Processes are started one after the other: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 240_000 });

const quiet = { ballastBytes: 0, lowWaterBytes: 0 };

function syncs(trace: string): number {
  return readFileSync(trace, 'utf8').match(/fdatasync\(|fsync\(/g)?.length ?? 0;
}

describe('what the store acknowledged', () => {
  test('survives kill -9 at four random moments', async () => {
    await using folder = await temporaryFolder();
    const acks = new Set<number>();
    for (let round = 0; round < 4; round++) {
      const child = runChild('store/store-writer-child.ts', [folder.path, '100000', '8']);
      await child.saw(`ack`);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
      child.process.kill('SIGKILL');
      await child.ended;
      for (const number of acknowledged(child.lines)) acks.add(number);
    }
    expect(acks.size).toBeGreaterThan(0);
    const rows = storedRows(folder.path);
    expect([...acks].filter((number) => !rows.has(`e${number}`))).toEqual([]);
  });

  test.skipIf(straceMissing)(
    'was synced: every commit of its own has a sync, which NORMAL does not give',
    async () => {
      await using folder = await temporaryFolder();
      const trace = join(folder.path, 'trace');
      const store = runChild(
        'store/store-writer-child.ts',
        [join(folder.path, 'data'), '60', '1'],
        ['-e', 'trace=fsync,fdatasync', '-o', trace],
      );
      await store.ended;
      expect(acknowledged(store.lines)).toHaveLength(60);
      expect(syncs(trace)).toBeGreaterThanOrEqual(60);
      const control = runChild(
        'store/bare-writer-child.ts',
        [join(folder.path, 'bare.sqlite'), '60'],
        ['-e', 'trace=fsync,fdatasync', '-o', trace],
      );
      await control.ended;
      expect(acknowledged(control.lines)).toHaveLength(60);
      expect(syncs(trace)).toBeLessThan(60);
    },
  );

  test.skipIf(straceMissing)('a burst shares syncs: many transactions, few commits', async () => {
    await using folder = await temporaryFolder();
    const trace = join(folder.path, 'trace');
    // Each sync takes 20 ms here, as on a slow disk: what comes meanwhile waits for the next one together. On a
    // busy machine few come in the 5 ms that a group waits, yet never one sync each.
    const child = runChild(
      'store/store-writer-child.ts',
      [join(folder.path, 'data'), '200', '40'],
      ['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:delay_exit=20000', '-o', trace],
    );
    await child.ended;
    expect(acknowledged(child.lines)).toHaveLength(200);
    expect(syncs(trace)).toBeLessThan(180);
  });

  test.skipIf(straceMissing)('a sync of 50 ms holds nobody on the event loop', async () => {
    await using folder = await temporaryFolder();
    const child = runChild(
      'store/store-writer-child.ts',
      [folder.path, '20', '1'],
      ['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:delay_exit=50000'],
    );
    await child.ended;
    expect(acknowledged(child.lines)).toHaveLength(20);
    const turns = Number(child.lines.find((line) => line.startsWith('turns '))?.slice(6));
    // A loop that waited for its syncs would turn about once per commit.
    expect(turns).toBeGreaterThan(60);
  });

  test.skipIf(straceMissing)(
    'is on the disk after a power cut at any moment; NORMAL is the control that loses',
    async () => {
      await using folder = await temporaryFolder();
      const database = join(folder.path, 'trunkline.sqlite');
      const trace = join(folder.path, 'trace');
      await runChild(
        'store/store-writer-child.ts',
        [folder.path, '120', '4'],
        [...traced, '-o', trace],
      ).ended;
      const full = replayCuts(readTrace(trace, database), database, 100, seeded(1));
      expect(full).toMatchObject({ lossy: 0, corrupt: 0 });

      const bare = join(folder.path, 'bare.sqlite');
      await runChild('store/bare-writer-child.ts', [bare, '120'], [...traced, '-o', trace]).ended;
      const normal = replayCuts(readTrace(trace, bare), bare, 60, seeded(2));
      expect(normal.lossy).toBeGreaterThan(0);
      expect(normal.corrupt).toBe(0);
    },
  );

  test.skipIf(straceMissing).each([
    ['a sync fails', 'fsync,fdatasync', 'EIO', 25],
    ['a write fails', 'pwrite64', 'EIO', 460],
    ['the disk is full', 'pwrite64', 'ENOSPC', 460],
  ])(
    'stands when %s, and nothing is acknowledged that was not kept',
    async (_, call, error, when) => {
      await using folder = await temporaryFolder();
      const child = runChild(
        'store/store-writer-child.ts',
        [folder.path, '400', '4'],
        ['-e', `trace=${call}`, '-e', `inject=${call}:error=${error}:when=${when}+3`],
      );
      await child.ended;
      const acks = acknowledged(child.lines);
      expect(child.lines.some((line) => line.startsWith('refused'))).toBe(true);
      if (error === 'EIO') expect(child.lines).toContain('store failed');
      const rows = storedRows(folder.path);
      expect(acks.filter((number) => !rows.has(`e${number}`))).toEqual([]);
    },
  );
});

describe('the data folder', () => {
  test('belongs to one process, and to nobody once that process is killed', async () => {
    await using folder = await temporaryFolder();
    const first = runChild('store/store-writer-child.ts', [folder.path, '5', '1', 'hold']);
    await first.saw('done');
    await expect(openStore({ ...quiet, dataDir: folder.path })).rejects.toMatchObject({
      code: 'DATA_LOCKED',
    });
    first.process.kill('SIGKILL');
    await first.ended;
    await using second = await openStore({ ...quiet, dataDir: folder.path });
    expect(await second.db.selectFrom('events').select('id').execute()).toHaveLength(5);
  });
});
