import express from 'express';
import { request as ask } from 'node:http';
import { expect, test } from 'vitest';
import { signInCookie } from '../../../src/people/holders.ts';
import { cookieOf, portWithPeople } from '../../support/people/people.ts';

/** The real port and the real sign-in, with a speech interface that says what reached it. */
async function signedIn() {
  const port = await portWithPeople({ apiKeys: ['a-good-key-of-16'] });
  const { http } = port;
  const reached: string[] = [];
  const speech = express.Router().all(/^\/(?:v2|file)\//, (request, response) => {
    reached.push(`${request.method} ${request.path}`);
    response.json({});
  });
  http.mount({ name: 'speech', routers: [{ access: 'speech', router: speech }] });
  const cookie = await cookieOf(http.ownUrl, { key: 'a-good-key-of-16' });
  return {
    reached,
    origin: http.ownUrl,
    /** The target goes out as it is written: nothing tidies up its dots. */
    status(method: string, path: string, headers: Record<string, string> = {}): Promise<number> {
      return new Promise((resolve, reject) => {
        const sent = ask({
          ...{ host: '127.0.0.1', port: http.port, method, path, agent: false },
          headers: { cookie, ...headers },
        });
        sent.on('error', reject);
        sent.on('response', (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        sent.end();
      });
    },
    [Symbol.asyncDispose]: () => port[Symbol.asyncDispose](),
  };
}

const ofPage = { 'sec-fetch-site': 'same-origin' };
const job = '/v2/pre-recorded/0d9a4c1e-52b7-4f0e-8a41-6b1de4c3f001';

test('the sign-in opens the jobs to pages of this address, and nothing else of the speech interface', async () => {
  await using server = await signedIn();
  const used: [string, string][] = [
    ['POST', '/v2/upload'],
    ['POST', '/v2/pre-recorded'],
    ['GET', '/v2/pre-recorded?status=queued,processing'],
    ['GET', job],
    ['GET', `${job}/file`],
    ['POST', `${job}/cancel`],
    ['DELETE', job],
  ];
  for (const [method, path] of used) {
    expect(await server.status(method, path, ofPage)).toBe(200);
    // Over plain HTTP beyond loopback a browser sends no Sec-Fetch-Site.
    const plain = method === 'GET' ? {} : { origin: server.origin };
    expect(await server.status(method, path, plain)).toBe(200);
    const cookie = `${signInCookie}=guess`;
    expect(await server.status(method, path, { ...ofPage, cookie })).toBe(401);
    expect(await server.status(method, path, { ...ofPage, 'x-service-key': 'wrong' })).toBe(401);
  }
  expect(server.reached).toHaveLength(2 * used.length);

  server.reached.length = 0;
  for (const path of [
    ...['/v2/live', '/v2/transcription', '/file/0d9a4c1e', '/v2/upload/more', `${job}/file/more`],
    ...['/v2/pre-recorded/../live', '/v2/pre-recorded/%2e%2e/live', '//v2/upload', '/v2//upload'],
  ])
    for (const method of ['GET', 'POST', 'DELETE'])
      expect([path, await server.status(method, path, ofPage)]).not.toEqual([path, 200]);
  expect(server.reached).toEqual([]);
});

test('a page elsewhere, or one that does not say where it is, opens no job with the cookie', async () => {
  await using server = await signedIn();
  const { port } = new URL(server.origin);
  const elsewhere: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    // Another port of this host: the same site to a browser, which sends the cookie there.
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'same-site', origin: server.origin },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://elsewhere.example.com' },
    { origin: `http://127.0.0.1:${Number(port) + 1}` },
    { origin: 'null' },
  ];
  for (const headers of elsewhere) {
    expect(await server.status('GET', job, headers)).toBe(401);
    expect(await server.status('POST', '/v2/upload', headers)).toBe(401);
    expect(await server.status('POST', '/v2/pre-recorded', headers)).toBe(401);
    expect(await server.status('DELETE', job, headers)).toBe(401);
  }
  expect(await server.status('POST', '/v2/upload')).toBe(401);
  expect(await server.status('DELETE', job)).toBe(401);
  expect(server.reached).toEqual([]);
});

test('behind a proxy that speaks TLS the cookie of a sign-in is for TLS alone', async () => {
  const key = 'a-good-key-of-16';
  await using port = await portWithPeople({ apiKeys: [key] });
  const { http } = port;
  const cookieWith = async (headers: Record<string, string>): Promise<string> => {
    const answer = await fetch(`${http.ownUrl}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ key }),
    });
    expect(answer.status).toBe(204);
    return answer.headers.get('set-cookie') ?? '';
  };
  expect(await cookieWith({})).not.toMatch(/secure/i);
  expect(await cookieWith({ 'x-forwarded-proto': 'https' })).toMatch(/; Secure/);
});
