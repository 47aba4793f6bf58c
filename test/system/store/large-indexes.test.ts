import pg from 'pg';
import { expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { until } from '../../support/process/until.ts';
import { storeRows } from '../../support/store/many-rows.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

const index = 'deliveries_by_endpoint';

test.skipIf(postgresMissing !== undefined)(
  'an index of a large table is made while writers go on; one that was broken off is made anew',
  async () => {
    await using postgres = await startPostgres();
    const databaseUrl = await postgres.newDatabase();
    await storeRows(databaseUrl, { events: 50_000, untilMs: Date.now(), days: 30, node: 'node-1' });
    const client = new pg.Client({ connectionString: databaseUrl });
    const reader = new pg.Client({ connectionString: databaseUrl });
    await Promise.all([client.connect(), reader.connect()]);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => client.end());
    stack.defer(() => reader.end());
    const validity = async (): Promise<boolean[]> => {
      const { rows } = await client.query<{ valid: boolean }>(
        'select indisvalid as valid from pg_index join pg_class on pg_class.oid = indexrelid where relname = $1',
        [index],
      );
      return rows.map(({ valid }) => valid);
    };
    const maker = async (): Promise<number | undefined> => {
      const { rows } = await client.query<{ pid: number }>(
        "select pid from pg_stat_activity where query like 'create index concurrently%' and state = 'active' and datname = current_database()",
      );
      return rows[0]?.pid;
    };
    // A long read holds up the end of the making, as a backup does: so it is under way for as long as we like.
    const readOn = async (): Promise<void> => {
      await reader.query('begin isolation level repeatable read');
      await reader.query('select count(*) from deliveries');
    };
    const write = (store: Store, at: number) =>
      store.transaction((tx) =>
        tx
          .insertInto('deliveries')
          .values({
            endpoint: 'other',
            event_id: `evt_new${at}`,
            call_id: 'call_new',
            sequence: at,
            type: 'call.ended',
            state: 'delivered',
            attempts: 1,
          }) // prettier-ignore
          .execute(),
      );

    await client.query(`drop index ${index}`);
    await readOn();
    {
      await using store = await temporaryStore({ databaseUrl });
      const pid = await until(async () => ((await validity()).length === 1 ? maker() : undefined));
      for (let at = 1; at <= 50; at++) await write(store, at);
      expect(await maker()).toBe(pid);
      expect(await validity()).toEqual([false]);
      await client.query('select pg_terminate_backend($1)', [pid]);
      await until(async () => (await maker()) === undefined);
    }
    await reader.query('rollback');
    // An index that was broken off is there, is kept up by every write, and is of use to nobody.
    expect(await validity()).toEqual([false]);

    await readOn();
    await using store = await temporaryStore({ databaseUrl });
    // The remains are dropped first, behind those who may still know of them.
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (let at = 51; at <= 100; at++) await write(store, at);
    await reader.query('rollback');
    await until(async () => (await validity())[0] === true);
    const { rows } = await client.query<{ count: number }>(
      "select count(*)::int as count from deliveries where endpoint = 'other'",
    );
    expect(rows).toEqual([{ count: 100 }]);
    const { rows: plan } = await client.query(
      "explain select 1 from deliveries where endpoint = 'other' order by event_id desc limit 10",
    );
    expect(JSON.stringify(plan)).toContain(index);
  },
  120_000,
);
