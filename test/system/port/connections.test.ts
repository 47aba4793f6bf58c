import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { metrics } from '../../../src/lib/metrics.ts';
import { proxiesIn } from '../../../src/port/addresses.ts';
import {
  connectionRoom,
  Connections,
  maxUnansweredOfConnection,
  maxUnreadBytesOfStrangers,
} from '../../../src/port/connections.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { until } from '../../support/process/until.ts';

/** A server whose connections are watched by a clock that only the test moves. */
async function watchedServer(
  answer: (connections: Connections, request: IncomingMessage, response: ServerResponse) => void,
) {
  const clock = new TestClock(0);
  const server: Server = createServer();
  const connections = new Connections({
    server,
    room: connectionRoom(100, undefined),
    isProxy: proxiesIn([]),
    log: createLog({ level: 'silent' }),
    clock,
  });
  server.on('request', (request, response) => answer(connections, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    clock,
    connections,
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      connections[Symbol.dispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function neverReads(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.pause().on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

test('no request of a packet of a thousand is carried out after the one that ended its connection', async () => {
  let made = 0;
  await using server = await watchedServer((connections, request, response) => {
    made++;
    connections.admit(request, response, () => false);
  });
  const request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const peer = await neverReads(server.port, request.repeat(1_000));
  await until(() => server.connections.count === 0 && made > 0);
  expect(made).toBe(maxUnansweredOfConnection + 1);
  peer.destroy();
  // The parser goes back to where all connections take theirs from, and is as good as new.
  const next = await neverReads(server.port, request.repeat(2));
  await until(() => made === maxUnansweredOfConnection + 3);
  next.destroy();
});

test('beyond what may wait for strangers together, those that have read nothing the longest are ended; who is known stays', async () => {
  const body = Buffer.alloc(Math.floor(maxUnreadBytesOfStrangers * 0.45), 'x');
  const ended: string[] = [];
  const sockets = new Map<string, Socket>();
  await using server = await watchedServer((connections, request, response) => {
    const name = request.url ?? '';
    connections.admit(request, response, () => false);
    if (name === '/known') connections.know(request);
    sockets.set(name, request.socket);
    request.socket.once('close', () => ended.push(name));
    response.end(body);
  });
  /** Asks for almost half of what may wait, and is looked at once its system takes no more. */
  const ask = async (name: string): Promise<Socket> => {
    const peer = await neverReads(server.port, `GET ${name} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await until(async () => {
      const before = unsentOf(sockets.get(name));
      await sleep(50);
      return before > 0 && unsentOf(sockets.get(name)) === before;
    });
    await server.clock.pass(1_000);
    await server.clock.pass(1_000);
    return peer;
  };
  const peers = [await ask('/known'), await ask('/first'), await ask('/second')];
  expect(ended).toEqual([]);
  const before = await endedAsCrowded();
  peers.push(await ask('/third'));
  await until(() => ended.length > 0);
  await server.clock.pass(1_000);
  expect(ended).toEqual(['/first']);
  expect(await endedAsCrowded()).toBe(before + 1);
  for (const peer of peers) peer.destroy();
}, 30_000);

function unsentOf(socket: Socket | undefined): number {
  return (socket as { _handle?: { writeQueueSize: number } } | undefined)?._handle?.writeQueueSize ?? 0; // prettier-ignore
}

async function endedAsCrowded(): Promise<number> {
  const counter = await metrics.getSingleMetric('trunkline_connections_ended_total')?.get();
  return counter?.values.find(({ labels }) => labels['reason'] === 'crowded')?.value ?? 0;
}
