import express from 'express';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { HttpConfig } from '../../../src/port/config.ts';
import { listen } from '../../../src/port/http.ts';
import { rightsWith } from '../../support/people/rights.ts';
import type { Part } from '../../../src/port/part.ts';
import { until } from '../../support/process/until.ts';

const megabyte = Buffer.alloc(1_048_576, 'x');

/** Answers more than any socket takes: as one answer, as an endless stream of events, and on an upgraded socket. */
function talkativePart(closed: Set<number>): Part {
  const router = express.Router();
  // A peer that reads nothing is not told by its system that the connection is over: this side is asked.
  const watch = (socket: Duplex & { remotePort?: number | undefined }): void => {
    const port = socket.remotePort ?? 0;
    socket.once('close', () => closed.add(port));
  };
  router.get('/large', (request, response) => {
    watch(request.socket);
    response.end(Buffer.concat(Array.from({ length: 16 }, () => megabyte)));
  });
  router.get('/events', (request, response) => {
    watch(request.socket);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => response.write(megabyte.subarray(0, 65_536)), 100);
    response.once('close', () => clearInterval(timer));
  });
  return {
    name: 'talkative',
    routers: [{ access: 'public', router }],
    upgrades: [
      {
        owns: (pathname) => pathname === '/socket',
        handle: async (_request: unknown, socket: Duplex) => {
          watch(socket);
          socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
          for (let sent = 0; sent < 16; sent++) socket.write(megabyte);
          return Promise.resolve();
        },
      },
    ],
  };
}

async function peer(port: number, path: string, more = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.pause().on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`);
  await once(socket, 'connect');
  return socket;
}

const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

test.each([
  ['an answer', '/large', ''],
  ['a stream of events', '/events', ''],
  ['a socket', '/socket', upgrade],
])(
  '%s whose peer reads nothing is ended after 15 s, and one that reads slowly is not',
  async (_what, path, more) => {
    await using http = await listen({
      config: HttpConfig.parse({ port: 0 }),
      insecure: false,
      internalKey: 'internal-key-0000',
      log: createLog({ level: 'silent' }),
      rights: rightsWith({ 'GET /large': 'open', 'GET /events': 'open' }),
    });
    const closed = new Set<number>();
    http.mount(talkativePart(closed));
    const startedMs = performance.now();
    const dead = await peer(http.port, path, more);
    const slow = await peer(http.port, path, more);
    let read = 0;
    // Some kilobytes every half second: a bad line, not a dead one.
    const reading = setInterval(() => {
      const chunk: unknown = slow.read(65_536) ?? slow.read();
      if (chunk instanceof Buffer) read += chunk.length;
    }, 500);
    await until(() => closed.has(dead.localPort ?? 0), 40_000);
    const endedMs = performance.now() - startedMs;
    clearInterval(reading);
    console.log(`${path}: ended after ${endedMs.toFixed(0)} ms; the slow one read ${read}`);
    expect(endedMs).toBeGreaterThan(14_000);
    // Some seconds pass before the system's own buffers are full and anything waits with us.
    expect(endedMs).toBeLessThan(30_000);
    expect(closed.has(slow.localPort ?? 0)).toBe(false);
    dead.destroy();
    slow.destroy();
  },
  60_000,
);
