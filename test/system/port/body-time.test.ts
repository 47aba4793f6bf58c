import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import {
  bodyMs,
  connectionRoom,
  Connections,
  giveBodyTime,
} from '../../../src/port/connections.ts';
import { httpLimits, listen } from '../../../src/port/http.ts';
import { HttpConfig } from '../../../src/port/config.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { silentLog } from '../../support/recognition/recogniser.ts';

const longMs = 1_800_000;
const shortMs = 5_000;
const lookMs = 2_000;

/** A server whose routes give their bodies a time of their own. */
async function server(clock: TestClock) {
  const http = createServer({ requestTimeout: 0 });
  const connections = new Connections({
    server: http,
    room: connectionRoom(100, undefined),
    isProxy: () => false,
    log: silentLog,
    clock,
  });
  http.on('request', (request, response) => {
    if (!connections.admit(request, response, () => false)) return;
    if (request.url === '/long') giveBodyTime(request, longMs);
    if (request.url === '/short') giveBodyTime(request, shortMs);
    request.resume().once('end', () => response.end('whole'));
    if (request.url === '/answered') response.end('early');
    http.emit('asked', request.url);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    /** Sends a head and the first byte of a body, and says how the connection goes on. */
    async begin(path: string, length = 10) {
      const { port } = http.address() as AddressInfo;
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      let isOpen = true;
      let text = '';
      socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      const closed = new Promise<void>((resolve) => {
        socket.once('close', () => {
          isOpen = false;
          resolve();
        });
      });
      const asked = once(http, 'asked');
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\nx`);
      await asked;
      return { socket, closed, isOpen: () => isOpen, text: () => text };
    },
    [Symbol.asyncDispose]: async () => {
      connections[Symbol.dispose]();
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

/** A turn of the event loop in which closes are told. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a body that does not come whole ends its connection in time, wherever its answer is', async () => {
  const clock = new TestClock(0);
  await using http = await server(clock);
  const slow = await http.begin('/');
  const answered = await http.begin('/answered');
  const long = await http.begin('/long');
  const short = await http.begin('/short');
  const whole = await http.begin('/', 1);
  await clock.pass(shortMs + lookMs);
  await short.closed;
  await turn();
  expect([slow, answered, long, whole].map(({ isOpen }) => isOpen())).toEqual(Array(4).fill(true));
  await clock.pass(bodyMs - shortMs);
  await Promise.all([slow.closed, answered.closed]);
  expect([long.isOpen(), whole.isOpen()]).toEqual([true, true]);
  // Another byte buys no time.
  long.socket.write('x');
  await clock.pass(longMs - bodyMs);
  await long.closed;
  expect([whole.isOpen(), whole.text()]).toEqual([true, expect.stringContaining('whole')]);
  whole.socket.destroy();
});

test.each([
  ['a wrong key', '/v2/live', 'wrong-key-0000', 'HTTP/1.1 401'],
  ['a right key', '/v2/live', 'a-key-of-the-test', 'HTTP/1.1 100'],
  ['a route for everybody', '/carriers/x', undefined, 'HTTP/1.1 100'],
])('a body that waits to be asked for: %s', async (_name, path, key, first) => {
  await using http = await listen({
    config: HttpConfig.parse({ port: 0, apiKeys: ['a-key-of-the-test'] }),
    insecure: false,
    internalKey: 'internal-key-0000',
    log: silentLog,
  });
  const socket = connect(http.port, '127.0.0.1').on('error', () => undefined);
  const keyLine = key === undefined ? '' : `x-service-key: ${key}\r\n`;
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${keyLine}Content-Type: application/json\r\n` +
      `Content-Length: ${httpLimits.jsonBodyBytes}\r\nExpect: 100-continue\r\n\r\n`,
  );
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(new RegExp(`^${first}`));
  socket.destroy();
});
