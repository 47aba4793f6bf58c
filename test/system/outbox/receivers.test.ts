import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpointsOf, OutboxConfig } from '../../../src/outbox/config.ts';
import { startOutbox } from '../../../src/outbox/outbox.ts';
import { previewOf } from '../../../src/outbox/sender.ts';
import { eventExamples } from '../../../src/protocol/event-examples.ts';
import { enqueue, outboxOn, secret, silent } from '../../support/crm/outbox.ts';
import { startReceiver } from '../../support/crm/receiver.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

describe('the receiver of webhooks.md', () => {
  test('turns at-least-once into once: repetitions, lost answers and replays change nothing twice', async () => {
    await using folder = await temporaryFolder();
    await using store = await temporaryStore();
    const handled: string[] = [];
    const receiver = startReceiver(secret, join(folder.path, 'seen.sqlite'), (event) =>
      handled.push(`${event.call.id} ${event.sequence}`),
    );
    // Between us and it: a wire that loses every fourth answer after the receiver has done its work.
    let requests = 0;
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const target = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const wire = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          void fetch(target, {
            method: 'POST',
            headers: request.headers as Record<string, string>,
            body: Buffer.concat(chunks),
          }).then(
            (answer) => {
              if (++requests % 4 === 0) request.socket.resetAndDestroy();
              else response.writeHead(answer.status).end();
            },
            () => request.socket.resetAndDestroy(), // the end of the test reached the receiver first
          );
        });
    });
    await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve));
    await using outbox = await outboxOn(
      store,
      `http://127.0.0.1:${(wire.address() as AddressInfo).port}/`,
    );
    for (let event = 0; event < 30; event++) await enqueue(store, `call_${event % 3}`);
    await until(async () => {
      await store.db
        .updateTable('lanes')
        .set({ next_attempt_at: 0 })
        .where('next_attempt_at', '>', 0)
        .where('claim_id', 'is', null)
        .execute();
      outbox.wake();
      return (await outbox.deliveries.list({ state: 'delivered', limit: 100 })).items.length === 30;
    });
    expect(requests).toBeGreaterThan(30);
    await outbox.deliveries.retryCall('call_1', 1);
    const before = requests;
    await until(() => requests >= before + 10);
    const expected = ['call_0', 'call_1', 'call_2'].flatMap((call) =>
      Array.from({ length: 10 }, (_, index) => `${call} ${index + 1}`),
    );
    expect([...handled].sort()).toEqual(expected.sort());
    wire.close();
    wire.closeAllConnections();
    receiver.close();
    receiver.closeAllConnections();
  });
});

/** A small invented CRM: cases are looked up by phone number, notes and tasks are added to them. */
async function inventedCrm() {
  const cases = [{ id: 'C-7', phone: '+15550100123' }];
  const notes: { case: string; text: string; key: unknown }[] = [];
  const tasks: { case: string; title: string }[] = [];
  const state = { lookups: 0, failTasks: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        if (request.headers.authorization !== 'Bearer crm-token')
          return void response.writeHead(401).end();
        const url = new URL(request.url ?? '/', 'http://crm');
        const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as {
          text: string;
          title: string;
        };
        const answer = (status: number, value: unknown) =>
          response
            .writeHead(status, { 'content-type': 'application/json' })
            .end(JSON.stringify(value));
        const [, , collection, id = '', part] = url.pathname.split('/');
        if (request.method === 'GET' && collection === 'cases') {
          state.lookups++;
          return void answer(200, {
            cases: cases.filter((one) => one.phone === url.searchParams.get('phone')),
          });
        }
        if (part === 'notes') {
          notes.push({ case: id, text: body.text, key: request.headers['idempotency-key'] });
          return void answer(201, { id: notes.length });
        }
        if (part === 'tasks') {
          if (state.failTasks-- > 0) return void answer(500, {});
          tasks.push({ case: id, title: body.title });
          return void answer(201, { id: tasks.length });
        }
        answer(404, {});
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`, notes, tasks, state,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  }; // prettier-ignore
}

const steps = [
  { name: 'case', request: `event.type in ['call.transcript', 'call.ended'] ? {'method': 'GET', 'path': '/cases?phone=' & $encodeUrlComponent(event.call.from)}` },
  { name: 'note', request: `event.type = 'call.transcript' and answers.case ? {'path': '/cases/' & answers.case.body.cases[0].id & '/notes', 'body': {'text': event.leg.role & ': ' & event.data.text}}` },
  { name: 'task', request: `event.type = 'call.ended' and answers.case ? {'path': '/cases/' & answers.case.body.cases[0].id & '/tasks', 'body': {'title': 'Follow up: ' & event.data.reason}}` },
]; // prettier-ignore

const mapped = (url: string) =>
  OutboxConfig.parse({
    pollMs: 100,
    endpoints: [{ name: 'crm', url, secrets: [secret], headers: { authorization: 'Bearer crm-token' }, events: ['call.started', 'call.transcript', 'call.ended'], shape: { steps } }],
  }); // prettier-ignore

describe('a mapping', () => {
  test('looks a case up by phone number, adds a note and creates a task; a retry repeats no step that is done', async () => {
    await using store = await temporaryStore();
    await using crm = await inventedCrm();
    await using outbox = await startOutbox({ store, log: silent, config: mapped(crm.url) });
    crm.state.failTasks = 1;
    for (const type of ['call.started', 'call.transcript', 'call.ended'] as const)
      await enqueue(store, 'call_1', type);
    outbox.wake();
    await until(async () => {
      await store.db
        .updateTable('lanes')
        .set({ next_attempt_at: 0 })
        .where('next_attempt_at', '>', 0)
        .where('claim_id', 'is', null)
        .execute();
      outbox.wake();
      return (await outbox.deliveries.list({ state: 'delivered', limit: 10 })).items.length === 3;
    });
    expect(crm.notes).toEqual([
      {
        case: 'C-7',
        text: `customer: ${eventExamples['call.transcript'].data.text}`,
        key: expect.stringMatching(/^evt_.*\/note$/),
      },
    ]);
    expect(crm.tasks).toEqual([
      { case: 'C-7', title: `Follow up: ${eventExamples['call.ended'].data.reason}` },
    ]);
    expect(crm.state.lookups).toBe(2);
  });

  test('that cannot be read does not start, with its endpoint, step and place named', async () => {
    await using store = await temporaryStore();
    const broken = (request: string) => {
      const config = mapped('http://127.0.0.1:1/');
      return startOutbox({
        store,
        log: silent,
        config: {
          ...config,
          endpoints: [{ ...config.endpoints[0]!, shape: { steps: [{ name: 'case', request }] } }],
        },
      });
    };
    await expect(broken('{"path": ')).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/crm, step case at character \d+/),
    });
    await expect(broken('{"path": 7}')).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('path'),
    });
    await expect(broken('{"paht": "/x"}')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  test('is shown as the requests that it would send, without the operator’s token', async () => {
    const [endpoint] = endpointsOf(mapped('https://crm.example/api'));
    const texts = await previewOf(endpoint!, eventExamples['call.transcript'], {
      case: { status: 200, body: { cases: [{ id: 'C-9' }] } },
    });
    expect(texts[0]).toContain('GET https://crm.example/api/cases?phone=%2B15550100123');
    expect(texts[1]).toContain('POST https://crm.example/api/cases/C-9/notes');
    expect(texts[2]).toContain('nothing for call.transcript');
    expect(texts.join()).not.toContain('crm-token');
  });
});
