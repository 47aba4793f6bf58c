import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { testBridge, type TestBridge } from '../../support/bridge/test-bridge.ts';
import type { TestEvent } from '../../../src/protocol/api.ts';
import { CallEvent } from '../../../src/protocol/events.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { secret } from '../../support/crm/outbox.ts';
import { trunkline } from '../../support/process/command.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

// Processes are started one after the other: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const stack = new AsyncDisposableStack();
let crm: Awaited<ReturnType<typeof startCrm>>;
let app: TestBridge;
let store: Awaited<ReturnType<typeof temporaryStore>>;
let refusing = false;
beforeAll(async () => {
  const speech = stack.use(await FakeSpeech.start());
  store = stack.use(await temporaryStore());
  crm = stack.use(await startCrm([secret], () => (refusing ? 422 : 200)));
  const mapped = {
    steps: [{ name: 'note', request: '{"path": "/mapped", "body": {"of": event.call.id}}' }],
  };
  const outbox = {
    webhookUrl: crm.url,
    webhookSecret: secret,
    webhookEvents: ['live'],
    endpoints: [
      { name: 'mapped', url: crm.url, secrets: [secret], events: ['call.dtmf'], shape: mapped },
    ],
  };
  app = stack.use(await testBridge({ store, speechUrl: speech.url, outbox }));
});
afterAll(() => stack.disposeAsync());

async function run(...args: string[]): Promise<{ code: number | null; lines: string[] }> {
  const { ended, lines } = trunkline(['trigger', ...args, '--url', app.url]);
  const code = await ended;
  return { code, lines };
}

test('an example takes the way of real events, marked as a test, and is no call', async () => {
  const listening = trunkline(['listen', '--url', app.url, '--json']);
  await until(() => listening.lines.some((line) => line.startsWith('listening to')));
  const { code, lines } = await run('call.transcript');
  expect(code).toBe(0);
  expect(lines.join('\n')).toMatch(
    /^call\.transcript evt_\w+, marked as a test, of (call_\w+)\nwebhook {2}delivered {2}200 {2}1 attempt {2}ok$/,
  );
  expect(crm.refusedSignatures).toBe(0);
  const [{ event } = { event: undefined }] = crm.requests;
  expect(event).toMatchObject({ type: 'call.transcript', sequence: 1, test: true });
  const heard = await until(() => listening.lines.find((line) => line.startsWith('{')));
  expect(JSON.parse(heard)).toEqual(event);
  listening.child.kill('SIGINT');
  expect(await listening.ended).toBe(0);
  const calls = (await (await fetch(`${app.url}/api/calls`)).json()) as { items: unknown[] };
  expect(calls.items).toEqual([]);
});

test('an event that no webhook wants is said to have gone nowhere', async () => {
  const before = crm.requests.length;
  const { code, lines } = await run('call.completed');
  expect(code).toBe(0);
  expect(lines.at(-1)).toBe('No webhook gets it; `trunkline listen` shows it.');
  expect(crm.requests.length).toBe(before);
});

test('an invented call goes through a mapping only where its endpoint is named', async () => {
  const atCrm = () => crm.requests.filter(({ path }) => path.endsWith('/mapped')).length;
  const { code, lines } = await run('call.dtmf');
  expect(code).toBe(0);
  expect(lines.join('\n')).toContain('mapped has a mapping and got nothing: --endpoint mapped');
  expect(lines.at(-1)).toMatch(/^webhook {2}delivered/);
  expect(atCrm()).toBe(0);
  const named = await run('call.dtmf', '--endpoint', 'mapped');
  expect(named.code).toBe(0);
  expect(named.lines.at(-1)).toMatch(/^mapped {2}delivered/);
  expect(atCrm()).toBe(1);
  const wrong = await run('call.dtmf', '--endpoint', 'mappd');
  expect(wrong.code).toBe(1);
  expect(wrong.lines.join('\n')).toContain('no webhook named mappd wants call.dtmf');
});

test('an example happens now and links to this installation', async () => {
  const headers = { 'content-type': 'application/json' };
  const body = '{"type":"call.completed"}';
  const answer = await fetch(`${app.url}/api/test-events`, { method: 'POST', headers, body });
  const { call_id: callId, event_id: id } = (await answer.json()) as TestEvent;
  const stored = await store.db
    .selectFrom('events')
    .select('body')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const event = CallEvent.parse(JSON.parse(stored.body));
  if (event.type !== 'call.completed') throw new Error(event.type);
  expect(event).toMatchObject({ test: true, version: 2, call: { id: callId } });
  expect(event.custom_metadata).toMatchObject({ call_id: callId });
  expect(event.data.page_url).toMatch(new RegExp(`/shared/calls/${callId}\\?`));
  const agoMs = Date.parse(event.occurred_at) - Date.parse(event.call.started_at);
  expect(agoMs).toBeGreaterThan(0);
  expect(agoMs).toBeLessThan(120_000);
});

test('a receiver that refuses is shown with its status, and the command fails', async () => {
  refusing = true;
  const { code, lines } = await run('call.started', '--json');
  refusing = false;
  expect(code).toBe(1);
  expect(JSON.parse(lines.find((line) => line.startsWith('{'))!)).toMatchObject({
    endpoint: 'webhook',
    state: 'pending',
    status: 422,
  });
});

test('an event that there is not is refused with the nearest name, here and by the API', async () => {
  const { code, lines } = await run('call.transcripts');
  expect(code).toBe(1);
  expect(lines.join('\n')).toContain('there is no event call.transcripts, did you mean call.transcript?'); // prettier-ignore
  for (const body of ['{"type":"call.lost"}', '{}', '{"type":"call.started","x":1}', '[]']) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${app.url}/api/test-events`, { method: 'POST', headers, body });
    expect(answer.status).toBe(400);
  }
});
