import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { speak, testBridge, type TestBridge } from '../../support/bridge/test-bridge.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { secret } from '../../support/crm/outbox.ts';
import { cuttingProxy } from '../../support/faults/cutting-proxy.ts';
import { trunkline, type StartedCommand } from '../../support/process/command.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

// Processes are started one after the other: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const stack = new AsyncDisposableStack();
let crm: Awaited<ReturnType<typeof startCrm>>;
let app: TestBridge;
beforeAll(async () => {
  const speech = stack.use(await FakeSpeech.start());
  const store = stack.use(await temporaryStore());
  crm = stack.use(await startCrm([secret]));
  const outbox = { webhookUrl: crm.url, webhookSecret: secret, webhookEvents: ['completed'] };
  app = stack.use(await testBridge({ store, speechUrl: speech.url, outbox }));
});
afterAll(() => stack.disposeAsync());

async function wholeCall(carrierCallId: string): Promise<string> {
  const { stream } = await app.open({ carrierCallId });
  await speak(stream, 'inbound', seededAudio(16_000, 1));
  stream.end('stop');
  await app.ended(stream.callId);
  return stream.callId;
}

/** Its own secret, from its own lines. */
async function listening({ lines }: StartedCommand): Promise<string> {
  const line = await until(() => lines.find((one) => one.startsWith('forwarding to')));
  return /whsec_\S+/.exec(line)![0];
}

async function interrupted(command: StartedCommand): Promise<string> {
  command.child.kill('SIGINT');
  expect(await command.ended).toBe(0);
  return command.lines.at(-1)!;
}

test('events of a running process reach a program here in order, signed, and after a break each once', async () => {
  await using wire = await cuttingProxy(Number(new URL(app.url).port));
  const secrets: string[] = [];
  await using target = await startCrm(secrets, ({ event }) =>
    event.type === 'call.ended' ? 422 : 200,
  );
  const args = ['listen', '--url', `http://127.0.0.1:${wire.port}`, '--forward-to', target.url];
  const command = trunkline(args);
  secrets.push(await listening(command));

  const first = await wholeCall('CA-listen-1');
  const lineOf = (call: string, type: string) =>
    until(() => command.lines.find((one) => one.includes(call) && one.includes(type)));
  expect(await lineOf(first, 'call.completed')).toMatch(
    /^\d\d:\d\d:\d\d {2}call\.completed #\d+ call_\w+ {2}200 {2}\d+ ms$/,
  );
  expect(await lineOf(first, 'call.ended')).toMatch(/422 {2}\d+ ms {2}.*422: status 422$/);

  wire.cut();
  await until(() => command.lines.some((line) => line.includes('trying again')));
  const second = await wholeCall('CA-listen-2');
  await lineOf(second, 'call.completed');
  const told = [...(await app.events(first)), ...(await app.events(second))];
  expect(target.requests.map(({ event }) => event)).toEqual(told);
  expect(target.refusedSignatures).toBe(0);
  // The configured webhook has its own choice of events, and nothing of it changed.
  await until(() => crm.arrivals.length === 2);
  expect(await interrupted(command)).toBe(`${told.length - 2} taken, 2 refused`);
});

test('without a target the chosen events are printed, as lines for a person or for a program', async () => {
  const args = ['listen', '--url', app.url, '--events', 'completed,call.started'];
  const commands = [trunkline(args), trunkline([...args, '--json'])];
  for (const { lines } of commands)
    await until(() => lines.some((line) => line.startsWith('listening to')));
  const callId = await wholeCall('CA-listen-3');
  const [shown, printed] = commands as [StartedCommand, StartedCommand];
  await until(() => shown.lines.some((line) => line.includes(`call.completed`)));
  expect(shown.lines.find((line) => line.includes('call.started #1'))).toContain(callId);
  expect(await interrupted(shown)).toBe('2 events');
  const events = await until(() => {
    const found = printed.lines.filter((line) => line.startsWith('{'));
    return found.length === 2 && found.map((line) => JSON.parse(line) as { type: string });
  });
  expect(events.map(({ type }) => type)).toEqual(['call.started', 'call.completed']);
  await interrupted(printed);
});

test('a target that is not there is said with each event, and the next is sent all the same', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const args = ['--forward-to', `http://localhost:${port}/hook`, '--events', 'call.started,call.ended']; // prettier-ignore
  const command = trunkline(['listen', '--url', app.url, ...args]);
  await listening(command);
  await wholeCall('CA-listen-4');
  const lines = await until(() => {
    const found = command.lines.filter((line) => line.includes('no answer'));
    return found.length === 2 && found;
  });
  expect(lines[0]).toMatch(/call\.started #1 .* no answer {2}\d+ ms {2}.*(refused|ECONNREFUSED)/);
  expect(await interrupted(command)).toBe('0 taken, 2 without an answer');
});

test('settings that cannot work are reported at the start, with a remedy', async () => {
  const strange = createServer((request, response) => {
    if (request.headers['x-service-key'] === undefined) response.writeHead(200).end('<html>');
    else response.writeHead(401).end();
  }).listen(0, '127.0.0.1');
  await once(strange, 'listening');
  const url = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`;
  const cases: [string[], Record<string, string>, RegExp][] = [
    [['--url', url], {}, /UNREACHABLE: .* answered 200: it runs no bridge/],
    [['--url', url], { TRUNKLINE_API_KEYS: 'not-the-key-of-it' }, /UNAUTHORIZED: .* refuses the key of TRUNKLINE_API_KEYS/], // prettier-ignore
    [['--url', 'http://127.0.0.1:1'], {}, /UNREACHABLE: nothing answers at .* start it with npm start/], // prettier-ignore
    [['--events', 'call.complete'], {}, /BAD_INPUT: .* did you mean call\.completed/],
    [['--forward-to', 'localhost:3000'], {}, /BAD_INPUT: .* http:\/\/localhost:3000\/hook/],
    [['--forward-to', 'https://crm.example.com/hook'], {}, /BAD_INPUT: .* another machine \(crm\.example\.com\).*--allow-remote/], // prettier-ignore
  ];
  await Promise.all(
    cases.map(async ([args, env, said]) => {
      const command = trunkline(['listen', ...args], env);
      expect(await command.ended).toBe(1);
      expect(command.lines.join('\n')).toMatch(said);
      expect(command.lines.join('\n')).not.toMatch(/not-the-key| at .*\.ts:/);
    }),
  );
  expect((await app.get('/api/live?events=call.none')).status).toBe(400);
  strange.closeAllConnections();
  strange.close();
});
