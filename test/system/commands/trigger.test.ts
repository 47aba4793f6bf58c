import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { testBridge, type TestBridge } from '../../support/bridge/test-bridge.ts';
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
let refusing = false;
beforeAll(async () => {
  const speech = stack.use(await FakeSpeech.start());
  const store = stack.use(await temporaryStore());
  crm = stack.use(await startCrm([secret], () => (refusing ? 422 : 200)));
  const outbox = { webhookUrl: crm.url, webhookSecret: secret, webhookEvents: ['live'] };
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
  expect(lines.at(-1)).toBe(
    'no configured webhook wants it; who listens with `trunkline listen` has it',
  );
  expect(crm.requests.length).toBe(before);
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
