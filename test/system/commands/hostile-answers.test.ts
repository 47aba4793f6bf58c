import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { trunkline, type StartedCommand } from '../../support/process/command.ts';
import { until } from '../../support/process/until.ts';

// Processes are started one after the other: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 120_000 });

async function serverOf(answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Clears the screen, sets the title of the window, turns the direction of writing, and writes a line of its own. */
const hostile = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202etxt\nverified';

function expectHarmless({ lines }: StartedCommand): void {
  const shown = lines.join('\n');
  expect(shown).toContain('owned');
  expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
}

describe('a server that answers with a redirect', () => {
  test.each([
    [['deliveries', 'list']],
    [['deliveries', 'retry', 'evt_1.webhook']],
    [['nodes']],
    [['doctor', 'CA1']],
    [['listen']],
    [['trigger', 'call.started']],
    [['call']],
  ])('gets the key of %j to no other address', async (args) => {
    const stolen: unknown[] = [];
    await using thief = await serverOf((request, response) => {
      stolen.push(request.headers['x-service-key']);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[]}');
    });
    await using front = await serverOf((request, response) => {
      response.writeHead(307, { location: `${thief.url}${request.url}` }).end();
    });
    const command = trunkline([...args, '--url', front.url], {
      TRUNKLINE_API_KEYS: 'the-own-key-of-this-process',
    });
    expect(await command.ended).toBe(1);
    expect(stolen).toEqual([]);
    expect(command.lines.join('\n')).toContain(`redirects to ${thief.url}`);
  });
});

describe('text from outside is no command to the terminal', () => {
  test('in the list of deliveries, for a person and as JSON', async () => {
    const item = {
      id: 'evt_1.webhook', endpoint: 'webhook', event_id: 'evt_1', call_id: `call_1${hostile}`, sequence: 1,
      type: 'call.ended', state: 'parked', attempts: 1, next_attempt_at: null, reason: hostile, answer: hostile,
    }; // prettier-ignore
    await using front = await serverOf((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ items: [item], next_cursor: null, ...item }));
    });
    const list = trunkline(['deliveries', 'list', '--url', front.url]);
    const json = trunkline(['deliveries', 'list', '--json', '--url', front.url]);
    const shown = trunkline(['deliveries', 'show', 'evt_1.webhook', '--url', front.url]);
    for (const command of [list, json, shown]) {
      expect(await command.ended).toBe(0);
      expectHarmless(command);
    }
    expect(list.lines.filter((line) => line.startsWith('verified'))).toEqual([]);
    expect(JSON.parse(json.lines.join('\n'))).toMatchObject({ items: [{ reason: hostile }] });
  });

  test('in what doctor was told', async () => {
    await using front = await serverOf((_request, response) => {
      response.writeHead(503, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ checks: { store: { state: 'down', detail: hostile } } }));
    });
    const command = trunkline(['doctor', '--url', front.url]);
    expect(await command.ended).toBe(1);
    expectHarmless(command);
  });

  test('in an error', async () => {
    await using front = await serverOf((_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message: hostile }));
    });
    const command = trunkline(['nodes', '--url', front.url]);
    expect(await command.ended).toBe(1);
    expectHarmless(command);
  });

  test('in events that a process sends to listen', async () => {
    const event = {
      id: 'evt_1', type: 'call.transcript', sequence: 1, call: { id: `call_1${hostile}` },
      data: { text: hostile },
    }; // prettier-ignore
    await using front = await serverOf((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: listening\ndata: {}\n\n');
      response.write(`id: 1\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    });
    for (const form of [[], ['--json']]) {
      const command = trunkline(['listen', ...form, '--url', front.url]);
      await until(() => command.lines.some((line) => line.includes('owned')));
      command.child.kill('SIGINT');
      expect(await command.ended).toBe(0);
      expectHarmless(command);
      expect(command.lines.filter((line) => line.startsWith('verified'))).toEqual([]);
    }
  });

  test.each([[[]], [['--json']]])('in an unsigned body that hooks shows %j', async (form) => {
    const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
    const hooks = trunkline(['hooks', '--port', '0', ...form], {
      TRUNKLINE_WEBHOOK_SECRET: secret,
    });
    const line = await until(() => hooks.lines.find((one) => one.startsWith('receiving at')));
    const body = JSON.stringify({ type: `call.ended${hostile}`, data: { reason: hostile } });
    const answer = await fetch(/http:\S+/.exec(line)![0], { method: 'POST', body });
    expect(answer.status).toBe(401);
    await until(() => hooks.lines.some((one) => one.includes('owned')));
    hooks.child.kill('SIGTERM');
    await hooks.ended;
    expectHarmless(hooks);
    expect(hooks.lines.filter((one) => one.startsWith('verified'))).toEqual([]);
  });
});
