import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { GuardedClient } from '../../../src/lib/guarded-fetch.ts';
import { judge } from '../../../src/outbox/retry-rules.ts';

const crlf = '\r\n';
const ok = `HTTP/1.1 200 OK${crlf}`;
type Reply = [
  name: string,
  reply: (socket: Socket) => void,
  verdict: 'delivered' | 'failed' | 'gone',
];

function drip(socket: Socket, head: string, piece: string, everyMs = 20): void {
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), everyMs);
  socket.once('close', () => clearInterval(timer));
}

function flood(socket: Socket, head: string, piece: Buffer): void {
  socket.write(head);
  const pump = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', pump);
  pump();
}

const text = (answer: string) => (socket: Socket) => void socket.end(answer);
const open = (answer: string) => (socket: Socket) => void socket.write(answer);
const status = (code: number, more = ''): Reply => [
  `status ${code}`,
  text(`HTTP/1.1 ${code} X${crlf}${more}content-length: 0${crlf}${crlf}`),
  code === 410 ? 'gone' : code < 300 ? 'delivered' : 'failed',
];

/** Sixty ways to answer badly. The third column is what the event's fate must be. */
const replies: Reply[] = [
  ...[200, 201, 202, 204, 206, 299].map((code) => status(code)),
  ...[300, 301, 302, 303, 304, 307, 308].map((code) => status(code, `location: http://127.0.0.1:1/${crlf}`)),
  ...[400, 401, 403, 404, 408, 409, 410, 413, 415, 422, 429, 451, 499].map((code) => status(code)),
  ...[500, 501, 502, 503, 504, 511, 599].map((code) => status(code)),
  ['hangs', () => undefined, 'failed'],
  ['closes at once', (socket) => void socket.end(), 'failed'],
  ['resets at once', (socket) => void socket.resetAndDestroy(), 'failed'],
  ['half a status line', open('HTTP/1.1 20'), 'failed'],
  ['a head that never ends', open(`${ok}content-type: text/plain${crlf}`), 'failed'],
  ['drips its head', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\n', 'x'), 'failed'],
  ['a header flood', (socket) => flood(socket, ok, Buffer.from('x-a: 1\r\n'.repeat(1_000))), 'failed'],
  ['one header of a megabyte', (socket) => void socket.write(`${ok}x-a: ${'a'.repeat(1_000_000)}${crlf}${crlf}`), 'failed'],
  ['rubbish', text('lorem ipsum\r\n\r\n'), 'failed'],
  ['binary rubbish', (socket) => void socket.end(Buffer.alloc(5_000, 0x8f)), 'failed'],
  ['another protocol', text('220 mail.example ESMTP\r\n'), 'failed'],
  ['a status of letters', text(`HTTP/1.1 abc OK${crlf}${crlf}`), 'failed'],
  ['HTTP/9.9', text(`HTTP/9.9 200 OK${crlf}${crlf}`), 'failed'],
  ['a NUL in a header', text(`${ok}x: a\u0000b${crlf}${crlf}`), 'failed'],
  ['two lengths', text(`${ok}content-length: 1${crlf}content-length: 2${crlf}${crlf}ab`), 'failed'],
  ['length and chunks', text(`${ok}content-length: 3${crlf}transfer-encoding: chunked${crlf}${crlf}0${crlf}${crlf}`), 'failed'],
  ['a negative length', text(`${ok}content-length: -1${crlf}${crlf}`), 'failed'],
  ['a huge length', open(`${ok}content-length: 99999999999999${crlf}${crlf}x`), 'delivered'],
  ['less than its length', text(`${ok}content-length: 100${crlf}${crlf}short`), 'delivered'],
  ['more than its length', text(`${ok}content-length: 2${crlf}${crlf}${'much more'.repeat(1_000)}`), 'delivered'],
  ['chunks that break off', text(`${ok}transfer-encoding: chunked${crlf}${crlf}5${crlf}ab`), 'delivered'],
  ['chunks of rubbish', text(`${ok}transfer-encoding: chunked${crlf}${crlf}zz${crlf}`), 'delivered'],
  ['a chunk of a terabyte', open(`${ok}transfer-encoding: chunked${crlf}${crlf}ffffffffff${crlf}x`), 'delivered'],
  ['drips its body for ever', (socket) => drip(socket, `${ok}content-length: 1000000${crlf}${crlf}`, '.'), 'delivered'],
  ['drips chunks for ever', (socket) => drip(socket, `${ok}transfer-encoding: chunked${crlf}${crlf}`, `1${crlf}.${crlf}`), 'delivered'],
  ['an endless body', (socket) => flood(socket, `${ok}${crlf}`, Buffer.alloc(65_536, 0x61)), 'delivered'],
  ['endless chunks', (socket) => flood(socket, `${ok}transfer-encoding: chunked${crlf}${crlf}`, Buffer.from(`10000${crlf}${'a'.repeat(65_536)}${crlf}`)), 'delivered'],
  ['a compression bomb', (socket) => flood(socket, `${ok}content-encoding: gzip${crlf}${crlf}`, Buffer.alloc(65_536, 0x1f)), 'delivered'],
  ['500 with an endless body', (socket) => flood(socket, `HTTP/1.1 500 X${crlf}${crlf}`, Buffer.alloc(65_536, 0x61)), 'failed'],
  ['endless 100 Continue', (socket) => flood(socket, '', Buffer.from(`HTTP/1.1 100 Continue${crlf}${crlf}`)), 'failed'],
  ['103 for ever', (socket) => drip(socket, '', `HTTP/1.1 103 Early Hints${crlf}link: </x>${crlf}${crlf}`), 'failed'],
  ['an upgrade nobody asked for', text(`HTTP/1.1 101 Switching${crlf}upgrade: websocket${crlf}connection: upgrade${crlf}${crlf}`), 'failed'],
  ['several answers at once', text(`${ok}content-length: 0${crlf}${crlf}`.repeat(50)), 'delivered'],
  ['an answer before the request is read', (socket) => void socket.write(`${ok}content-length: 2${crlf}${crlf}ok`), 'delivered'],
  ['Retry-After of a century', text(`HTTP/1.1 503 X${crlf}retry-after: 3153600000${crlf}content-length: 0${crlf}${crlf}`), 'failed'],
]; // prettier-ignore

test(
  'sixty hostile replies: every attempt ends by its deadline, with the right fate, in little memory',
  { timeout: 120_000 },
  async () => {
    expect(replies.length).toBeGreaterThanOrEqual(60);
    // Long enough for honest replies beside floods, on a machine that has other things to do.
    const deadlineMs = 5_000;
    const sockets = new Set<Socket>();
    const servers = await Promise.all(
      replies.map(async ([, reply]) => {
        const server = createServer((socket) => {
          sockets.add(socket);
          socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
          socket.once('data', () => reply(socket));
        });
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        return server;
      }),
    );
    await using client = new GuardedClient({ trust: 'as-written' });
    const send = async (index: number) => {
      const startedMs = performance.now();
      const answer = await client.send({
      url: `http://127.0.0.1:${(servers[index]!.address() as AddressInfo).port}/`,
      method: 'POST', body: Buffer.from('{}'), deadlineMs, maxBytes: 16_384, resendWhenStale: true,
    }); // prettier-ignore
      return {
        name: replies[index]![0],
        tookMs: performance.now() - startedMs,
        kind: judge(answer, 0).kind,
        kept: answer.ok ? answer.body.length : 0,
      };
    };
    const rssBefore = process.memoryUsage.rss();
    const results = [];
    for (let from = 0; from < replies.length; from += 10)
      results.push(
        ...(await Promise.all(
          replies.slice(from, from + 10).map((_, offset) => send(from + offset)),
        )),
      );
    const fates = results.map((result, index) => [result.name, result.kind, replies[index]![2]]);
    expect(fates.filter(([, got, wanted]) => got !== wanted)).toEqual([]);
    // The deadline is ours; a second more is for a machine that has other things to do.
    expect(results.filter((result) => result.tookMs > deadlineMs + 5_000)).toEqual([]);
    expect(results.filter((result) => result.kept > 16_384)).toEqual([]);
    expect(process.memoryUsage.rss() - rssBefore).toBeLessThan(200 * 1_048_576);
    for (const socket of sockets) socket.destroy();
    for (const server of servers) server.close();
  },
);
