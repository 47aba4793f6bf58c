import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { WalWatch } from '../../../src/store/sqlite.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

vi.setConfig({ testTimeout: 120_000 });

test('a reader that holds an old state lets the log grow: told, and cut when it has gone', async () => {
  await using store = await temporaryStore();
  const path = join(store.dataDir, 'trunkline.sqlite');
  const alarmBytes = 8_388_608;
  // As the store's own: a cut that finds a reader there goes home instead of waiting for it.
  const shrink = (): Promise<boolean> => {
    const other = new DatabaseSync(path, { timeout: 0 });
    const answer = other.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    other.close();
    return Promise.resolve(answer?.['busy'] === 0);
  };
  const watch = new WalWatch({
    path: `${path}-wal`,
    log: createLog({ level: 'silent' }),
    clock: systemClock,
    shrink,
    alarmBytes,
    lookEveryMs: 50,
  });
  const reader = new DatabaseSync(path, { readOnly: true });
  reader.exec('BEGIN; SELECT count(*) FROM events');
  const write = (sequence: number) =>
    store.db
      .insertInto('events')
      .values({
        id: `e${sequence}`,
        call_id: 'c',
        sequence,
        type: 't',
        occurred_at: 0,
        body: 'x'.repeat(1_000_000),
      })
      .execute();
  for (let sequence = 1; sequence <= 20; sequence++) await write(sequence);
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(alarmBytes);
  const told = await until(() => {
    const health = watch.health();
    return health.state === 'degraded' && health;
  });
  expect(told.detail).toMatch(/log has grown to \d+ MiB: another program holds an old state/);
  await write(21); // nobody waits for the reader but the log
  reader.close();
  await until(() => watch.health().state === 'ok');
  expect(statSync(`${path}-wal`).size).toBeLessThan(alarmBytes);
  watch.close();
});
