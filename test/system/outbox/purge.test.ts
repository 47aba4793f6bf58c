import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { eraseCall } from '../../../src/outbox/event-rows.ts';
import { OutboxTables } from '../../../src/outbox/tables.ts';
import { firstPlace } from '../../../src/outbox/upkeep-rows.ts';
import { storeRows } from '../../support/store/many-rows.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

test.skipIf(postgresMissing !== undefined)(
  'nodes purge beside one another and beside erasures: everything goes, and nobody waits for another in a circle',
  async () => {
    await using postgres = await startPostgres();
    const databaseUrl = await postgres.newDatabase();
    const nowMs = Date.now();
    await storeRows(databaseUrl, {
      events: 8_000,
      untilMs: nowMs - 86_400_000,
      days: 30,
      node: 'n',
    });
    await using store = await temporaryStore({ databaseUrl });
    const tables = new OutboxTables(store);
    const callIds = (await store.db.selectFrom('calls').select('id').orderBy('id').execute()).map(({ id }) => id); // prettier-ignore
    // More than one step of rows waits at the front. They stay, and hold up nothing behind them.
    const waiting = callIds.slice(0, 10);
    await store.db.updateTable('deliveries').set({ state: 'parked' }).where('call_id', 'in', waiting).execute(); // prettier-ignore
    const node = async (): Promise<number> => {
      let removed = 0;
      for (let place = firstPlace; ;) {
        const step = await tables.upkeep.purge(nowMs, true, 200, place);
        removed += step.removed;
        place = step.place;
        if (step.looked < 200) return removed;
      }
    };
    const erased = callIds.slice(10).filter((_, at) => at % 3 === 0);
    const erasing = async (): Promise<void> => {
      for (const id of erased) await store.transaction((tx) => eraseCall(tx, id, nowMs));
    };
    const [first, second] = await Promise.all([node(), node(), erasing()]);
    // Rows that one sweep held while the other came by go with the next one.
    const rest = await node();
    expect(first).toBeGreaterThan(0);
    expect(second).toBeGreaterThan(0);
    expect(first + second + rest).toBeLessThanOrEqual((callIds.length - waiting.length) * 40);
    for (const table of ['events', 'deliveries', 'lanes'] as const) {
      const left = await store.db.selectFrom(table).select('call_id').distinct().orderBy('call_id').execute(); // prettier-ignore
      expect(left.map(({ call_id }) => call_id)).toEqual(waiting);
    }
    const { rows } = await sql<{ deadlocks: number }>`
      select deadlocks from pg_stat_database where datname = current_database()`.execute(store.db);
    expect(rows).toEqual([{ deadlocks: 0 }]);
  },
  60_000,
);
