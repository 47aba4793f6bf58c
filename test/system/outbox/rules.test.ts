import { describe, expect, test } from 'vitest';
import { violations, type Issued } from '../../support/crm/delivery-checker.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { enqueue, eventOf, outboxOn, secret } from '../../support/crm/outbox.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';
import { createLog } from '../../../src/lib/log.ts';
import { newWebhookSecret } from '../../../src/lib/webhook-signature.ts';
import { enqueueEvent } from '../../../src/outbox/enqueue.ts';
import type { Store } from '../../../src/store/store.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

async function several(store: Store, callId: string, count: number): Promise<Issued[]> {
  const issued: Issued[] = [];
  for (let event = 0; event < count; event++) issued.push(await enqueue(store, callId));
  return issued;
}

/** The waits of the schedule are hours: what waits is made due, as an operator's retry would. */
async function hurry(store: Store): Promise<void> {
  await store.db
    .updateTable('lanes')
    .set({ next_attempt_at: 0 })
    .where('next_attempt_at', '>', 0)
    .execute();
}

const acknowledged = (issued: Issued[]) => new Set(issued.map((event) => event.id));

describe('the delivery contract', () => {
  test('a call waits behind its head while others go on', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret], ({ event }) =>
      event.call.id === 'call_bad' ? 500 : 200,
    );
    await using outbox = await outboxOn(store, crm.url);
    const bad = await several(store, 'call_bad', 3);
    const good = await several(store, 'call_good', 30);
    outbox.wake();
    await until(() => crm.arrivals.length === 30);
    await until(() => crm.requests.some((request) => request.event.call.id === 'call_bad'));
    const tried = new Set(
      crm.requests
        .filter((request) => request.event.call.id === 'call_bad')
        .map((request) => request.event.sequence),
    );
    expect([...tried]).toEqual([1]);
    crm.behave = undefined;
    await hurry(store);
    outbox.wake();
    await until(() => crm.arrivals.length === 33);
    const issued = [...bad, ...good];
    expect(
      violations({
        issued,
        acknowledged: acknowledged(issued),
        arrivals: crm.arrivals,
        crashes: 0,
      }),
    ).toEqual([]);
  });

  test('an endpoint that fails is told when it begins, with the reason, and not at each attempt', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret], () => 500);
    const lines: { msg: string; reason?: string; callId?: string }[] = [];
    const log = createLog({
      destination: { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[0]) },
    });
    await using outbox = await outboxOn(store, crm.url, { log });
    for (const call of ['call_1', 'call_2', 'call_3', 'call_4']) await enqueue(store, call);
    const begins = () =>
      lines.filter(({ msg }) => msg.startsWith('endpoint does not take events')).length;
    await until(async () => {
      await hurry(store);
      outbox.wake();
      return begins() > 0 && crm.requests.length > 8;
    });
    expect(begins()).toBe(1);
    const first = lines.filter(({ msg }) => msg === 'event not delivered yet');
    expect(new Set(first.map(({ callId }) => callId)).size).toBe(first.length);
    expect(lines.every(({ reason }) => reason?.includes('500'))).toBe(true);
  });

  test('an endpoint that refuses connections is told at its first failure, and what is stuck is one row a call', async () => {
    await using store = await temporaryStore();
    const lines: { msg: string; reason?: string }[] = [];
    const log = createLog({
      destination: { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[0]) },
    });
    const crm = await startCrm([secret]);
    const { url } = crm;
    await crm[Symbol.asyncDispose]();
    await using outbox = await outboxOn(store, url, { log });
    for (const call of ['call_1', 'call_2']) await several(store, call, 3);
    outbox.wake();
    const health = await until(async () => (await outbox.health?.())?.['delivery']);
    expect(health).toMatchObject({
      state: 'degraded',
      detail: expect.stringMatching(
        /^webhook takes no events since [\d:]+ UTC: .*ECONNREFUSED/,
      ) as string,
    });
    expect(lines.filter(({ msg }) => msg.startsWith('endpoint does not take events'))).toHaveLength(
      1,
    );
    const list = async () => (await outbox.deliveries.list({ byCall: true, limit: 9 })).items;
    const stuck = await until(async () => {
      const items = await list();
      return items.every(({ reason }) => reason !== null) && items;
    });
    expect(
      stuck.map(({ call_id, sequence, behind, reason }) => [
        call_id,
        sequence,
        behind,
        /ECONNREFUSED/.test(reason ?? ''),
      ]),
    ).toEqual([
      ['call_2', 1, 2, true],
      ['call_1', 1, 2, true],
    ]);
  });

  test('attempts repeat the id and the bytes, with a new time and signature', async () => {
    await using store = await temporaryStore();
    let fail = true;
    await using crm = await startCrm([secret], () => (fail ? 503 : 200));
    const clock = new TestClock(1);
    await using outbox = await outboxOn(store, crm.url, { clock });
    const [event] = await several(store, 'call_1', 1);
    outbox.wake();
    await until(() => crm.requests.length === 1);
    fail = false;
    clock.setWallAhead(5_000); // the signature's clock counts seconds
    await hurry(store);
    outbox.wake();
    await until(() => crm.arrivals.length === 1);
    const [first, last] = [crm.requests[0]!, crm.requests.at(-1)!];
    expect(last.body.equals(first.body)).toBe(true);
    expect(last.headers['webhook-id']).toBe(event!.id);
    expect(first.headers['webhook-id']).toBe(event!.id);
    expect(last.headers['webhook-timestamp']).not.toBe(first.headers['webhook-timestamp']);
  });

  test('an event that is always refused parks its call with a reason; release, retry and replay work', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret], ({ event }) => (event.sequence === 3 ? 422 : 200));
    await using outbox = await outboxOn(store, crm.url, { config: { refusedTries: 2 } });
    const issued = await several(store, 'call_1', 6);
    outbox.wake();
    const parked = await until(async () => {
      await hurry(store);
      outbox.wake();
      const { items } = await outbox.deliveries.list({ limit: 10, state: 'parked' });
      return items.length === 4 && items;
    });
    expect(parked.map((item) => item.sequence).sort()).toEqual([3, 4, 5, 6]);
    expect(parked.find((item) => item.sequence === 3)).toMatchObject({
      status: 422,
      reason: 'the endpoint answered 422',
      answer: 'status 422',
      attempts: 2,
    });
    expect(crm.arrivals.map((arrival) => arrival.sequence)).toEqual([1, 2]);
    // Later events wait with the others.
    issued.push(await enqueue(store, 'call_1'));
    expect((await outbox.deliveries.list({ limit: 10, state: 'parked' })).items).toHaveLength(5);
    await until(async () =>
      ((await outbox.health!())['outbox']!.detail ?? '').includes('1 call is parked'),
    );

    expect(await outbox.deliveries.releaseCall('call_1')).toBe(4);
    await until(() => crm.arrivals.length === 6);
    expect(crm.arrivals.map((arrival) => arrival.sequence)).toEqual([1, 2, 4, 5, 6, 7]);

    crm.behave = undefined;
    const head = parked.find((item) => item.sequence === 3)!;
    expect(await outbox.deliveries.retry(head.id)).toBe(1);
    await until(() => crm.arrivals.length === 7);
    expect(crm.arrivals.at(-1)).toMatchObject({ sequence: 3 });
    // The receiver has it a moment before the table says so.
    const detail = await until(async () => {
      const found = await outbox.deliveries.find(head.id);
      return found?.state === 'delivered' && found;
    });
    expect(detail).toMatchObject({
      state: 'delivered',
      history: [{ status: 422 }, { status: 422 }, { status: 200, error: null }],
    });

    expect(await outbox.deliveries.retryCall('call_1', 5)).toBe(3);
    await until(() => crm.arrivals.length === 10);
    expect(crm.arrivals.slice(-3).map((arrival) => arrival.sequence)).toEqual([5, 6, 7]);
  });

  test('an endpoint that chose skipping gets a marker with the number of the event that it refuses', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret], ({ event }) =>
      event.sequence === 2 && event.type !== 'call.skipped' ? 400 : 200,
    );
    await using outbox = await outboxOn(store, crm.url, {
      config: {
        webhookUrl: undefined, webhookSecret: undefined, refusedTries: 1,
        endpoints: [{ name: 'skipper', url: crm.url, secrets: [secret], ordering: 'skip' }],
      },
    }); // prettier-ignore
    const issued = await several(store, 'call_1', 3);
    outbox.wake();
    await until(() => crm.arrivals.length === 3);
    expect(crm.arrivals.map((arrival) => arrival.sequence)).toEqual([1, 2, 3]);
    const marker = crm.requests.find((request) => request.event.type === 'call.skipped')!.event;
    expect(marker).toMatchObject({
      sequence: 2,
      call: { id: 'call_1' },
      data: { event_id: issued[1]!.id, type: 'call.transcript', status: 400 },
    });
    await until(
      async () => (await outbox.deliveries.list({ limit: 5, state: 'skipped' })).items.length === 1,
    );
  });

  test('410 switches the endpoint off and keeps everything; switched on, each call goes on from its head', async () => {
    await using store = await temporaryStore();
    let gone = true;
    await using crm = await startCrm([secret], () => (gone ? 410 : 200));
    await using outbox = await outboxOn(store, crm.url);
    const issued = [...(await several(store, 'call_1', 3)), ...(await several(store, 'call_2', 2))];
    outbox.wake();
    await until(() => outbox.notes!().join().includes('webhook is switched off'));
    // Requests that were on their way have arrived when their attempts are written down.
    await until(async () => {
      const { items } = await outbox.deliveries.list({ limit: 10 });
      return items.reduce((sum, { attempts }) => sum + attempts, 0) === crm.requests.length;
    });
    const requests = crm.requests.length;
    gone = false;
    outbox.wake();
    issued.push(...(await several(store, 'call_1', 1)));
    // It has looked at the new event, and sends nothing to an endpoint that is off.
    await until(async () => (await outbox.deliveries.list({ limit: 10 })).items.length === 6);
    expect(crm.requests.length).toBe(requests);
    expect(outbox.notes!().join()).toContain('webhook is switched off');
    expect(await outbox.deliveries.enable('webhook')).toBe(true);
    await until(() => crm.arrivals.length === 6);
    expect(
      violations({
        issued,
        acknowledged: acknowledged(issued),
        arrivals: crm.arrivals,
        crashes: 0,
      }),
    ).toEqual([]);
  });

  test('429 is given the quiet that it asks for', async () => {
    await using store = await temporaryStore();
    const times: number[] = [];
    await using crm = await startCrm([secret], (_, response) => {
      times.push(performance.now());
      if (times.length > 1) return 200;
      response.writeHead(429, { 'retry-after': '2' }).end();
      return undefined;
    });
    await using outbox = await outboxOn(store, crm.url);
    await Promise.all(['a', 'b', 'c'].map((call) => several(store, call, 1)));
    outbox.wake();
    await until(() => crm.arrivals.length === 3);
    const [first = 0, ...others] = times;
    // Requests that were on their way with the first one aside, nothing came before the time was over.
    expect(others.filter((at) => at - first > 200 && at - first < 1_900)).toEqual([]);
  });

  test('a new secret signs beside the old one until receivers have changed over', async () => {
    await using store = await temporaryStore();
    const [old, next] = [newWebhookSecret(), newWebhookSecret()];
    await using oldCrm = await startCrm([old]);
    await using newCrm = await startCrm([next]);
    const endpoint = { secrets: [next, old] };
    await using outbox = await outboxOn(store, '', {
      config: {
        webhookUrl: undefined, webhookSecret: undefined,
        endpoints: [{ ...endpoint, name: 'a', url: oldCrm.url }, { ...endpoint, name: 'b', url: newCrm.url }],
      },
    }); // prettier-ignore
    await several(store, 'call_1', 20);
    outbox.wake();
    await until(() => oldCrm.arrivals.length === 20 && newCrm.arrivals.length === 20);
    expect(oldCrm.refusedSignatures + newCrm.refusedSignatures).toBe(0);
  });

  test('each endpoint gets the types that it asked for', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret]);
    await using outbox = await outboxOn(store, '', {
      config: {
        webhookUrl: undefined, webhookSecret: undefined,
        endpoints: [{ name: 'ends', url: crm.url, secrets: [secret], events: ['call.ended', 'call.summary'] }],
      },
    }); // prettier-ignore
    for (const type of ['call.started', 'call.transcript', 'call.ended', 'call.summary'] as const)
      await enqueue(store, 'call_1', type);
    outbox.wake();
    await until(() => crm.arrivals.length === 2);
    expect(crm.requests.map((request) => request.event.type)).toEqual([
      'call.ended',
      'call.summary',
    ]);
  });

  test('erasing a call removes its events, also while one is on its way', async () => {
    await using store = await temporaryStore();
    const answer = Promise.withResolvers<number>();
    await using crm = await startCrm([secret], () => answer.promise);
    await using outbox = await outboxOn(store, crm.url);
    await several(store, 'call_1', 3);
    outbox.wake();
    await until(() => crm.requests.length === 1);
    await store.transaction((tx) => outbox.eraseCall(tx, 'call_1'));
    answer.resolve(200);
    await outbox.drain!(5_000);
    for (const table of ['events', 'deliveries', 'lanes'] as const)
      expect([table, await store.db.selectFrom(table).selectAll().execute()]).toEqual([table, []]);
    expect(crm.requests).toHaveLength(1);
    expect((await enqueue(store, 'call_1')).sequence).toBe(4);
  });

  test('delivered events go after their time, undelivered ones after a longer one', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret], ({ event }) =>
      event.call.id === 'stuck' ? 500 : 200,
    );
    const day = 86_400_000;
    await enqueue(store, 'before any endpoint', 'call.started', Date.now() - 100 * day);
    await using outbox = await outboxOn(store, crm.url, {
      config: { retainDeliveredMs: 10 * day, retainUndeliveredMs: 50 * day },
    });
    for (const [call, age] of [
      ['old', 11],
      ['new', 9],
      ['stuck', 11],
    ] as const)
      await enqueue(store, call, 'call.started', Date.now() - age * day);
    outbox.wake();
    await until(() => crm.arrivals.length === 2);
    await outbox[Symbol.asyncDispose]();
    // The house is kept at each start and every minute.
    await using second = await outboxOn(store, crm.url, {
      config: { retainDeliveredMs: 10 * day, retainUndeliveredMs: 50 * day },
    });
    expect(second.name).toBe('outbox');
    const left = await until(async () => {
      const rows = await store.db
        .selectFrom('events')
        .select('call_id')
        .orderBy('call_id')
        .execute();
      return rows.length === 2 && rows;
    });
    expect(left.map((row) => row.call_id)).toEqual(['new', 'stuck']);
  });

  test('a process that lost a claim writes nothing: zero rows change', async () => {
    await using store = await temporaryStore();
    const answer = Promise.withResolvers<number>();
    await using crm = await startCrm([secret], () => answer.promise);
    const clock = new TestClock(1);
    await using outbox = await outboxOn(store, crm.url, { clock });
    const [event] = await several(store, 'call_1', 1);
    outbox.wake();
    await until(() => crm.requests.length === 1);
    await store.db
      .updateTable('lanes')
      .set({ claim_id: 'claim_of_another', claim_until: Date.now() + 600_000 })
      .execute();
    answer.resolve(200);
    await outbox.drain!(5_000);
    const [row] = await store.db.selectFrom('deliveries').selectAll().execute();
    expect(row).toMatchObject({ event_id: event!.id, state: 'waiting', attempts: 0 });
    expect((await store.db.selectFrom('lanes').select('claim_id').execute())[0]!.claim_id).toBe(
      'claim_of_another',
    );
  });

  test('text of every kind arrives as the bytes that were signed', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret]);
    await using outbox = await outboxOn(store, crm.url);
    const texts = [
      '\u0000',
      '\ud800',
      '\udfff x',
      '\u202e right to left',
      'é'.normalize('NFD'),
      '🎧'.repeat(1_000),
      'word '.repeat(200_000),
    ];
    for (const text of texts) {
      const event = eventOf('call_1');
      await store.transaction((tx) =>
        enqueueEvent(tx, { ...event, data: { ...event.data, text } } as typeof event),
      );
    }
    outbox.wake();
    await until(() => crm.arrivals.length === texts.length);
    expect(crm.refusedSignatures).toBe(0);
    expect(crm.requests.map((request) => (request.event['data'] as { text: string }).text)).toEqual(
      texts,
    );
  });
});
