import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { Scorecards } from '../../../src/assist/scorecards.ts';
import { CallJudge } from '../../../src/bridge/scores/call-judge.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { until } from '../../support/process/until.ts';
import { silentLog } from '../../support/recognition/recogniser.ts';
import { storeCalls } from '../../support/store/many-calls.ts';
import { temporaryStore } from '../../support/store/store.ts';

const scorecard = `
id: quality
title: Quality
status: live
min_duration: 0
sections:
  - title: All
    items:
      - { id: unsaid, question: Not said?, points: 10, auto: { never: { phrase: { any: [nobody says this] } } } }
`;

test('a call that cannot be scored keeps no other one waiting, and is tried again until it is', async () => {
  await using store = await temporaryStore();
  const clock = new TestClock(1);
  const folder = join(store.dataDir, 'assist', 'scorecards');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'quality.yaml'), scorecard);
  const calls = await storeCalls(store, 4, { from: clock.now() - 3_600_000, everyMs: 60_000 });
  const ids = calls.map(({ id }) => id);
  const trigger = sql`create trigger stuck before insert on call_scores
    when new.call_id = ${sql.lit(ids[1])} begin select raise(abort, 'stuck'); end`;
  await trigger.execute(store.db);
  const config = { starter: 'off', folder: undefined } as ConstructorParameters<typeof Scorecards>[0]['config']; // prettier-ignore
  await using scorecards = new Scorecards({ config, dataDir: store.dataDir, clock, log: silentLog }); // prettier-ignore
  const judge = new CallJudge({
    store,
    scorecards,
    playbooks: {},
    teamsOf: () => [],
    feed: { publish: () => undefined },
    wakeOutbox: () => undefined,
    node: 'node-1',
    clock,
    log: silentLog,
  });
  const scored = async (): Promise<string[]> => {
    const rows = await store.db.selectFrom('call_scores').select('call_id').execute();
    return rows.map(({ call_id }) => call_id).toSorted();
  };
  const passUntil = (isDone: () => Promise<boolean>) =>
    until(async () => {
      await clock.pass(5_000);
      return isDone();
    });
  await passUntil(async () => (await scored()).length === 3);
  expect(await scored()).toEqual([ids[0], ids[2], ids[3]].toSorted());
  await sql`drop trigger stuck`.execute(store.db);
  await passUntil(async () => (await scored()).length === 4);
  judge.stop();
});
