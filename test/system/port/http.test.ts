import express from 'express';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { HttpConfig } from '../../../src/port/config.ts';
import { httpLimits, listen, type HttpServer } from '../../../src/port/http.ts';
import { maxUpgradesInProgress } from '../../../src/port/upgrades.ts';
import { createLog, type Logger } from '../../../src/lib/log.ts';
import { metrics } from '../../../src/lib/metrics.ts';
import type { Part } from '../../../src/port/part.ts';
import { Problem } from '../../../src/port/problem.ts';
import { rightsWith } from '../../support/people/rights.ts';
import { until } from '../../support/process/until.ts';
import { refusalEndsConnection } from '../../support/faults/upgrade-flood.ts';

type PortSettings = {
  apiKeys?: string[];
  host?: string;
  insecure?: boolean;
  publicUrl?: string;
  maxConnections?: number;
  log?: Logger;
};

function server(settings: PortSettings = {}): Promise<HttpServer> {
  const { insecure = false, log = createLog({ level: 'silent' }), ...http } = settings;
  return listen({
    config: HttpConfig.parse({ port: 0, ...http }),
    insecure,
    internalKey: 'internal-key-0000',
    log,
    rights: rightsWith({
      'GET /api/hello': 'calls.read',
      'POST /api/echo': 'calls.note',
      'POST /api/echo/{id}': 'calls.note',
      'GET /api/bug': 'calls.read',
      'GET /v2/hello': 'speech',
      'GET /v2/refused': 'speech',
    }),
  });
}

/** As much of a request as the judge of a key looks at. */
function requestFrom(remoteAddress: string): IncomingMessage {
  return { socket: { remoteAddress }, headers: {} } as unknown as IncomingMessage;
}

async function letIn(
  _request: unknown,
  socket: Duplex,
  _head: unknown,
  admitted: () => void,
): Promise<void> {
  await sleep(1);
  admitted();
  socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
}

/** A part with one route of each kind, an upgrade that never decides and one that lets everybody in. */
function samplePart(): Part & { state: 'ok' | 'down' } {
  const operator = express
    .Router()
    .get('/api/hello', (_request, response) => void response.json({ hello: true }));
  operator.post('/api/echo', (request, response) => void response.json(request.body));
  operator.get('/api/bug', () => {
    throw new Error('canary in a bug');
  });
  const speech = express
    .Router()
    .get('/v2/hello', (_request, response) => void response.json({ hello: true }));
  speech.get('/v2/refused', () => {
    throw new Problem(400, 'Validation failed', { validationErrors: ['field must be a number'] });
  });
  const part = {
    name: 'sample',
    state: 'ok' as 'ok' | 'down',
    routers: [
      { access: 'operator' as const, router: operator },
      { access: 'speech' as const, router: speech },
    ],
    upgrades: [
      {
        owns: (pathname: string) => pathname === '/silent',
        handle: () => new Promise<void>(() => undefined),
      },
      { owns: (pathname: string) => pathname === '/open', handle: letIn },
    ],
    health: () => ({ sample: { state: part.state } }),
  };
  return part;
}

const key = { 'x-service-key': 'a-good-key-of-16' };

/** Everything a raw connection answers until it closes. */
async function raw(port: number, text: string, onOpen?: (socket: Socket) => void): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => (answer += data.toString('latin1')));
  socket.on('error', () => undefined);
  socket.write(text);
  onOpen?.(socket);
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return answer;
}

const upgrade = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${headers}\r\n`;

describe('keys', () => {
  test('with keys set every request needs one, on loopback too', async () => {
    await using http = await server({ apiKeys: ['a-good-key-of-16', 'another-key-of-2'] });
    http.mount(samplePart());
    for (const path of ['/api/hello', '/v2/hello', '/metrics']) {
      expect((await fetch(http.ownUrl + path)).status).toBe(401);
      expect(
        (await fetch(http.ownUrl + path, { headers: { 'x-service-key': 'wrong-key-000' } })).status,
      ).toBe(401);
      expect((await fetch(http.ownUrl + path, { headers: key })).status).toBe(200);
      expect(
        (await fetch(http.ownUrl + path, { headers: { 'X-Service-Key': 'another-key-of-2' } }))
          .status,
      ).toBe(200);
    }
  });

  test('wrong keys, a sign-in and a change are lines of the log and figures', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
    await using http = await server({ apiKeys: ['a-good-key-of-16'], log });
    http.mount(samplePart());
    const counted = async (): Promise<number[]> => {
      const text = await metrics.getSingleMetricAsString('trunkline_secret_checks_total');
      return ['wrong', 'wait', 'right'].map((outcome) =>
        Number(new RegExp(`door="keys",outcome="${outcome}"} (\\d+)`).exec(text)?.[1]),
      );
    };
    const before = await counted();
    for (let guess = 0; guess < 30; guess++)
      await fetch(`${http.ownUrl}/api/hello`, {
        headers: { 'x-service-key': `wrong-key-${guess}` },
      });
    const long = { ...key, 'content-type': 'application/json' };
    await http.door.judgeSignIn(requestFrom('192.0.2.7'), 'a-good-key-of-16');
    await fetch(`${http.ownUrl}/api/hello`, { headers: key });
    await fetch(`${http.ownUrl}/api/echo`, { method: 'POST', headers: long, body: '{}' });
    const after = await counted();
    expect(lines.map(({ msg, client, method, at }) => [msg, client, method, at])).toEqual([
      ['a wrong secret was shown', '127.0.0.1', undefined, undefined],
      ['a browser signed in', '192.0.2.7', undefined, undefined],
    ]);
    expect(after.map((count, at) => count - (before[at] ?? 0))).toEqual([10, 22, 1]);
    expect(JSON.stringify(lines)).not.toMatch(/wrong-key-|a-good-key/);
  });

  test('a change by an operator is a line of the log that names no id, reading is none', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
    await using http = await server({ apiKeys: ['a-good-key-of-16'], log });
    http.mount(samplePart());
    const headers = { ...key, 'content-type': 'application/json' };
    await fetch(`${http.ownUrl}/api/hello`, { headers });
    for (let turn = 0; turn < 3; turn++)
      await fetch(`${http.ownUrl}/api/echo/some-id`, { method: 'POST', headers, body: '{}' });
    expect(lines).toMatchObject([
      {
        msg: 'an operator changed something',
        client: '127.0.0.1',
        method: 'POST',
        at: '/api/echo',
      },
    ]);
  });

  test('connections at another port of the process leave less room for new calls', async () => {
    await using http = await server({ maxConnections: 16 });
    expect(http.hasRoom()).toBe(true);
    http.reckon(() => 14);
    expect(http.hasRoom()).toBe(false);
  });

  test('behind a proxy that speaks TLS the browser is told to stay with it, by each request', async () => {
    const over = async (
      headers: Record<string, string>,
      publicUrl?: string,
    ): Promise<string | null> => {
      const options = publicUrl === undefined ? {} : { publicUrl };
      await using http = await server({ apiKeys: ['a-good-key-of-16'], ...options });
      const answer = await fetch(`${http.ownUrl}/health/live`, { headers });
      return answer.headers.get('strict-transport-security');
    };
    const told = 'max-age=15552000; includeSubDomains';
    expect(await over({})).toBeNull();
    expect(await over({ 'x-forwarded-proto': 'http' })).toBeNull();
    expect(await over({ 'x-forwarded-proto': 'https, http' })).toBe(told);
    expect(await over({ forwarded: 'for=192.0.2.1;proto=https' })).toBe(told);
    expect(await over({}, 'https://bridge.example.net')).toBe(told);
  });

  test('the internal key opens the speech interface and nothing else', async () => {
    await using http = await server({ apiKeys: ['a-good-key-of-16'] });
    http.mount(samplePart());
    const headers = { 'x-service-key': 'internal-key-0000' };
    expect((await fetch(`${http.ownUrl}/v2/hello`, { headers })).status).toBe(200);
    expect((await fetch(`${http.ownUrl}/api/hello`, { headers })).status).toBe(401);
  });

  test('a listener beyond loopback without a key refuses to start, unless told otherwise', async () => {
    await expect(server({ host: '0.0.0.0' })).rejects.toThrow(/TRUNKLINE_API_KEYS/);
    await using open = await server({ host: '0.0.0.0', insecure: true });
    expect((await fetch(`${open.ownUrl}/health/live`)).status).toBe(200);
  });

  test('without keys a foreign Origin or Host is refused, upgrades too', async () => {
    await using http = await server();
    http.mount(samplePart());
    const status = async (headers: string): Promise<string> =>
      (
        await raw(http.port, `GET /api/hello HTTP/1.1\r\nConnection: close\r\n${headers}\r\n`)
      ).slice(9, 12);
    expect(await status('Host: localhost:8080\r\n')).toBe('200');
    expect(await status('Host: 127.0.0.1\r\nOrigin: http://localhost:3000\r\n')).toBe('200');
    expect(await status('Host: evil.example\r\n')).toBe('403');
    expect(await status('Host: localhost\r\nOrigin: https://evil.example\r\n')).toBe('403');
    expect(await status('Host: localhost\r\nOrigin: null\r\n')).toBe('403');
    expect(await raw(http.port, upgrade('/silent', 'Origin: https://evil.example\r\n'))).toContain(
      '403 Forbidden',
    );
  });
});

describe('answers', () => {
  test('every refusal has the interface error body and a request id', async () => {
    await using http = await server();
    http.mount(samplePart());
    const missing = await fetch(`${http.ownUrl}/v2/nothing?x=1`);
    expect(missing.status).toBe(404);
    const body = (await missing.json()) as Record<string, unknown>;
    expect(body).toEqual({
      timestamp: expect.stringMatching(/Z$/),
      path: '/v2/nothing',
      request_id: expect.stringMatching(/^G-[0-9a-f]{8}$/),
      statusCode: 404,
      message: 'Not found',
    });
    expect(missing.headers.get('x-aipi-call-id')).toBe(body['request_id']);
    const refused = (await (await fetch(`${http.ownUrl}/v2/refused`)).json()) as Record<
      string,
      unknown
    >;
    expect(refused['validation_errors']).toEqual(['field must be a number']);
  });

  test('a person who follows a link to nowhere gets a page, and a program the error body', async () => {
    await using http = await server();
    http.mount(samplePart());
    const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const page = await fetch(`${http.ownUrl}/nonsense/%3Cscript%3E`, { headers: browser });
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']); // prettier-ignore
    const text = await page.text();
    expect(text).toContain('<h1>Page not found</h1>');
    expect(text).toContain('href="/#/calls"');
    expect(text).not.toContain('<script>');
    for (const [path, init] of [
      ['/nonsense', {}],
      ['/nonsense', { headers: { accept: '*/*' } }],
      ['/nonsense', { headers: browser, method: 'POST' }],
      ['/api/nonsense', { headers: browser }],
      ['/v2/nonsense', { headers: browser }],
    ] as const) {
      const answer = await fetch(http.ownUrl + path, init);
      expect(answer.headers.get('content-type'), path).toContain('application/json');
    }
  });

  test('a bug answers 500 without its text', async () => {
    await using http = await server();
    http.mount(samplePart());
    const answer = await fetch(`${http.ownUrl}/api/bug`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('canary');
  });

  test('bodies are bounded and must be JSON', async () => {
    await using http = await server();
    http.mount(samplePart());
    const post = (body: string): Promise<Response> =>
      fetch(`${http.ownUrl}/api/echo`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
    expect((await post('{"a":1}')).status).toBe(200);
    expect((await post('{"a":')).status).toBe(400);
    expect((await post(JSON.stringify('x'.repeat(httpLimits.jsonBodyBytes)))).status).toBe(413);
  });

  test('security headers go with every answer', async () => {
    await using http = await server();
    const { headers } = await fetch(`${http.ownUrl}/health/live`);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-powered-by')).toBeNull();
  });

  test('readiness follows the parts, and a stranger is not told why', async () => {
    await using http = await server({ apiKeys: ['a-good-key-of-16'] });
    const part = samplePart();
    http.mount(part);
    const ready = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${http.ownUrl}/health/ready`, { headers });
    expect((await ready({})).status).toBe(200);
    part.state = 'down';
    expect([(await ready({})).status, await (await ready({})).json()]).toEqual([
      503,
      { status: 'not ready' },
    ]);
    expect(await (await ready(key)).json()).toMatchObject({
      checks: { sample: { state: 'down' } },
    });
  });
});

describe.concurrent('limits on sockets', () => {
  test('a silent socket and a dripped header are cut off', async () => {
    await using http = await server();
    const started = performance.now();
    const drip = raw(http.port, 'GET / HTTP/1.1\r\n', (socket) => {
      const timer = setInterval(() => socket.write('x: y\r\n'), 500);
      socket.once('close', () => clearInterval(timer));
    });
    await Promise.all([raw(http.port, ''), drip]);
    expect(performance.now() - started).toBeGreaterThan(httpLimits.headersTimeoutMs - 500);
  });

  test('one address holds half of the connections, streams not counted; the others go on', async () => {
    await using http = await server({ maxConnections: 100 });
    http.mount(samplePart());
    const gone = new Set<Socket>();
    const comeFrom = (localAddress: string, text: string): Socket => {
      const socket = connect({ port: http.port, host: '127.0.0.1', localAddress });
      socket.on('error', () => undefined).on('close', () => gone.add(socket));
      socket.resume().write(text);
      return socket;
    };
    const streams = Array.from({ length: 20 }, () => comeFrom('127.0.0.2', upgrade('/open')));
    await Promise.all(streams.map((socket) => once(socket, 'data')));
    const silent = Array.from({ length: 60 }, () => comeFrom('127.0.0.2', ''));
    await until(() => gone.size === 10);
    expect((await fetch(`${http.ownUrl}/health/live`)).status).toBe(200);
    expect(gone.size).toBe(10);
    silent.find((socket) => !gone.has(socket))?.destroy();
    await until(() => gone.size === 11);
    const next = comeFrom('127.0.0.2', 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [answer] = (await once(next, 'data')) as [Buffer];
    expect(answer.toString()).toContain('200 OK');
    for (const socket of [...streams, ...silent, next]) socket.destroy();
  });

  test('a header block over the limit answers 431', async () => {
    await using http = await server();
    const answer = await raw(
      http.port,
      `GET / HTTP/1.1\r\nHost: localhost\r\nx: ${'y'.repeat(httpLimits.maxHeaderBytes)}\r\n\r\n`,
    );
    expect(answer).toContain('431');
  });

  test('smuggling pairs are refused and the connection closed', async () => {
    await using http = await server();
    for (const headers of [
      'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n',
      'Content-Length: 4\r\nContent-Length: 5\r\n',
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
      'Content-Length : 4\r\n',
    ])
      expect(
        await raw(http.port, `POST /api/x HTTP/1.1\r\nHost: localhost\r\n${headers}\r\nabcd`),
      ).toMatch(/^HTTP\/1\.1 400/);
  });

  test('an upgrade that nobody decides is destroyed, and one that nobody owns is refused without a body', async () => {
    await using http = await server();
    http.mount(samplePart());
    expect(await raw(http.port, upgrade('/silent'))).toBe('');
    expect(await raw(http.port, upgrade('/elsewhere'))).toBe(
      'HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
    );
  });

  test('a request that the port refuses is counted, and its connection is over at once', async () => {
    await using http = await server();
    http.mount(samplePart());
    const counts = async (): Promise<number[]> => {
      const text = await (await fetch(`${http.ownUrl}/metrics`)).text();
      return ['403', '404', 'none'].map(
        (status) =>
        Number(new RegExp(`^trunkline_upgrades_refused_total\\{status="${status}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0), // prettier-ignore
      );
    };
    const before = await counts();
    const foreign = await raw(http.port, upgrade('/open', 'Origin: https://evil.example\r\n'));
    expect(foreign).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[^]*TRUNKLINE_API_KEYS/);
    await refusalEndsConnection(http.port, '/elsewhere');
    await raw(http.port, upgrade('/silent'));
    const after = await counts();
    // Other tests of this file refuse at the same time.
    for (const [index, count] of after.entries()) expect(count).toBeGreaterThan(before[index] ?? 0);
  });

  test('upgrades in progress are capped, and the cap frees itself', async () => {
    await using http = await server();
    http.mount(samplePart());
    for (let answer = ''; !answer.includes('503');) {
      const all = Array.from({ length: maxUpgradesInProgress }, () =>
        raw(http.port, upgrade('/silent')),
      );
      answer = await raw(http.port, upgrade('/silent'));
      if (answer.includes('503')) expect(answer).toMatch(/\r\n\r\ntoo many upgrades at once\n$/);
      // On a slow machine the first places are free again before the last are asked for: then once more.
      await Promise.all(all);
    }
    expect(await raw(http.port, upgrade('/silent'))).toBe('');
  });

  test('an admitted stream holds no place of those that wait for their decision', async () => {
    await using http = await server();
    http.mount(samplePart());
    const sockets: Socket[] = [];
    const statuses = new Set<string>();
    for (let batch = 0; batch < 4; batch++)
      await Promise.all(
        Array.from({ length: maxUpgradesInProgress / 2 }, async () => {
          const socket = connect(http.port, '127.0.0.1');
          sockets.push(socket);
          socket.on('error', () => undefined).write(upgrade('/open'));
          const [answer] = (await once(socket, 'data')) as [Buffer];
          statuses.add(answer.toString('latin1').slice(9, 12));
        }),
      );
    expect(statuses).toEqual(new Set(['101']));
    for (const socket of sockets) socket.destroy();
  });

  test('a socket serves a bounded number of requests and an idle one is closed', async () => {
    await using http = await server();
    const one = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n';
    // Ten at a time: a connection that asks on without waiting is ended long before.
    const answer = await raw(http.port, one.repeat(10), (socket) => {
      socket.on('data', (data: Buffer) => {
        const answered = data.toString('latin1').split('HTTP/1.1 200').length - 1;
        if (answered > 0) socket.write(one.repeat(answered));
      });
    });
    expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(httpLimits.maxRequestsPerSocket);
    expect(await raw(http.port, one)).toContain('200');
  });
});
