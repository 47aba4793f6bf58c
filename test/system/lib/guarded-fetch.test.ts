import { createServer, type Server } from 'node:http';
import { createServer as createTcp, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GuardedClient, type GuardedAnswer } from '../../../src/lib/guarded-fetch.ts';
import { forbiddenHosts, forbiddenUrls } from '../../support/faults/url-spellings.ts';

let canaryPort: number;
let touched = 0;
const canaries: ReturnType<typeof createTcp>[] = [];

beforeAll(async () => {
  // One port on every local address: whoever is led astray to this machine is seen.
  const canary = createTcp((socket: Socket) => {
    touched++;
    socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\ncanary');
  });
  await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
  canaries.push(canary);
  canaryPort = (canary.address() as AddressInfo).port;
});
afterAll(() => canaries.forEach((canary) => canary.close()));

async function server(
  handle: Parameters<typeof createServer>[1],
  { host = '127.0.0.1', port: wanted = 0 } = {},
): Promise<AsyncDisposable & { url: string; port: number }> {
  const made: Server = createServer(handle as never);
  await new Promise<void>((resolve, reject) =>
    made.once('error', reject).listen(wanted, host, resolve),
  );
  const { port } = made.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    [Symbol.asyncDispose]: async () => {
      made.closeAllConnections();
      await new Promise((resolve) => made.close(resolve));
    },
  };
}

const limits = { deadlineMs: 10_000, maxBytes: 16_384 };

test('no spelling leads inside: as a fetch, as a callback, as a redirect', async () => {
  await using redirector = await server((request, response) => {
    if (!request.url!.startsWith('/to?=')) return void response.writeHead(404).end();
    // As a hostile server would: the bytes of the address, whatever they are, on one line.
    const target = Buffer.from(request.url!.slice(5), 'base64url')
      .toString('latin1')
      .replace(/[\r\n\t]/g, '');
    response.writeHead(302, { location: target }).end();
  });
  await using client = new GuardedClient({
    trust: 'checked',
    allow: [`127.0.0.1:${redirector.port}`],
    // Whatever is no address is a name that leads inside: nobody outside is asked.
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
  });
  const urls = [
    ...forbiddenHosts.map((host) => `http://${host}:${canaryPort}/`),
    ...forbiddenUrls.map((url) => url.replace('127.0.0.1/', `127.0.0.1:${canaryPort}/`)),
  ];
  const before = touched;
  const answers: [string, GuardedAnswer][] = [];
  for (const url of urls) {
    answers.push([url, await client.send({ ...limits, url })]);
    answers.push([
      url,
      await client.send({ ...limits, url, method: 'POST', body: Buffer.from('{}') }),
    ]);
  }
  expect(answers.filter(([, answer]) => answer.ok)).toEqual([]);
  const notRefused = answers.filter(([, answer]) => !answer.ok && answer.failure !== 'refused');
  expect(notRefused.filter(([, answer]) => !answer.ok && answer.failure !== 'dns')).toEqual([]);
  for (const url of urls) {
    const via = `${redirector.url}/to?=${Buffer.from(url).toString('base64url')}`;
    const answer = await client.send({ ...limits, url: via, redirects: 3 });
    // A location that is no URL on its own is read against the redirector, which is allowed.
    if (answer.ok) expect(answer.url.startsWith(redirector.url)).toBe(true);
  }
  expect(touched - before).toBe(0);
});

test('a name whose answers flip between public and private never gets a connection inside', async () => {
  let asked = 0;
  const answers = [
    [{ address: '127.0.0.1', family: 4 }],
    [{ address: '93.184.216.34', family: 4 }, { address: '127.0.0.1', family: 4 }],
    [{ address: '::1', family: 6 }],
    [{ address: '::ffff:127.0.0.1', family: 6 }],
    [{ address: '169.254.169.254', family: 4 }],
  ]; // prettier-ignore
  const before = touched;
  await using client = new GuardedClient({
    trust: 'checked',
    resolve: async () => answers[asked++ % answers.length]!,
  });
  const tries = Array.from({ length: 500 }, (_, index) =>
    client.send({ ...limits, url: `http://host${index}.example:${canaryPort}/` }),
  );
  for (const answer of await Promise.all(tries))
    expect(answer).toMatchObject({ ok: false, failure: 'refused' });
  expect(asked).toBe(500);
  expect(touched - before).toBe(0);
});

test('the address judged is the address dialled: one resolution per attempt', async () => {
  await using target = await server((_, response) => response.end('inside'));
  let asked = 0;
  await using client = new GuardedClient({
    trust: 'checked',
    allow: ['127.0.0.1/32'],
    resolve: async () => [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }],
  });
  const answer = await client.send({ ...limits, url: `http://crm.example:${target.port}/` });
  expect(answer).toMatchObject({ ok: true, status: 200 });
  expect(asked).toBe(1);
});

test('a name of both families is reached by the one that works, also when they change places', async () => {
  await using client = new GuardedClient({
    trust: 'as-written',
    resolve: async () => [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ],
  });
  let port = 0;
  for (const host of ['127.0.0.1', '::1', '127.0.0.1']) {
    await using target = await server(
      (request, response) =>
        response.writeHead(200, { connection: 'close' }).end(request.socket.localAddress),
      { host, port },
    );
    port = target.port;
    const answer = await client.send({ ...limits, url: `http://crm.example:${port}/` });
    expect(answer.ok && answer.body.toString()).toBe(host);
  }
});

test('an address that the operator wrote is dialled as written, its redirects are not followed', async () => {
  await using target = await server((request, response) => {
    if (request.url === '/hook') response.writeHead(307, { location: '/elsewhere' }).end();
    else response.end('elsewhere');
  });
  await using client = new GuardedClient({ trust: 'as-written' });
  expect(await client.send({ ...limits, url: `${target.url}/hook`, method: 'POST' })).toMatchObject(
    { ok: true, status: 307 },
  );
  expect(await client.send({ ...limits, url: `${target.url}/x` })).toMatchObject({
    ok: true,
    status: 200,
  });
});

test('a redirect to another origin loses the credentials, and a loop ends', async () => {
  const seen: (string | undefined)[] = [];
  await using second = await server((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(302, { location: '/again' }).end();
  });
  await using first = await server((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(302, { location: `${second.url}/` }).end();
  });
  await using client = new GuardedClient({ trust: 'checked', allow: ['127.0.0.1'] });
  const answer = await client.send({
    ...limits,
    url: first.url,
    redirects: 3,
    headers: { authorization: 'Bearer x' },
  });
  expect(answer).toMatchObject({ ok: false, failure: 'redirects' });
  expect(seen).toEqual(['Bearer x', undefined, undefined, undefined]);
});

test('a compressed answer is kept as it came and an endless one is cut', async () => {
  await using target = await server((request, response) => {
    if (request.url === '/gzip') {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.alloc(100, 0x1f));
      return;
    }
    response.writeHead(200);
    const pump = () => {
      while (response.write(Buffer.alloc(65_536, 0x61)));
      response.once('drain', pump);
    };
    response.on('error', () => undefined);
    pump();
  });
  await using client = new GuardedClient({ trust: 'as-written' });
  expect(await client.send({ ...limits, url: `${target.url}/gzip` })).toMatchObject({
    ok: true,
    bodyEnd: 'complete',
    body: Buffer.alloc(100, 0x1f),
  });
  const endless = await client.send({ ...limits, url: `${target.url}/endless` });
  expect(endless).toMatchObject({ ok: true, status: 200, bodyEnd: 'cut' });
  expect(endless.ok && endless.body.length).toBe(16_384);
});

test('a kept connection that closes as we write is used once more', async () => {
  let requests = 0;
  const target = createTcp((socket) => {
    let served = 0;
    socket.on('error', () => undefined);
    socket.on('data', () => {
      requests++;
      if (served++ > 0) return socket.destroy();
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
  await using client = new GuardedClient({ trust: 'as-written', connections: 1 });
  const send = () =>
    client.send({ ...limits, url, method: 'POST', body: Buffer.from('x'), resendWhenStale: true });
  expect(await send()).toMatchObject({ ok: true });
  expect(await send()).toMatchObject({ ok: true });
  expect(requests).toBe(3);
  target.close();
});

test('names that do not resolve, closed ports and deadlines are told apart', async () => {
  await using hanging = await server(() => undefined);
  await using client = new GuardedClient({ trust: 'as-written' });
  const failed = async (url: string, deadlineMs = 10_000) => {
    const answer = await client.send({ url, deadlineMs, maxBytes: 10 });
    return answer.ok ? answer.status : answer.failure;
  };
  expect(await failed('http://name.invalid/')).toBe('dns');
  expect(await failed('http://127.0.0.1:1/')).toBe('connect');
  expect(await failed(hanging.url, 200)).toBe('timeout');
});
