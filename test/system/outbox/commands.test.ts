import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { describe, expect, test, vi } from 'vitest';
import { problemHandler } from '../../../src/port/problem.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { enqueue, outboxOn, secret } from '../../support/crm/outbox.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { trunkline } from '../../support/process/command.ts';
import { until } from '../../support/process/until.ts';

// Processes are started one after the other: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 240_000 });

const cli = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));

describe('the API and the commands of deliveries', () => {
  test('list, inspect, retry, send again and release, with readable answers to nonsense', async () => {
    await using store = await temporaryStore();
    await using crm = await startCrm([secret], ({ event }) => (event.sequence === 2 ? 422 : 200));
    await using outbox = await outboxOn(store, crm.url, { config: { refusedTries: 1 } });
    const app = express();
    for (const { router } of outbox.routers!) app.use(router);
    app.use(problemHandler(() => undefined));
    const server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (let event = 0; event < 4; event++) await enqueue(store, 'call_1');
    outbox.wake();
    await until(
      async () => (await outbox.deliveries.list({ state: 'parked', limit: 9 })).items.length === 3,
    );

    const get = async (path: string) =>
      (await fetch(url + path)).json() as Promise<{
        items: { id: string; sequence: number }[];
        next_cursor: string | null;
      }>;
    const first = await get('/api/deliveries?limit=3');
    const second = await get(`/api/deliveries?limit=3&cursor=${first.next_cursor}`);
    expect([...first.items, ...second.items].map((item) => item.sequence)).toEqual([4, 3, 2, 1]);
    expect(second.next_cursor).toBeNull();
    expect((await fetch(`${url}/api/deliveries?state=lost`)).status).toBe(400);
    expect((await fetch(`${url}/api/deliveries?stat=parked`)).status).toBe(400);
    expect((await fetch(`${url}/api/deliveries/evt_none.webhook`)).status).toBe(404);
    expect(
      (await fetch(`${url}/api/deliveries/evt_none.webhook/retry`, { method: 'POST' })).status,
    ).toBe(404);

    const listed = trunkline(['deliveries', 'list', '--state', 'parked', '--url', url]);
    expect(await listed.ended).toBe(0);
    expect(listed.lines.filter((line) => line.startsWith('parked'))).toHaveLength(3);
    const head = second.items[0] ?? first.items[2]!;
    const released = trunkline(['deliveries', 'release', 'call_1', '--url', url]);
    expect(await released.ended).toBe(0);
    expect(released.lines.join()).toContain('2 set in motion');
    await until(() => crm.arrivals.length === 3);
    crm.behave = undefined;
    const parked = (await get('/api/deliveries?state=parked')).items[0]!;
    expect(parked.sequence).toBe(2);
    const shown = trunkline(['deliveries', 'show', parked.id, '--url', url]);
    await shown.ended;
    expect(JSON.parse(shown.lines.join(''))).toMatchObject({
      status: 422,
      answer: 'status 422',
      state: 'parked',
    });
    const retried = trunkline(['deliveries', 'retry', parked.id, '--url', url]);
    expect(await retried.ended).toBe(0);
    await until(() => crm.arrivals.length === 4);
    const again = await fetch(`${url}/api/calls/call_1/deliveries/retry`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"from": 3}',
    }); // prettier-ignore
    expect([again.status, await again.json()]).toEqual([202, { changed: 2 }]);
    await until(() => crm.arrivals.length === 6);
    expect(head.id).toMatch(/^evt_/);
    // All at once, whoever's they are: the first of each call takes along what is parked behind it.
    crm.behave = () => 422;
    for (const call of ['call_2', 'call_2', 'call_3']) await enqueue(store, call);
    outbox.wake();
    await until(async () => (await get('/api/deliveries?state=parked')).items.length === 3);
    crm.behave = undefined;
    const arrived = crm.arrivals.length;
    const all = trunkline(['deliveries', 'retry-parked', '--url', url]);
    expect(await all.ended).toBe(0);
    expect(all.lines.join()).toContain('3 events of 2 calls set in motion');
    await until(() => crm.arrivals.length === arrived + 3);
    const none = trunkline(['deliveries', 'retry-parked', '--endpoint', 'webhook', '--url', url]);
    expect(await none.ended).toBe(0);
    expect(none.lines.join()).toContain('nothing is parked');
    const wrong = createServer((_request, response) => void response.writeHead(401).end());
    await new Promise<void>((resolve) => wrong.listen(0, '127.0.0.1', resolve));
    const guarded = `http://127.0.0.1:${(wrong.address() as AddressInfo).port}`;
    for (const args of [['deliveries', 'list'], ['doctor', 'CA1'], ['call']]) {
      const refused = trunkline([...args, '--url', guarded], {
        TRUNKLINE_API_KEYS: 'not-the-key-of-it',
      });
      expect(await refused.ended).toBe(1);
      expect(refused.lines.join()).toMatch(/UNAUTHORIZED: .* refuses the key/);
      expect(refused.lines.join()).not.toContain('not-the-key-of-it');
    }
    wrong.close();
    server.close();
    server.closeAllConnections();
    const gone = trunkline(['deliveries', 'list', '--url', url]);
    expect(await gone.ended).toBe(1);
    expect(gone.lines.join()).toContain('UNREACHABLE');
  });
});

describe('trunkline hooks', () => {
  test('prints events, verifies them and fails as often as told; the outbox then delivers', async () => {
    await using store = await temporaryStore();
    const hooks = trunkline(
      ['hooks', '--port', '0', '--fail', 'status', '--status', '503', '--times', '1'],
      { TRUNKLINE_WEBHOOK_SECRET: secret },
    );
    const line = await until(() => hooks.lines.find((one) => one.startsWith('receiving at')));
    const url = /http:\S+/.exec(line)![0];
    await using outbox = await outboxOn(store, url);
    await enqueue(store, 'call_1', 'call.started');
    await until(async () => {
      await store.db
        .updateTable('lanes')
        .set({ next_attempt_at: 0 })
        .where('next_attempt_at', '>', 0)
        .where('claim_id', 'is', null)
        .execute();
      outbox.wake();
      return (await outbox.deliveries.list({ state: 'delivered', limit: 5 })).items.length === 1;
    });
    await until(() =>
      hooks.lines.some((one) => one.includes('call.started #1 call_1  [verified, repetition 1]')),
    );
    expect(hooks.lines.some((one) => one.includes('[verified, fails: status]'))).toBe(true);
    // A person reads the text of an utterance, not its words with their times.
    await enqueue(store, 'call_2', 'call.transcript');
    const said = await until(() => {
      const title = hooks.lines.findIndex((one) => one.includes('call.transcript #1 call_2'));
      return title < 0 ? undefined : hooks.lines[title + 1];
    });
    expect(said).toMatch(/"text":".+"words":"\d+ words"/);
    const forged = await fetch(url, { method: 'POST', body: '{}' });
    expect(forged.status).toBe(401);
    hooks.child.kill('SIGTERM');
    await hooks.ended;
  });

  test('with --json prints JSON and nothing else', async () => {
    const hooks = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', cli, 'hooks', '--port', '0', '--json'],
      {
        env: { PATH: process.env['PATH'], TRUNKLINE_WEBHOOK_SECRET: secret },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const [said] = (await once(createInterface({ input: hooks.stderr }), 'line')) as [string];
    const printed = once(createInterface({ input: hooks.stdout }), 'line') as Promise<[string]>;
    await fetch(/http:\S+/.exec(said)![0], { method: 'POST', body: '{"type":"call.started"}' });
    const [line] = await printed;
    expect(JSON.parse(line)).toMatchObject({ method: 'POST', body: { type: 'call.started' } });
    hooks.kill('SIGTERM');
    await once(hooks, 'close');
  });
});
