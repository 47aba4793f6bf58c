import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import type { Outbox } from '../../../src/outbox/outbox.ts';
import { problemHandler } from '../../../src/port/problem.ts';
import type { CallDeliveryPage, EndpointPage } from '../../../src/protocol/delivery-reports.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { enqueue, outboxOn, secret } from '../../support/crm/outbox.ts';
import { until } from '../../support/process/until.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

vi.setConfig({ testTimeout: 120_000 });

let postgres: TestPostgres | undefined;
beforeAll(async () => {
  if (!postgresMissing) postgres = await startPostgres();
});
afterAll(async () => {
  await postgres?.[Symbol.asyncDispose]();
});

const day = 86_400_000;

for (const kind of ['sqlite', 'postgres'] as const)
  describe.skipIf(kind === 'postgres' && postgresMissing !== undefined)(
    `calls at endpoints on ${kind}`,
    () => {
      const open = async () =>
        kind === 'sqlite'
          ? temporaryStore()
          : temporaryStore({ databaseUrl: await postgres!.newDatabase() });

      test('a call is one row at each endpoint, with the event that the others wait for, and can be picked out', async () => {
        await using store = await open();
        await using crm = await startCrm([secret], ({ event }) =>
          event.type === 'call.summary' ? 422 : 200,
        );
        await using second = await startCrm([secret]);
        const other = { name: 'other', url: second.url, secrets: [secret] };
        await using outbox = await outboxOn(store, crm.url, {
          config: { refusedTries: 1, endpoints: [{ ...other, events: ['call.ended'] }] },
        });
        await using api = await serve(outbox);
        const nowMs = Date.now();
        const old = newId('call', nowMs - 3 * day);
        const whole = newId('call', nowMs - 2_000);
        const stuck = newId('call', nowMs - 1_000);
        for (const type of ['call.started', 'call.ended'] as const) {
          await enqueue(store, old, type);
          await enqueue(store, whole, type);
          await enqueue(store, stuck, type);
        }
        for (const type of ['call.summary', 'call.completed'] as const)
          await enqueue(store, stuck, type);
        outbox.wake();
        await until(async () => (await api.calls('state=parked')).items.length === 1);
        await until(async () => (await api.calls('state=pending')).items.length === 0);

        const all = await api.calls('');
        expect(all.items.map(({ call_id, endpoint }) => [call_id, endpoint])).toEqual(
          [stuck, whole, old].flatMap((id) => ['other', 'webhook'].map((name) => [id, name])),
        );
        const [parked] = (await api.calls('state=parked')).items;
        expect(parked).toMatchObject({
          call_id: stuck,
          endpoint: 'webhook',
          state: 'parked',
          from: '+15550100123',
          test: false,
          counts: { delivered: 2, pending: 0, parked: 2, skipped: 0 },
          head: { type: 'call.summary', sequence: 3, attempts: 1, status: 422 },
        });
        expect(parked?.head?.reason).toContain('422');
        const picked = async (query: string) =>
          (await api.calls(query)).items.map(({ call_id }) => call_id);
        expect(await picked('endpoint=other')).toEqual([stuck, whole, old]);
        expect(await picked('type=call.completed')).toEqual([stuck]);
        expect(await picked('state=delivered&endpoint=webhook')).toEqual([whole, old]);
        expect(await picked(`call_id=${whole}`)).toEqual([whole, whole]);
        const yesterday = new Date(nowMs - day).toISOString();
        expect(await picked(`endpoint=other&from_date=${yesterday}`)).toEqual([stuck, whole]);
        expect(await picked(`endpoint=other&to_date=${yesterday}`)).toEqual([old]);
        const first = await api.calls('limit=4');
        const rest = await api.calls(`limit=4&cursor=${first.next_cursor ?? ''}`);
        expect([...first.items, ...rest.items]).toEqual(all.items);
        for (const query of ['stat=parked', 'type=call.nothing', 'from_date=yesterday'])
          expect((await fetch(`${api.url}/api/deliveries/calls?${query}`)).status).toBe(400);

        // Only the named endpoint lets the call go on.
        const release = (endpoint: string) =>
          fetch(`${api.url}/api/calls/${stuck}/deliveries/release`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ endpoint }),
          }).then((response) => response.json());
        expect(await release('other')).toEqual({ changed: 0 });
        expect(await release('webhook')).toEqual({ changed: 1 });
      });

      test('the health of an endpoint is its last success, its last failure with the reason, and its calls', async () => {
        await using store = await open();
        let isWell = true;
        await using crm = await startCrm([secret], () => (isWell ? 200 : 503));
        await using outbox = await outboxOn(store, crm.url);
        await using api = await serve(outbox);
        const [fresh] = (await api.endpoints()).items;
        expect(fresh).toMatchObject({
          name: 'webhook',
          host: new URL(crm.url).host,
          last_success_at: null,
          last_failure: null,
          waiting_calls: 0,
          parked_calls: 0,
        });
        const well = newId('call');
        await enqueue(store, well, 'call.started');
        outbox.wake();
        await until(async () => (await api.endpoints()).items[0]?.last_success_at !== null);
        isWell = false;
        // The newest events of a long call were never tried: the first of them holds the others.
        const long = newId('call');
        for (let event = 0; event < 60; event++) await enqueue(store, long);
        outbox.wake();
        const ill = await until(async () => {
          const [one] = (await api.endpoints()).items;
          return one?.last_failure != null && one;
        });
        expect(ill).toMatchObject({
          last_failure: { status: 503, call_id: long },
          waiting_calls: 1,
          parked_calls: 0,
        });
        expect(ill.last_failure?.reason).toContain('503');
        expect(ill.last_failure!.at > ill.last_success_at!).toBe(true);
      });
    },
  );

async function serve(outbox: Outbox) {
  const app = express();
  for (const { router } of outbox.routers!) app.use(router);
  app.use(problemHandler(() => undefined));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const read = async <T>(path: string): Promise<T> => (await fetch(url + path)).json() as T;
  return {
    url,
    calls: (query: string) => read<CallDeliveryPage>(`/api/deliveries/calls?${query}`),
    endpoints: () => read<EndpointPage>('/api/deliveries/endpoints'),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
