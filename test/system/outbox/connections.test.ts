import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type {
  ConnectionList,
  Connected,
  ConnectionTrial,
} from '../../../src/protocol/connection-reports.ts';
import type { EndpointPage } from '../../../src/protocol/delivery-reports.ts';
import { verifyWebhook } from '../../../src/lib/webhook-signature.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { trunkline } from '../../support/process/command.ts';
import { until } from '../../support/process/until.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryFolder } from '../../support/store/store.ts';

vi.setConfig({ testTimeout: 180_000 });

const key = 'a-key-of-the-tests-24-long';
const token = 'a-token-of-the-stand-in-crm';
const headers = { 'x-service-key': key, 'content-type': 'application/json' };
const env = { TRUNKLINE_API_KEYS: key, TRUNKLINE_CONNECT_HOSTS: '127.0.0.1' };

/** A CRM as the preset `generic` knows it: contacts, and calls by our own id. */
async function standInCrm() {
  const seen: {
    method: string;
    path: string;
    token: string;
    body: string;
    headers: IncomingMessage['headers'];
  }[] = [];
  const calls = new Map<string, string>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString('utf8');
    const { method = '', url: path = '' } = request;
    seen.push({
      method,
      path,
      token: request.headers.authorization ?? '',
      body,
      headers: request.headers,
    });
    const id = path.slice('/calls/'.length);
    if (path.startsWith('/hook')) response.writeHead(204).end();
    else if (request.headers.authorization !== `Bearer ${token}`) response.writeHead(401).end('{}');
    else if (method === 'GET') response.writeHead(200).end('{"items":[]}');
    else {
      if (method === 'PUT') calls.set(id, body);
      else calls.delete(id);
      response.writeHead(200).end('{}');
    }
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    calls,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const ask = (app: App, method: string, path: string, body?: unknown) =>
  app.get(path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const connections = async (app: App) =>
  ((await (await ask(app, 'GET', '/api/connections')).json()) as ConnectionList).items;

/** Sends an example of an ended call; only an endpoint that is named gets one with a mapping. */
const example = (app: App, endpoint: string) =>
  ask(app, 'POST', '/api/test-events', { type: 'call.completed', endpoint });

test('a CRM is tried, connected, delivered to, kept over a restart, and disconnected, all without the settings', async () => {
  await using crm = await standInCrm();
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const setting = { preset: 'generic', url: crm.url, token };
  {
    await using app = await startApp({ env, dataDir });
    const wrong = await ask(app, 'POST', '/api/connections/trial', {
      ...setting,
      token: 'another-token',
    });
    const refused = (await wrong.json()) as ConnectionTrial;
    expect(refused.ok).toBe(false);
    expect(refused.lines.map(({ text }) => text).join()).toContain('401');
    expect(crm.calls.size).toBe(0);
    const tried = (await (
      await ask(app, 'POST', '/api/connections/trial', setting)
    ).json()) as ConnectionTrial;
    expect(tried).toEqual({
      ok: true,
      lines: [
        { ok: true, text: 'contacts' },
        { ok: true, text: expect.stringContaining('the CRM took the test call') as string },
        { ok: true, text: 'the test record was removed' },
      ],
    });
    expect(crm.calls.size).toBe(0);
    expect(await connections(app)).toEqual([]);

    const put = await ask(app, 'PUT', '/api/connections/crm', setting);
    expect(put.status).toBe(200);
    const connected = await put.text();
    expect(JSON.parse(connected)).toMatchObject({
      name: 'crm',
      preset: 'generic',
      state: 'connected',
    });
    expect(connected).not.toContain(token);
    expect((await example(app, 'crm')).status).toBe(202);
    await until(() => crm.calls.size === 1);
    // Nothing of the token is in the files of the database, and nobody else reads its key.
    await app.end('SIGTERM');
    const database = await readFile(join(dataDir, 'trunkline.sqlite'), 'latin1');
    expect(database).not.toContain(token);
    for (const line of app.lines) expect(line).not.toContain(token);
  }
  await using app = await startApp({ env, dataDir });
  expect(await connections(app)).toMatchObject([{ name: 'crm', state: 'connected' }]);
  expect((await example(app, 'crm')).status).toBe(202);
  await until(() => crm.calls.size === 2);
  const listed = trunkline(['crm', 'list', '--process', app.url], env);
  expect(await listed.ended).toBe(0);
  expect(listed.lines.join('\n')).toContain('endpoint crm: generic, 127.0.0.1');
  // Its token is with the process alone, so the process tries it.
  const before = crm.calls.size;
  for (const [args, told] of [
    [['check'], 'ok  contacts'],
    [['setup'], 'has nothing that a command can make'],
    [['try', '--endpoint', 'crm'], 'ok  the test record was removed'],
  ] as const) {
    const run = trunkline(['crm', ...args, '--process', app.url], env);
    expect([args, await run.ended]).toEqual([args, 0]);
    expect(run.lines.join('\n')).toContain(told);
  }
  expect(crm.calls.size).toBe(before);
  const kept = trunkline(['crm', 'try', '--keep', '--process', app.url], env);
  expect(await kept.ended).toBe(0);
  expect(crm.calls.size).toBe(before + 1);
  const unknown = trunkline(['crm', 'check', 'crmm', '--process', app.url], env);
  expect(await unknown.ended).toBe(1);
  expect(unknown.lines.join('\n')).toContain('No endpoint is named crmm: there is crm');
  expect((await ask(app, 'POST', '/api/connections/crmm/trial')).status).toBe(404);
  expect((await ask(app, 'POST', '/api/connections/crm/trial?part=all')).status).toBe(400);
  const removed = trunkline(['crm', 'disconnect', 'crm', '--process', app.url], env);
  expect(await removed.ended).toBe(0);
  expect(await connections(app)).toEqual([]);
  expect((await example(app, 'crm')).status).not.toBe(202);
  expect((await ask(app, 'DELETE', '/api/connections/crm')).status).toBe(404);
  // By the command, from the token to a call in the CRM.
  const args = ['crm', 'connect', 'generic', '--url', crm.url, '--token', token, '--yes'];
  const command = trunkline([...args, '--process', app.url], env);
  expect(await command.ended).toBe(0);
  expect(command.lines.join('\n')).toContain('connected as crm');
  expect((await example(app, 'crm')).status).toBe(202);
  await until(() => crm.calls.size === 3);
});

test('an address that leads inside, a wrong field and a stranger are refused, and nothing is kept', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  const setting = { preset: 'generic', token };
  for (const url of [
    'http://127.0.0.1:9',
    'http://169.254.169.254/latest',
    'http://[::1]:80',
    'https://user:pw@crm.example.com',
    'ftp://crm.example.com',
    'http://crm.example.com:25',
  ]) {
    const answered = await ask(app, 'PUT', '/api/connections/crm', { ...setting, url });
    expect([url, answered.status]).toEqual([url, 400]);
    const tried = await ask(app, 'POST', '/api/connections/trial', { ...setting, url });
    expect([url, tried.status]).toEqual([url, 400]);
  }
  // A name is looked up when it is dialled: one that leads inside is refused there.
  const named = await ask(app, 'POST', '/api/connections/trial', {
    ...setting,
    url: 'http://localhost:8099',
  });
  const { ok, lines } = (await named.json()) as ConnectionTrial;
  expect([ok, lines.map(({ text }) => text).join()]).toEqual([
    false,
    expect.stringContaining('refused'),
  ]);
  const near = await ask(app, 'PUT', '/api/connections/crm', { preset: 'hubspott', token });
  expect(near.status).toBe(400);
  expect(await near.text()).toContain('did you mean hubspot');
  const typo = await ask(app, 'PUT', '/api/connections/crm', { ...setting, tokenn: token });
  expect(typo.status).toBe(400);
  expect(await typo.text()).not.toContain(token);
  for (const body of [[], 'crm', 7, null])
    expect((await ask(app, 'PUT', '/api/connections/crm', body)).status).toBe(400);
  expect(
    (
      await ask(app, 'PUT', '/api/connections/Not%20a%20name', {
        ...setting,
        url: 'https://crm.example.com',
      })
    ).status,
  ).toBe(400);
  for (const [method, path] of [
    ['GET', '/api/connections'],
    ['PUT', '/api/connections/crm'],
    ['POST', '/api/connections/trial'],
    ['DELETE', '/api/connections/crm'],
  ] as const)
    expect((await app.get(path, { method })).status).toBe(401);
  expect(await connections(app)).toEqual([]);
});

test('an endpoint of the settings with the same name wins, and one that no key opens says so', async () => {
  await using crm = await standInCrm();
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  {
    await using app = await startApp({ env, dataDir });
    const put = await ask(app, 'PUT', '/api/connections/crm', {
      preset: 'generic',
      url: crm.url,
      token,
    });
    expect(put.status).toBe(200);
    await app.end('SIGTERM');
  }
  const file = join(folder.path, 'trunkline.yaml');
  await writeFile(
    file,
    `outbox:\n  endpoints: [{ name: crm, preset: generic, url: '${crm.url}/other', token: ${token} }]\n`,
  );
  {
    await using app = await startApp({ env: { ...env, TRUNKLINE_CONFIG: file }, dataDir });
    expect(await connections(app)).toMatchObject([{ name: 'crm', state: 'shadowed' }]);
    const again = await ask(app, 'PUT', '/api/connections/crm', {
      preset: 'generic',
      url: crm.url,
      token,
    });
    expect(again.status).toBe(409);
    expect((await example(app, 'crm')).status).toBe(202);
    await until(() =>
      crm.seen.some(({ method, path }) => method === 'PUT' && path.startsWith('/other/calls/')),
    );
    expect(crm.calls.size).toBe(1);
    await app.end('SIGTERM');
  }
  // Another key in place of the one that sealed it: the process starts, and says which endpoint has to be connected.
  await using app = await startApp({
    env: { ...env, TRUNKLINE_API_KEYS: 'another-key-of-the-tests' },
    dataDir,
  });
  const other = { 'x-service-key': 'another-key-of-the-tests' };
  const { items } = (await (
    await app.get('/api/connections', { headers: other })
  ).json()) as ConnectionList;
  expect(items).toMatchObject([
    {
      name: 'crm',
      state: 'unreadable',
      detail: expect.stringContaining('connect it again') as string,
    },
  ]);
});

test('a webhook that is connected gets signed events, by a secret that is told once', async () => {
  await using crm = await standInCrm();
  await using app = await startApp({ env });
  const put = await ask(app, 'PUT', '/api/connections/hook', {
    url: `${crm.url}/hook`,
    events: 'completed',
  });
  const { secret } = (await put.json()) as Connected;
  expect(secret).toMatch(/^whsec_/);
  expect(JSON.stringify(await connections(app))).not.toContain(secret);
  expect((await example(app, 'hook')).status).toBe(202);
  const got = await until(() => crm.seen.find(({ path }) => path === '/hook'));
  const { headers: sent, body } = got;
  expect(verifyWebhook([secret ?? ''], sent, Buffer.from(body))).toMatchObject({ ok: true });
  const { items } = (await (
    await ask(app, 'GET', '/api/deliveries/endpoints')
  ).json()) as EndpointPage;
  expect(items).toMatchObject([{ name: 'hook', connected: true }]);
});

test.skipIf(postgresMissing !== undefined)(
  'what one node connects all nodes deliver to, and what it disconnects none does',
  async () => {
    await using crm = await standInCrm();
    await using postgres = await startPostgres();
    const shared = { ...env, DATABASE_URL: await postgres.newDatabase() };
    await using here = await startApp({ env: shared });
    await using there = await startApp({ env: shared });
    const setting = { preset: 'generic', url: crm.url, token };
    expect((await ask(here, 'PUT', '/api/connections/crm', setting)).status).toBe(200);
    await until(async () => (await connections(there))[0]?.state === 'connected');
    // The one that connected it is gone: the other delivers.
    await here.end('SIGKILL');
    await until(async () => (await example(there, 'crm')).status === 202);
    await until(() => crm.calls.size === 1);
    // A node that starts knows it from its first moment.
    await using third = await startApp({ env: shared });
    expect(await connections(third)).toMatchObject([{ name: 'crm', state: 'connected' }]);
    expect((await ask(third, 'DELETE', '/api/connections/crm')).status).toBe(204);
    await until(async () => (await example(there, 'crm')).status !== 202);
    expect(await connections(there)).toEqual([]);
  },
);
