import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCrm } from '../../support/crm/crm.ts';
import { violations } from '../../support/crm/delivery-checker.ts';
import { OutboxRun } from '../../support/crm/outbox-run.ts';
import { enqueue, eventOf, outboxOn, secret } from '../../support/crm/outbox.ts';
import { straceMissing } from '../../support/faults/strace.ts';
import { postgresWire } from '../../support/store/postgres-wire.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';
import { enqueueEvent } from '../../../src/outbox/enqueue.ts';
import type { NewCallEvent } from '../../../src/protocol/events.ts';
import type { Store } from '../../../src/store/store.ts';

/** An event whose envelope is about so long. */
const enqueueLong = (store: Store, callId: string, bytes: number) =>
  store.transaction((tx) => {
    const event = eventOf(callId, 'call.transcript');
    const text = 'é'.repeat(bytes / 2);
    return enqueueEvent(tx, { ...event, data: { ...event.data, text } } as NewCallEvent);
  });

describe('events of a size that nobody expects', () => {
  test('an event of more than 1 MiB is parked at once with its size; other calls go on', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret]);
    await using outbox = await outboxOn(store, crm.url);
    await enqueue(store, 'call_long');
    await enqueueLong(store, 'call_long', 1_200_000);
    await enqueue(store, 'call_long');
    await enqueue(store, 'call_short');
    outbox.wake();
    const parked = await until(async () => {
      const { items } = await outbox.deliveries.list({ state: 'parked', limit: 9 });
      return items.length > 0 && items;
    });
    expect(parked.map(({ call_id, sequence }) => [call_id, sequence])).toEqual([
      ['call_long', 3],
      ['call_long', 2],
    ]);
    expect(parked[1]!.reason).toMatch(
      /the event has 120\d{4} bytes; at most 1048576 are delivered/,
    );
    await until(() => crm.arrivals.length === 2);
    expect(await outbox.deliveries.releaseCall('call_long')).toBe(1);
    await until(() => crm.arrivals.length === 3);
    expect(crm.requests.map((request) => request.event.sequence).sort()).toEqual([1, 1, 3]);
  });

  test('an endpoint that chose skipping gets a marker in its place', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret]);
    await using outbox = await outboxOn(store, crm.url, {
      config: {
        webhookUrl: undefined,
        webhookSecret: undefined,
        endpoints: [{ name: 'webhook', url: crm.url, secrets: [secret], ordering: 'skip' }],
      },
    });
    await enqueueLong(store, 'call_long', 1_200_000);
    await enqueue(store, 'call_long');
    outbox.wake();
    await until(() => crm.arrivals.length === 2);
    expect(crm.requests.map((request) => request.event.type)).toEqual([
      'call.skipped',
      'call.transcript',
    ]);
  });

  test('a backlog of long events is read piece by piece and arrives whole and in order', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret]);
    await using outbox = await outboxOn(store, crm.url, { config: { pollMs: 60_000 } });
    for (let event = 0; event < 20; event++) await enqueueLong(store, 'call_1', 900_000);
    outbox.wake();
    await until(() => crm.arrivals.length === 20);
    expect(crm.requests.map((request) => request.event.sequence)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });
});

test.skipIf(straceMissing)(
  'no port is left for a connection: a failed attempt, tried again, and the process goes on',
  async () => {
    await using folder = await temporaryFolder();
    await using crm = await startCrm([secret]);
    const trace = join(folder.path, 'trace');
    const run = new OutboxRun();
    const node = run.start(
      { dataDir: join(folder.path, 'data'), crm },
      { CALLS: '2', EVENTS: '3' },
      ['-e', 'trace=connect', '-e', 'inject=connect:error=EADDRNOTAVAIL:when=1..3', '-o', trace],
    );
    await node.ended;
    run.note(node);
    expect(readFileSync(trace, 'utf8').match(/EADDRNOTAVAIL.*INJECTED/g)).toHaveLength(3);
    expect(run.crashes).toBe(0);
    expect(run.acknowledged.size).toBe(6);
    expect(violations(run.history(crm))).toEqual([]);
  },
  120_000,
);

describe('old events', () => {
  test('go step by step from the first seconds after the start, with what an older version left behind', async () => {
    await using store = await temporaryStore();
    const old = Date.now() - 40 * 86_400_000;
    for (let call = 0; call < 50; call++)
      await store.transaction(async (tx) => {
        for (let event = 0; event < 60; event++)
          await enqueueEvent(tx, eventOf(`call_${call}`, 'call.transcript', old));
      });
    // An older version left deliveries behind whose event is gone.
    await store.db
      .insertInto('deliveries')
      .values({
        endpoint: 'crm',
        event_id: 'evt_0',
        call_id: 'call_gone',
        sequence: 1,
        type: 'call.started',
        state: 'delivered',
        attempts: 1,
        first_attempt_at: old,
        last_attempt_at: old,
        settled_at: old,
        last_status: 200,
        last_error: null,
        last_answer: null,
        history: null,
        progress: null,
      }) // prettier-ignore
      .execute();
    await using outbox = await outboxOn(store, 'http://127.0.0.1:1/');
    await until(async () => {
      const left = await store.db.selectFrom('events').select('id').limit(1).execute();
      return left.length === 0;
    });
    await until(
      async () =>
        (await store.db.selectFrom('deliveries').select('event_id').execute()).length === 0,
    );
    expect(await store.db.selectFrom('lanes').select('call_id').execute()).toEqual([]);
    expect(await outbox.health!()).toEqual({ outbox: { state: 'ok' } });
  }, 60_000);
});

describe.skipIf(postgresMissing !== undefined)('a database that fails at a bad moment', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]();
  });

  test('after an operator’s change: the change stands, and the process goes on', async () => {
    await using wire = await postgresWire(await postgres.newDatabase());
    await using store = await temporaryStore({ databaseUrl: wire.url });
    await using crm = await startCrm([secret]);
    await using outbox = await outboxOn(store, crm.url, { config: { pollMs: 60_000 } });
    // The dispatcher reads the endpoints anew after the change: that answer never comes.
    wire.state.cutAt = 'disabledAt';
    expect(await outbox.deliveries.enable('webhook')).toBe(true);
    await until(() => wire.state.cuts === 1);
    await enqueue(store, 'call_1');
    outbox.wake();
    await until(() => crm.arrivals.length === 1);
  }, 60_000);
});
