import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { eraseCall } from '../../../src/outbox/event-rows.ts';
import { violations } from '../../support/crm/delivery-checker.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { enqueue, outboxOn, secret } from '../../support/crm/outbox.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

// Processes are started one after the other: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 240_000 });

let postgres: TestPostgres | undefined;
beforeAll(async () => {
  if (!postgresMissing) postgres = await startPostgres();
});
afterAll(async () => {
  await postgres?.[Symbol.asyncDispose]();
});

for (const kind of ['sqlite', 'postgres'] as const)
  describe.skipIf(kind === 'postgres' && postgresMissing !== undefined)(
    `delivery on ${kind}`,
    () => {
      const open = async () =>
        kind === 'sqlite'
          ? temporaryStore()
          : temporaryStore({ databaseUrl: await postgres!.newDatabase() });

      test('an event enqueued in a transaction arrives signed', async () => {
        await using store = await open();
        await using crm = await startCrm([secret]);
        await using outbox = await outboxOn(store, crm.url);
        const issued = await enqueue(store, 'call_1', 'call.started');
        outbox.wake();
        await until(() => crm.arrivals.length === 1);
        expect(crm.arrivals[0]).toMatchObject({
          callId: 'call_1',
          sequence: 1,
          id: issued.id,
          digest: issued.digest,
        });
        expect(crm.requests[0]!.headers['content-type']).toBe('application/json');
        const [delivery] = await until(async () => {
          const { items } = await outbox.deliveries.list({ limit: 10, state: 'delivered' });
          return items.length === 1 && items;
        });
        expect(delivery).toMatchObject({
          state: 'delivered',
          attempts: 1,
          status: 200,
          endpoint: 'webhook',
          event_id: issued.id,
        });
      });

      test('a delivery shows its request and its answer, without secrets, until its call is erased', async () => {
        await using store = await open();
        await using crm = await startCrm([secret]);
        let status = 500;
        crm.behave = (request, response) => {
          response
            .writeHead(status, { 'x-request-id': 'r-7' })
            .end(`answer ${status} ${request.headers['authorization']}`);
          return undefined;
        };
        const headers = { authorization: 'Bearer of-the-operator', 'x-tenant': 'north' };
        const endpoint = {
          name: 'webhook',
          url: `${crm.url}?key=in-the-query`,
          secrets: [secret],
          headers,
        };
        await using outbox = await outboxOn(store, crm.url, {
          config: { webhookUrl: undefined, webhookSecret: undefined, endpoints: [endpoint] },
        });
        const issued = await enqueue(store, 'call_1', 'call.started');
        outbox.wake();
        const id = `${issued.id}.webhook`;
        const told = async (count: number) =>
          until(async () => {
            const one = await outbox.deliveries.find(id);
            return one !== undefined && one.attempts >= count && one.exchanges?.[0];
          });
        const failed = await told(1);
        expect(failed.response).toMatchObject({ status: 500, body: 'answer 500 ********' });
        expect(failed.response?.headers['x-request-id']).toBe('r-7');
        expect(failed.request.headers).toMatchObject({
          authorization: '********',
          'x-tenant': '********',
          'webhook-signature': '********',
          'webhook-id': issued.id,
        });
        expect(JSON.parse(failed.request.body ?? '')).toMatchObject({ id: issued.id });
        expect(failed.request.url).toContain('?key=********');
        status = 204;
        await outbox.deliveries.retry(id);
        await until(async () => (await outbox.deliveries.find(id))?.state === 'delivered');
        expect((await told(2)).response).toMatchObject({ status: 204 });
        // Sent again, though it was delivered: the receiver knows it by its id.
        const before = crm.requests.length;
        await outbox.deliveries.retry(id);
        await until(() => crm.requests.length === before + 1);
        expect(crm.requests.at(-1)?.headers['webhook-id']).toBe(issued.id);
        const kept = await store.db.selectFrom('deliveries').selectAll().execute();
        for (const word of ['of-the-operator', 'north', 'in-the-query', secret])
          expect(JSON.stringify(kept)).not.toContain(word);
        await store.transaction((tx) => eraseCall(tx, 'call_1', Date.now()));
        expect(await store.db.selectFrom('deliveries').selectAll().execute()).toEqual([]);
      });

      test('four hundred events of twenty calls arrive once each and in order per call', async () => {
        await using store = await open();
        await using crm = await startCrm([secret]);
        await using outbox = await outboxOn(store, crm.url);
        const issued = await Promise.all(
          Array.from({ length: 400 }, async (_, index) => {
            const event = await enqueue(store, `call_${index % 20}`);
            outbox.wake();
            return event;
          }),
        );
        await until(() => crm.arrivals.length >= 400);
        const acknowledged = new Set(issued.map((event) => event.id));
        expect(violations({ issued, acknowledged, arrivals: crm.arrivals, crashes: 0 })).toEqual(
          [],
        );
        expect(crm.refusedSignatures).toBe(0);
      });
    },
  );
