import { readFileSync } from 'node:fs';
import { createServer as createPlain } from 'node:http';
import {
  connect,
  createServer as createTcp,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';
import { createServer as createTls, type TlsOptions } from 'node:tls';
import { createServer as createHttps } from 'node:https';
import { describe, expect, test } from 'vitest';
import { GuardedClient } from '../../../src/lib/guarded-fetch.ts';
import { enqueue, outboxOn } from '../../support/crm/outbox.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

/** An authority of our own and what it signed: good, renewed, expired, of another host; and one that nobody signed. */
const pem = (name: string): string =>
  readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), 'utf8');
const withKey = (name: string): TlsOptions => ({ cert: pem(name), key: pem(name) });
const trusting = () =>
  new GuardedClient({ trust: 'as-written', tls: { ca: pem('ca') }, connectMs: 500 });

async function listening(server: Server): Promise<AsyncDisposable & { url: string }> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('a receiver whose TLS cannot be trusted', () => {
  const old: TlsOptions = {
    ...withKey('good'),
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT:@SECLEVEL=0',
  };
  const servers: [string, () => Server, string][] = [
    ['an expired certificate', () => createTls(withKey('expired')), 'tls: CERT_HAS_EXPIRED'],
    ['one of another host', () => createTls(withKey('wrong-host')), 'tls: ERR_TLS_CERT_ALTNAME_INVALID'],
    ['one that nobody signed', () => createTls(withKey('self-signed')), 'tls: DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['a version of long ago', () => createTls(old), 'tls: ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
    ['no TLS at all', () => createPlain((_, response) => response.end('ok')), 'tls: ERR_SSL_WRONG_VERSION_NUMBER'],
    ['a handshake that never ends', () => createTcp(() => undefined), 'connect: UND_ERR_CONNECT_TIMEOUT'],
  ]; // prettier-ignore

  test.each(servers)(
    '%s: the delivery fails with its reason, and nothing goes out in the clear',
    async (_, make, reason) => {
      await using behind = await listening(make());
      const firstBytes: number[] = [];
      await using listener = await listening(
        createTcp((socket) => {
          const onward = connect(Number(new URL(behind.url).port), '127.0.0.1');
          socket.once('data', (bytes: Buffer) => firstBytes.push(bytes[0] ?? 0));
          socket.pipe(onward.on('error', () => undefined)).pipe(socket);
        }),
      );
      await using store = await temporaryStore();
      await using client = trusting();
      await using outbox = await outboxOn(store, listener.url, { client });
      await enqueue(store, 'call_1');
      outbox.wake();
      const [delivery] = await until(async () => {
        const { items } = await outbox.deliveries.list({ limit: 1 });
        return items[0]?.attempts === 1 && items;
      });
      expect(delivery).toMatchObject({ state: 'pending', status: null, reason });
      // The first byte of a TLS handshake record, never the "P" of a POST.
      expect(new Set(firstBytes)).toEqual(new Set([0x16]));
    },
  );
});

test('a receiver that renews its certificate meanwhile is delivered to all the same', async () => {
  let requests = 0;
  const server = createHttps(withKey('good'), (request, response) => {
    request.resume().on('end', () => {
      requests++;
      // Each answer ends its connection: the next one sees the certificate of then.
      response.writeHead(204, { connection: 'close' }).end();
    });
  });
  await using listener = await listening(server);
  await using store = await temporaryStore();
  await using client = trusting();
  await using outbox = await outboxOn(store, listener.url, { client });
  for (let event = 0; event < 20; event++) await enqueue(store, `call_${event % 4}`);
  outbox.wake();
  await until(() => requests >= 4);
  server.setSecureContext(withKey('renewed'));
  await until(() => requests >= 20);
  const { items } = await until(async () => {
    const page = await outbox.deliveries.list({ state: 'delivered', limit: 50 });
    return page.items.length === 20 && page;
  });
  expect(items.every((item) => item.attempts === 1)).toBe(true);
});
