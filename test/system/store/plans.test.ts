import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testBridge } from '../../support/bridge/test-bridge.ts';
import { liveOn } from '../../support/store/node-life.ts';
import { namesInTheMiddle, storeRows } from '../../support/store/many-rows.ts';
import { until } from '../../support/process/until.ts';
import { explaining, largeTables, PlanLog, type Statement } from '../../support/store/plans.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

const ownServer = postgresMissing === undefined && process.env['TEST_DATABASE_URL'] === undefined;

test.skipIf(!ownServer)(
  'whatever a node asks its database in its life, no statement reads a large table from end to end',
  async () => {
    // The cost of a page out of order is that of a disk without heads: a small table is then looked up like a large one.
    await using postgres = await startPostgres([...explaining, 'random_page_cost=1.1']);
    const databaseUrl = await postgres.newDatabase();
    const untilMs = Date.now();
    await storeRows(databaseUrl, { events: 100_000, untilMs, days: 30, node: 'node-1' });
    const bounds = {
      largeTables: await largeTables(databaseUrl, 10_000),
      rowsRead: 6_000,
      pages: 6_000,
    };
    expect([...bounds.largeTables.keys()]).toEqual(
      expect.arrayContaining(['events', 'deliveries', 'leg_results', 'call_statuses']),
    );
    const log = await PlanLog.since(postgres.dataFolder ?? '');
    expect((await liveOn(databaseUrl, await namesInTheMiddle(databaseUrl), false)).refused).toEqual(
      [],
    );
    {
      await using store = await temporaryStore({ databaseUrl });
      const retentionDays = { calls: 29.9, recordings: 29.8, events: 29.9 };
      await using app = await testBridge({ store, speechUrl: 'http://127.0.0.1:9', config: { retentionDays } }); // prettier-ignore
      expect(await app.bridge.retention.sweep()).toMatchObject({ calls: expect.any(Number) });
      // The look must find this statement: it could not fail otherwise.
      await sql`select count(*) from events where body like '%nobody%'`.execute(store.db);
    }
    // The server writes its log a little later than it answers.
    const statements: Statement[] = [];
    await until(async () => {
      statements.push(...(await log.next(bounds)));
      return statements.some(({ query }) => query.includes('%nobody%'));
    });
    expect(statements.length).toBeGreaterThan(150);
    const faulty = statements.filter(({ faults }) => faults.length > 0);
    expect(faulty.map(({ query, faults }) => [query, ...faults])).toEqual([
      [expect.stringContaining('%nobody%'), expect.stringContaining('whole of events')],
    ]);
  },
  180_000,
);
