import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { startApp } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';

const key = 'a-key-of-the-tests-0001';

/** An upgrade that the peer never goes on from: it neither answers a close nor ends. */
function upgrade(port: number, localAddress: string, path: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
  socket.on('error', () => undefined).resume();
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  return socket;
}

test.each([
  ['a session that there is not', '/v2/live?token=wrong'],
  ['a stream that has not said who it is', '/carriers/twilio'],
  ['a stream token that there is not', '/carriers/twilio/wrong'],
])(
  'upgrades for %s take the share of their address, and leave the others their places',
  async (_what, path) => {
    await using app = await startApp({
      env: {
        TRUNKLINE_API_KEYS: key,
        TRUNKLINE_MAX_CONNECTIONS: '100',
        TRUNKLINE_TWILIO_AUTH_TOKEN: 'twilio-secret-of-the-tests',
      },
    });
    const port = Number(new URL(app.url).port);
    const open = new Set<Socket>();
    const sockets = Array.from({ length: 120 }, () => {
      const socket = upgrade(port, '127.0.0.2', path);
      open.add(socket);
      return socket.on('close', () => open.delete(socket));
    });
    // While they are there, somebody else is answered.
    for (let time = 0; time < 5; time++)
      expect((await fetch(`${app.url}/health/live`)).status).toBe(200);
    for (const socket of sockets) socket.end();
    await until(() => open.size === 0);
  },
);

test('a peer with a wrong token is gone soon, though it answers no close', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  const port = Number(new URL(app.url).port);
  const startedMs = performance.now();
  const socket = upgrade(port, '127.0.0.2', '/v2/live?token=wrong');
  const said: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => said.push(bytes));
  await new Promise((resolve) => socket.once('end', resolve));
  // The close frame still says why: released clients come back for anything but this code.
  expect(Buffer.concat(said).includes(Buffer.from([0x11, 0x31]))).toBe(true);
  // After a second on a machine that is free. A close that waits for its answer takes 30 s.
  expect(performance.now() - startedMs).toBeLessThan(15_000);
  // The end is not only half of one: what the peer still writes is answered with a reset.
  await until(() => {
    socket.write('x');
    return socket.destroyed;
  });
  expect(performance.now() - startedMs).toBeLessThan(25_000);
});
