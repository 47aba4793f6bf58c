import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { sql } from 'kysely';
import { systemClock } from '../../../src/lib/clock.ts';
import { OutboxConfig } from '../../../src/outbox/config.ts';
import { startOutbox } from '../../../src/outbox/outbox.ts';
import { migrate, migrations } from '../../../src/store/migrations.ts';
import { check, violations, type Issued } from '../../support/crm/delivery-checker.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { enqueue, outboxOn, secret, silent } from '../../support/crm/outbox.ts';
import { postgresWire } from '../../support/store/postgres-wire.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

// A cluster of its own is started first: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

describe.skipIf(postgresMissing !== undefined)('several nodes on one Postgres', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]();
  });

  test('that start at once on an empty database all start', async () => {
    await using crm = await startCrm([secret]);
    for (let round = 0; round < 5; round++) {
      const databaseUrl = await postgres.newDatabase();
      const names = ['crm', 'archive', 'pager'];
      const started = await Promise.all(
        names.map(async (_, node) => {
          const store = await temporaryStore({ databaseUrl });
          const endpoints = [...names.slice(node), ...names.slice(0, node)].map((name) => ({
            name,
            url: crm.url,
            secrets: [secret],
          }));
          return { store, outbox: await outboxOn(store, crm.url, { config: { endpoints } }) };
        }),
      );
      const rows = await started[0]!.store.db
        .selectFrom('endpoints')
        .select('name')
        .where('active', '=', 1)
        .orderBy('name')
        .execute();
      expect(rows.map((row) => row.name)).toEqual(['archive', 'crm', 'pager', 'webhook']);
      for (const { store, outbox } of started) {
        await outbox[Symbol.asyncDispose]();
        await store[Symbol.asyncDispose]();
      }
    }
  });

  test('a node that is cut off from the database sends nothing more, and another goes on', async () => {
    const databaseUrl = await postgres.newDatabase();
    const wire = await postgresWire(databaseUrl);
    await using store = await temporaryStore({ databaseUrl });
    const from: string[] = [];
    await using crm = await startCrm([secret], async ({ headers }) => {
      from.push(String(headers['x-node']));
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 200;
    });
    const config = (node: string) => ({
      leaseMs: 6_000,
      endpoints: [{ name: 'crm', url: crm.url, secrets: [secret], headers: { 'x-node': node } }],
    });
    const alone = await temporaryStore({ databaseUrl: wire.url });
    const cutOff = await startOutbox({
      store: alone,
      log: silent,
      config: OutboxConfig.parse({ pollMs: 100, ...config('cut off') }),
    });
    const issued: Issued[] = [];
    for (let event = 0; event < 40; event++) issued.push(await enqueue(store, 'call_1'));
    cutOff.wake();
    await until(() => from.length >= 3);
    wire.state.silent = true;
    await using other = await startOutbox({
      store,
      log: silent,
      config: OutboxConfig.parse({ pollMs: 100, ...config('other') }),
    });
    expect(other.name).toBe('outbox');
    await until(() => new Set(crm.arrivals.map((arrival) => arrival.id)).size === 40);
    // In turn, never beside each other: whoever cannot reach the database has no lease to send under.
    expect(from.lastIndexOf('cut off')).toBeLessThan(from.indexOf('other'));
    const acknowledged = new Set(issued.map((event) => event.id));
    expect(violations({ issued, acknowledged, arrivals: crm.arrivals, crashes: 1 })).toEqual([]);
    await wire[Symbol.asyncDispose]();
    await cutOff[Symbol.asyncDispose]();
    await alone[Symbol.asyncDispose]();
  });

  test('an older node goes on while a newer one brings the schema further, and starts anew on it', async () => {
    const databaseUrl = await postgres.newDatabase();
    await using older = await temporaryStore({ databaseUrl });
    await using newer = await temporaryStore({ databaseUrl });
    await using crm = await startCrm([secret]);
    await using outbox = await outboxOn(older, crm.url);
    const next = {
      name: '999-next',
      up: async (db: Parameters<(typeof migrations)[number]['up']>[0]) => {
        await sql`alter table events add column colour text`.execute(db);
        await sql`alter table lanes add column weight integer not null default 0`.execute(db);
        await sql`create table shelves (id text primary key)`.execute(db);
      },
    };
    const issued: Issued[] = [];
    let migrated: Promise<unknown> | undefined;
    for (let event = 0; event < 60; event++) {
      issued.push(await enqueue(older, `call_${event % 5}`));
      outbox.wake();
      if (event === 20)
        migrated = migrate(newer.db, 'postgres', systemClock, [...migrations, next]);
    }
    await migrated;
    await until(() => crm.arrivals.length >= 60);
    const acknowledged = new Set(issued.map((event) => event.id));
    expect(violations({ issued, acknowledged, arrivals: crm.arrivals, crashes: 0 })).toEqual([]);
    await using again = await temporaryStore({ databaseUrl });
    await enqueue(again, 'call_1');
  });

  test('nodes whose clocks differ by minutes do no work twice: the database’s clock decides', async () => {
    const databaseUrl = await postgres.newDatabase();
    await using crm = await startCrm([secret]);
    const minutes = [-4, 0, 4]; // further off, receivers refuse the signature's time
    const nodes = await Promise.all(
      minutes.map(async (offset) => {
        const clock = { ...systemClock, now: () => Date.now() + offset * 60_000 };
        const store = await temporaryStore({ databaseUrl, clock });
        return { clock, store, outbox: await outboxOn(store, crm.url, { clock }) };
      }),
    );
    const issued: Issued[] = [];
    for (let event = 0; event < 60; event++) {
      const { store, outbox, clock } = nodes[event % nodes.length]!;
      // Each call has events of every node: the numbers decide the order, not the times.
      issued.push(await enqueue(store, `call_${event % 4}`, 'call.transcript', clock.now()));
      outbox.wake();
    }
    await until(() => crm.arrivals.length >= 60);
    for (const { store, outbox } of nodes) {
      await outbox[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    }
    const acknowledged = new Set(issued.map((event) => event.id));
    const history = { issued, acknowledged, arrivals: crm.arrivals, crashes: 0 };
    expect(violations(history)).toEqual([]);
    expect(check(history).repeated).toBe(0);
  });

  test('an older copy of the database repeats with the old ids and bytes, and goes on', async () => {
    const databaseUrl = await postgres.newDatabase();
    await using crm = await startCrm([secret]);
    const before: Issued[] = [];
    const lost: Issued[] = [];
    {
      await using store = await temporaryStore({ databaseUrl });
      await (await outboxOn(store, crm.url))[Symbol.asyncDispose]();
      for (let event = 0; event < 5; event++) before.push(await enqueue(store, 'call_1'));
    }
    // As a backup, or a replica that lags: what happens from here on is not in it.
    const copyUrl = await postgres.newDatabase(databaseUrl);
    {
      await using store = await temporaryStore({ databaseUrl });
      await using outbox = await outboxOn(store, crm.url);
      for (let event = 0; event < 2; event++) lost.push(await enqueue(store, 'call_1'));
      outbox.wake();
      await until(() => crm.arrivals.length === 7);
    }
    await using store = await temporaryStore({ databaseUrl: copyUrl });
    // As webhooks.md says, so that no number is given a second time.
    await sql`update event_calls set last_sequence = last_sequence + 1000`.execute(store.db);
    await using outbox = await outboxOn(store, crm.url);
    const after = await enqueue(store, 'call_1');
    outbox.wake();
    await until(() => crm.arrivals.some((arrival) => arrival.id === after.id));
    const issued = [...before, ...lost, after];
    const acknowledged = new Set(issued.map((event) => event.id));
    expect(violations({ issued, acknowledged, arrivals: crm.arrivals })).toEqual([]);
    expect(check({ issued, acknowledged, arrivals: crm.arrivals }).repeated).toBe(5);
    expect(after.sequence).toBe(1_006);
  });
});
