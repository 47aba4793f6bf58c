import express from 'express';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { HttpConfig } from '../../../src/port/config.ts';
import { listen, type HttpServer } from '../../../src/port/http.ts';
import { rightsWith } from '../../support/people/rights.ts';

function server(settings: Record<string, unknown> = {}): Promise<HttpServer> {
  return listen({
    config: HttpConfig.parse({ port: 0, ...settings }),
    insecure: false,
    internalKey: 'internal-key-0000',
    log: createLog({ level: 'silent' }),
    rights: rightsWith({
      'GET /thing/{id}': 'open',
      'GET /api/thing': 'calls.read',
      'POST /api/thing': 'calls.note',
    }),
  });
}

/** Everything that is answered to these bytes. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => (answer += data.toString('latin1')));
  socket.on('error', () => undefined).write(text);
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return answer;
}

const get = (target: string, more = ''): string =>
  `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${more}\r\n`;

test.each([
  ['slashes alone', get('///'), 404, '///'],
  ['slashes and a query', get('///?a=1'), 404, '///'],
  ['a name that is none', get('//['), 404, '//['],
  ['a parameter that is no text', get('/thing/%E0%A4%A'), 400, '/thing/%E0%A4%A'],
  ['an absolute target', get('http://localhost/nothing'), 404, '/nothing'],
  ['an unknown expectation', get('/nothing', 'Expect: the-best\r\n'), 404, '/nothing'],
  ['another method', 'PURGE /nothing HTTP/1.1\r\nHost: a\r\n\r\n', 403, '/nothing'],
  ['a tunnel', 'CONNECT localhost:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405, '/'],
  ['no HTTP at all', 'hello\r\n\r\n', 400, '/'],
  ['large headers', get('/nothing', `x: ${'y'.repeat(9_000)}\r\n`), 431, '/'],
  ['two lengths', get('/nothing', 'Content-Length: 1\r\nContent-Length: 2\r\n'), 400, '/'],
])('%s is answered with the error body of the interface', async (_what, text, status, path) => {
  await using http = await server();
  const router = express.Router();
  router.get('/thing/:id', (_request, response) => void response.json({}));
  http.mount({ name: 'sample', routers: [{ access: 'public', router }] });
  const answer = await raw(http.port, text.replace('Host: a', 'Connection: close\r\nHost: a'));
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  console.log(answer.slice(0, 30).replaceAll('\r\n', ' '), body.slice(0, 60).replaceAll('\n', ' '));
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(JSON.parse(body)).toMatchObject({
    statusCode: status,
    path: expect.stringContaining(path),
    request_id: expect.stringMatching(/^G-[0-9a-f]{8}$/),
    message: expect.any(String),
  });
  expect(answer).not.toMatch(/node_modules|\bat .*\.ts/);
});

test('an offer to speak another protocol than WebSocket is passed over', async () => {
  await using http = await server();
  const offer = 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n';
  const answer = await raw(
    http.port,
    `GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\n${offer}\r\n`,
  );
  console.log(answer.slice(0, 40));
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
});

test('without keys a page of another origin can neither ask nor change anything, and a proxy is not answered', async () => {
  await using http = await server();
  const router = express.Router();
  router.get('/api/thing', (_request, response) => void response.json({}));
  router.post('/api/thing', (_request, response) => void response.json({}));
  const page = express.Router();
  page.get('/', (_request, response) => void response.send('page'));
  http.mount({
    name: 'sample',
    routers: [
      { access: 'operator', router },
      { access: 'public', router: page },
    ],
  });
  const own = `http://localhost:${http.port}`;
  const host = `Host: localhost:${http.port}\r\n`;
  const status = async (method: string, path: string, more: string): Promise<number> => {
    const text = `${method} ${path} HTTP/1.1\r\n${host}Connection: close\r\nContent-Length: 0\r\n${more}\r\n`;
    return Number((await raw(http.port, text)).slice(9, 12));
  };
  const link =
    'Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n';
  const seen: Record<string, number> = {
    'own page reads': await status('GET', '/api/thing', 'Sec-Fetch-Site: same-origin\r\n'),
    'own page changes': await status(
      'POST',
      '/api/thing',
      `Origin: ${own}\r\nSec-Fetch-Site: same-origin\r\n`,
    ),
    'own page of an old browser changes': await status('POST', '/api/thing', `Origin: ${own}\r\n`),
    'program changes': await status('POST', '/api/thing', ''),
    'link elsewhere to the page': await status('GET', '/', link),
    'link elsewhere to a route': await status('GET', '/api/thing', link),
    'image elsewhere': await status(
      'GET',
      '/api/thing',
      'Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n',
    ),
    'other port changes': await status('POST', '/api/thing', 'Origin: http://localhost:3000\r\n'),
    'other port of a new browser changes': await status(
      'POST',
      '/api/thing',
      'Sec-Fetch-Site: same-site\r\n',
    ),
    'other scheme changes': await status(
      'POST',
      '/api/thing',
      `Origin: https://localhost:${http.port}\r\n`,
    ),
    'other loopback name changes': await status(
      'POST',
      '/api/thing',
      `Origin: http://127.0.0.1:${http.port}\r\n`,
    ),
    'through a proxy': await status('GET', '/api/thing', 'X-Forwarded-For: 192.0.2.1\r\n'),
  };
  console.log(JSON.stringify(seen));
  expect(seen).toEqual({
    'own page reads': 200,
    'own page changes': 200,
    'own page of an old browser changes': 200,
    'program changes': 200,
    'link elsewhere to the page': 200,
    'link elsewhere to a route': 403,
    'image elsewhere': 403,
    'other port changes': 403,
    'other port of a new browser changes': 403,
    'other scheme changes': 403,
    'other loopback name changes': 403,
    'through a proxy': 403,
  });
});

test('wrong keys are counted for the client behind the proxy, and keep out neither others nor who is known', async () => {
  const key = 'right-key-of-16-';
  await using http = await server({ apiKeys: [key], trustedProxies: ['127.0.0.1'] });
  const router = express.Router();
  router.get('/api/thing', (_request, response) => void response.json({}));
  http.mount({ name: 'sample', routers: [{ access: 'operator', router }] });
  const ask = async (client: string, shown: string, path = '/api/thing'): Promise<number> => {
    const headers = { 'x-service-key': shown, 'x-forwarded-for': `203.0.113.9, ${client}` };
    return (await fetch(`${http.ownUrl}${path}`, { headers })).status;
  };
  expect(await ask('198.51.100.7', key)).toBe(200);
  const guesses: number[] = [];
  for (let n = 0; n < 30; n++) guesses.push(await ask('198.51.100.8', `wrong-key-${n}`));
  console.log(`answers to 30 wrong keys: ${guesses.join(' ')}`);
  expect(guesses).toEqual([...Array<number>(10).fill(401), ...Array<number>(20).fill(429)]);
  // The right key of another client, of one that guessed, and of one that was known before it guessed.
  expect(await ask('198.51.100.9', key)).toBe(200);
  expect(await ask('198.51.100.8', key)).toBe(429);
  for (let n = 0; n < 30; n++) await ask('198.51.100.7', `wrong-key-${n}`);
  expect(await ask('198.51.100.7', key)).toBe(200);
});
