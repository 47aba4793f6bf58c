import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
} from '../../support/carriers/carrier-client.ts';
import type { HostileKind, HostileOrder, HostileReport } from './conversations.ts';

/*
 * Attackers from many addresses of loopback. Each attack is one short function that answers in a word what became
 * of it; the trial knows which words are right.
 */
const order = JSON.parse(process.argv[2] ?? '') as HostileOrder;
const host = '127.0.0.1';

/** Longer than the port may keep a peer from which nothing drains. */
const patienceMs = 20_000;

type Written = { localAddress: string; bytes: string; reads?: boolean };

/** Writes, and waits for the end of the connection; one that reads nothing finds out by writing a line now and then. */
async function write({ localAddress, bytes, reads = true }: Written): Promise<string> {
  const startedMs = performance.now();
  const socket = connect({ port: order.port, host, localAddress });
  let answer = '';
  let isOver = false;
  const over = new Promise<void>((resolve) => {
    socket.on('close', () => {
      isOver = true;
      resolve();
    });
    setTimeout(resolve, patienceMs).unref();
  });
  socket.on('error', () => undefined);
  if (reads)
    socket.on('data', (data: Buffer) => {
      if (answer.length < 4_000) answer += data.toString('latin1');
    });
  else socket.pause();
  socket.write(bytes);
  const probe = reads ? undefined : setInterval(() => socket.write('\r\n'), 1_000);
  await over;
  clearInterval(probe);
  socket.destroy();
  if (!reads) return isOver ? 'ended' : `still open after ${patienceMs / 1_000} s`;
  if (answer === '') return isOver ? 'closed without a word' : 'never answered';
  const status = answer.slice(9, 12);
  const isJson = /content-type: application\/json/i.test(answer);
  const leaks = / at .*\.(?:ts|js):\d+/.test(answer);
  const late = performance.now() - startedMs > patienceMs ? ' and left open' : '';
  return `${status}${isJson ? ' json' : ''}${leaks ? ' with a stack' : ''}${late}`;
}

function request(method: string, target: string, headers = '', body = ''): string {
  const length =
    body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `${method} ${target} HTTP/1.1\r\nHost: ${host}:${order.port}\r\n${headers}${length}\r\n${body}`;
}

const upgrade =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const webhookJwt = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iss: 'Vonage', payload_hash: 'a' })}.${'A'.repeat(43)}`;

const once = 'Connection: close\r\n';
const keyed = `${once}x-service-key: ${order.key}\r\n`;
const polluting =
  '/v2/live?custom_metadata=%7B%22a%22%3A%7B%7D%7D&custom_metadata%5Ba%5D%5B__proto__%5D%5Bhostile%5D=1';

/** A stream that was asked for with a key, as a carrier's customer does. */
async function streamUrl(carrier: string): Promise<string> {
  const response = await fetch(`http://${host}:${order.port}/api/streams`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-key': order.key },
    body: JSON.stringify({ carrier }),
    signal: AbortSignal.timeout(patienceMs),
  });
  const { url } = (await response.json()) as { url: string };
  return url.replace(/^wss?:\/\/[^/]+/, `ws://${host}:${order.port}`);
}

async function guessedSession(localAddress: string): Promise<string> {
  const url = `ws://${host}:${order.port}/v2/live?token=${randomBytes(32).toString('hex')}`;
  const client = await CarrierClient.connect(url, {}, { localAddress });
  if (!(client instanceof CarrierClient)) return String(client.status);
  return String((await client.untilClosed()).code);
}

async function jumpingFrames(localAddress: string): Promise<string> {
  const url = await streamUrl('twilio');
  await using client = await CarrierClient.open(url, {}, { localAddress });
  const callSid = `CA${randomBytes(16).toString('hex')}`;
  client.send(twilioConnected, twilioStart({ callSid, tracks: ['inbound'] }));
  const frame = Buffer.alloc(160, 0xff);
  for (let jump = 0; jump < 50; jump++) client.send(twilioMedia(2 + jump * 40_000, frame));
  await client.ping();
  return 'answered';
}

async function discardedDays(localAddress: string): Promise<string> {
  const url = await streamUrl('audiohook');
  await using client = await CarrierClient.open(url, {}, { localAddress });
  const id = '0d5bb3c5-1a6e-4f0e-9d1c-7f1d2c3b4a59';
  const message = (type: string, seq: number, serverseq: number, parameters: object) => ({
    version: '2', type, id, seq, serverseq, position: 'PT0S', parameters,
  }); // prettier-ignore
  client.send(
    message('open', 1, 0, {
      organizationId: '5b4c3d2e-1f00-4a9b-8c7d-6e5f40312233',
      conversationId: randomBytes(16)
        .toString('hex')
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
      participant: { id: 'p', ani: '+15550199999', aniName: '', dnis: '' },
      media: [{ type: 'audio', format: 'PCMU', channels: ['external', 'internal'], rate: 8000 }],
    }),
  );
  await client.ping();
  await client.ping();
  client.send(message('discarded', 2, 1, { start: 'PT0S', discarded: 'PT1000000S' }));
  await client.ping();
  return 'answered';
}

async function silence(localAddress: string): Promise<string> {
  return write({ localAddress, bytes: '' });
}

async function drip(localAddress: string): Promise<string> {
  const socket = connect({ port: order.port, host, localAddress });
  socket.on('error', () => undefined);
  const over = new Promise<string>((resolve) => {
    socket.on('close', () => resolve('ended'));
    setTimeout(() => resolve(`still open after ${patienceMs / 1_000} s`), patienceMs).unref();
  });
  socket.resume();
  socket.write('GET /health/live HTTP/1.1\r\n');
  const dripping = setInterval(() => socket.write('x: y\r\n'), 500);
  const outcome = await over;
  clearInterval(dripping);
  socket.destroy();
  return outcome;
}

const attacks: Record<HostileKind, (localAddress: string) => Promise<string>> = {
  'pipelined documentation, never read': (localAddress) =>
    write({ localAddress, bytes: request('GET', '/docs').repeat(1_000), reads: false }),
  'forty requests, never read': (localAddress) =>
    write({ localAddress, bytes: request('GET', '/openapi.json').repeat(40), reads: false }),
  'a property of every object': (localAddress) =>
    write({ localAddress, bytes: request('GET', polluting, once) }),
  'the same with a key': (localAddress) =>
    write({ localAddress, bytes: request('GET', polluting, keyed) }),
  'headers of a proxy': (localAddress) =>
    write({
      localAddress,
      bytes: request(
        'GET',
        '/api/calls',
        `${once}X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: localhost\r\n`,
      ),
    }),
  'sessions by guessed tokens': guessedSession,
  'streams by guessed tokens': (localAddress) =>
    write({
      localAddress,
      bytes: request('GET', `/carriers/twilio/${randomBytes(24).toString('base64url')}`, upgrade),
    }),
  'a path of slashes': (localAddress) =>
    write({ localAddress, bytes: request('GET', '///', once) }),
  'an upgrade to HTTP/2': (localAddress) =>
    write({
      localAddress,
      bytes: request(
        'GET',
        '/health/live',
        'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nConnection: Upgrade, HTTP2-Settings, close\r\n',
      ),
    }),
  'a request of another site': (localAddress) =>
    write({
      localAddress,
      bytes: request(
        'POST',
        '/api/streams',
        `${once}Origin: http://127.0.0.1:1\r\nSec-Fetch-Site: cross-site\r\n`,
        '{"carrier":"twilio"}',
      ),
    }),
  'guessed keys': (localAddress) =>
    write({
      localAddress,
      bytes: request(
        'GET',
        '/api/calls',
        `${once}x-service-key: ${randomBytes(12).toString('hex')}\r\n`,
      ),
    }),
  'guessed sign-ins': (localAddress) =>
    write({
      localAddress,
      bytes: request(
        'POST',
        '/api/session',
        `${once}Origin: http://${host}:${order.port}\r\n`,
        JSON.stringify({ key: randomBytes(12).toString('hex') }),
      ),
    }),
  'a filter over all sessions': (localAddress) =>
    write({
      localAddress,
      bytes: request('GET', '/v2/live?custom_metadata=%7B%22crm%22%3A%22none%22%7D', keyed),
    }),
  silence,
  'a dripped header': drip,
  'frame numbers that jump': jumpingFrames,
  'eleven days of discarded audio': discardedDays,
  'a signed form of four thousand names': (localAddress) =>
    write({
      localAddress,
      bytes: request(
        'POST',
        `/carriers/plivo/voice?${'a&'.repeat(3_500)}`,
        `${once}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\nX-Plivo-Signature-V3: ${'A'.repeat(43)}=\r\nX-Plivo-Signature-V3-Nonce: ${'1'.repeat(20)}\r\n`,
      ),
    }),
  'guessed passwords of a carrier': (localAddress) =>
    write({
      localAddress,
      bytes: request(
        'GET',
        '/carriers/exotel',
        `${upgrade}Authorization: Basic ${Buffer.from(`exotel:${randomBytes(9).toString('hex')}`).toString('base64')}\r\n`,
      ),
    }),
  'a webhook token at a stream': (localAddress) =>
    write({
      localAddress,
      bytes: request(
        'GET',
        '/carriers/vonage',
        `${upgrade}Authorization: Bearer ${webhookJwt}\r\n`,
      ),
    }),
  'a request to the address of another host': (localAddress) =>
    write({ localAddress, bytes: request('GET', 'http://192.0.2.1/api/calls', once) }),
  'texts that no database takes, with a key': (localAddress) =>
    write({
      localAddress,
      bytes: request('GET', '/api/calls?number=%00&search=%ED%A0%80&tag=a%00b', keyed),
    }),
};

const report: HostileReport = { sent: 0, mostAtOnce: 0, outcomes: {}, slowestMs: {} };
let atOnce = 0;

async function attack(at: number): Promise<void> {
  const kind = order.kinds[at % order.kinds.length]!;
  const localAddress = order.addresses[at % order.addresses.length]!;
  const startedMs = performance.now();
  atOnce++;
  report.mostAtOnce = Math.max(report.mostAtOnce, atOnce);
  const outcome = await Promise.race([
    attacks[kind](localAddress).catch((error: unknown) => String(error).slice(0, 120)),
    sleep(2 * patienceMs, 'no answer at all', { ref: false }),
  ]);
  atOnce--;
  const outcomes = (report.outcomes[kind] ??= {});
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  report.slowestMs[kind] = Math.max(report.slowestMs[kind] ?? 0, performance.now() - startedMs);
}

const startedMs = performance.now();
const elapsedS = (): number => (performance.now() - startedMs) / 1_000;
const running = new Set<Promise<void>>();
while (elapsedS() < order.seconds) {
  while (report.sent < elapsedS() * order.perSecond && atOnce < order.atOnce) {
    const one = attack(report.sent++).finally(() => running.delete(one));
    running.add(one);
  }
  await sleep(20);
}
await Promise.all(running);
process.stdout.write(JSON.stringify(report), () => process.exit(0));
