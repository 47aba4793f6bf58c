import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { allRoutes } from '../../../src/protocol/openapi/document.ts';
import { callAt, fleetOf } from '../../support/bridge/fleet.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { EventStreamReader } from '../../support/browser/event-stream.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';

const key = 'key-of-the-operator-in-the-test';
const embedSecret = 'the-embed-secret-of-this-test-has-32';

const withKey = { 'x-service-key': key, 'content-type': 'application/json' };
const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' }); // prettier-ignore

async function asked(app: App, method: string, path: string, headers: Record<string, string>, body?: unknown) {
  const abort = new AbortController();
  const answer = await app.get(path, {
    method,
    headers,
    signal: abort.signal,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isStream ? '' : await answer.text();
  abort.abort();
  return { status: answer.status, text };
} // prettier-ignore

async function minted(app: App, order: Record<string, unknown>): Promise<AnyJson> {
  const { status, text } = await asked(app, 'POST', '/api/panel/tokens', withKey, order);
  expect(status).toBe(201);
  return JSON.parse(text);
}

function signedFor(sub: string, seconds = 600): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { aud: 'trunkline-panel', scope: 'agent', sub, exp: Date.now() / 1_000 + seconds };
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${text}.${createHmac('sha256', embedSecret).update(text).digest('base64url')}`;
}

const envOf = (speech: FakeSpeech) => ({
  TRUNKLINE_ROLES: 'bridge,console',
  TRUNKLINE_SPEECH_URL: speech.url,
  TRUNKLINE_API_KEYS: key,
  TRUNKLINE_PANEL_SECRET: embedSecret,
  TRUNKLINE_QUIET_FILL_MS: '0',
});

/** Two running calls, each with an agent of its own. */
async function twoCalls(app: App): Promise<{ own: string; other: string }> {
  const withAgent: App = { ...app, get: (path, init) => app.get(path, { ...init, headers: withKey }) }; // prettier-ignore
  const ids: string[] = [];
  for (const [at, agent] of ['a17', 'a18'].entries()) {
    await callAt(withAgent, `MZ${at}`, { callSid: `CA${at}` });
    const { items } = await until(async () => {
      const list = JSON.parse((await asked(app, 'GET', `/api/calls?carrier_call_id=CA${at}`, withKey)).text); // prettier-ignore
      return list.items.length > 0 && list;
    });
    ids.push(items[0].id);
    await asked(app, 'PUT', `/api/calls/${items[0].id}/agent`, withKey, { id: agent });
  }
  return { own: ids[0] ?? '', other: ids[1] ?? '' };
}

test('a token of one agent opens the calls of that agent by the routes of its list, and of all other routes, calls, feeds, recordings and exports none', async () => {
  await using speech = await FakeSpeech.start();
  await using app = await startApp({ env: envOf(speech) });
  const { own, other } = await twoCalls(app);
  const opened: Record<string, string[]> = {};
  const leaks: string[] = [];
  const tokens = {
    agent: (await minted(app, { scope: 'agent', agent: 'a17' })).token as string,
    call: (await minted(app, { scope: 'call', call_id: own })).token as string,
    signed: signedFor('a17'),
    supervisor: (await minted(app, { scope: 'supervisor' })).token as string,
    qa: (await minted(app, { scope: 'qa' })).token as string,
  };
  const routes = allRoutes([]).filter(({ access }) => access === 'key');
  expect(routes.length).toBeGreaterThan(60);
  for (const [scope, token] of Object.entries(tokens))
    for (const { method, path } of routes) {
      if (method === 'delete' && path === '/api/calls/{id}') continue; // asked last, below
      const name = `${method.toUpperCase()} ${path}`;
      const ask = (id: string) => asked(app, method.toUpperCase(), path.replaceAll(/\{\w+\}/g, id), bearer(token), method === 'get' ? undefined : {}); // prettier-ignore
      const { status, text } = await ask(own);
      if (status !== 401 && status !== 403) (opened[scope] ??= []).push(name);
      if (scope === 'supervisor' || scope === 'qa' || !path.includes('{')) {
        if (text.includes(other) && scope !== 'qa') leaks.push(`${scope}: ${name}`);
        continue;
      }
      const theirs = await ask(other);
      if (![401, 403, 404].includes(theirs.status))
        leaks.push(`${scope}: ${name} ${theirs.status}`);
      if (theirs.text.includes('CA1')) leaks.push(`${scope}: ${name} tells`);
    }
  expect(leaks).toEqual([]);
  const inCall = [
    'GET /api/calls/{id}',
    'PATCH /api/calls/{id}',
    'GET /api/calls/{id}/wrap-up',
    'PUT /api/calls/{id}/wrap-up',
    'GET /api/calls/{id}/live',
    'POST /api/calls/{id}/pause',
    'POST /api/calls/{id}/resume',
    'GET /api/calls/{id}/assist',
    'POST /api/calls/{id}/assist/feedback',
    'GET /api/calls/{id}/knowledge',
  ];
  const ofPanel = ['GET /api/panel/me', 'GET /api/panel/live'];
  // Articles are the same for everybody.
  const ofAll = ['GET /api/knowledge', 'GET /api/knowledge/articles/{article}'];
  const ofAgent = [...inCall, ...ofPanel, ...ofAll].toSorted();
  expect(opened['agent']?.toSorted()).toEqual(ofAgent);
  expect(opened['call']?.toSorted()).toEqual(ofAgent);
  expect(opened['signed']?.toSorted()).toEqual(ofAgent);
  for (const id of [own, other])
    for (const token of Object.values(tokens))
      expect((await asked(app, 'DELETE', `/api/calls/${id}`, bearer(token))).status).toBe(403);
  expect((await asked(app, 'GET', '/metrics', bearer(tokens.supervisor))).status).toBe(403);
  expect((await asked(app, 'GET', '/v2/pre-recorded', bearer(tokens.supervisor))).status).toBe(401);
}, 120_000);

test('a token is told once, listed without itself, and revoked: its open stream closes; a wrong token says so; a call that goes to another agent is gone', async () => {
  await using speech = await FakeSpeech.start();
  await using app = await startApp({ env: envOf(speech) });
  const { own, other } = await twoCalls(app);
  const { id, token, url } = await minted(app, { scope: 'agent', agent: 'a17', label: 'desk 4' });
  expect(url).toBe(`${app.url}/panel#t=${token}`);
  const list = (await asked(app, 'GET', '/api/panel/tokens', withKey)).text;
  expect(JSON.parse(list).items).toMatchObject([{ id, scope: 'agent', agent: 'a17', label: 'desk 4', revoked_at: null }]); // prettier-ignore
  expect(list).not.toContain(token);

  await using panel = await EventStreamReader.open(`${app.url}/api/panel/live`, bearer(token));
  await using feed = await EventStreamReader.open(
    `${app.url}/api/calls/${own}/live`,
    bearer(token),
  );
  const [{ data: first } = { data: undefined }] = await panel.waitFor('call');
  expect(first.call).toMatchObject({ id: own, agent: { id: 'a17' } });
  // A transfer: the call goes, and another comes.
  await asked(app, 'PUT', `/api/calls/${own}/agent`, withKey, { id: 'a18' });
  expect((await panel.waitFor('gone'))[0]?.data).toMatchObject({ call_id: own });
  await until(() => feed.closed);
  await asked(app, 'PUT', `/api/calls/${other}/agent`, withKey, { id: 'a17' });
  await until(() => panel.of('call').some(({ data }) => data.call.id === other));
  expect(JSON.stringify(panel.of('gone'))).not.toContain(other);

  expect((await asked(app, 'DELETE', `/api/panel/tokens/${id}`, withKey)).status).toBe(204);
  await until(() => panel.closed);
  const refused = await asked(app, 'GET', '/api/panel/me', bearer(token));
  expect(refused.status).toBe(401);
  expect(refused.text).toContain('was revoked');
  expect((await asked(app, 'GET', '/api/panel/me', bearer(`tlp_${'x'.repeat(43)}`))).status).toBe(
    401,
  );
  expect((await asked(app, 'GET', '/api/panel/me', withKey)).status).toBe(409);
  expect((await asked(app, 'DELETE', '/api/panel/tokens/pan_none', withKey)).status).toBe(404);
  const wrong = await asked(app, 'POST', '/api/panel/tokens', withKey, {
    scope: 'agent',
    call_id: own,
  });
  expect(wrong.status).toBe(400);
  expect(wrong.text).toMatch(/must say whose token it is/);
  expect((await asked(app, 'GET', '/api/panel/me', bearer(signedFor('a17', -1)))).status).toBe(401);
}, 60_000);

describe.skipIf(postgresMissing !== undefined)('on several nodes', () => {
  test('a token that one node made opens its call at every node, and no links of it; revoked at one, it is over at all', async () => {
    await using postgres = await startPostgres();
    await using fleet = await fleetOf(2, postgres, { TRUNKLINE_API_KEYS: key });
    const [first, second] = fleet.nodes;
    if (first === undefined || second === undefined) throw new Error('two nodes were started');
    const { own } = await twoCalls(first);
    const { id, token } = await minted(first, { scope: 'agent', agent: 'a17' });
    await using panel = await EventStreamReader.open(`${second.url}/api/panel/live`, bearer(token));
    await panel.waitFor('call');
    await using feed = await EventStreamReader.open(
      `${second.url}/api/calls/${own}/live`,
      bearer(token),
    );
    await feed.waitFor('call.started');
    expect((await asked(second, 'POST', `/api/calls/${own}/pause`, bearer(token))).status).toBe(
      200,
    );
    await feed.waitFor('call.paused');
    await asked(first, 'DELETE', `/api/panel/tokens/${id}`, withKey);
    await until(() => panel.closed && feed.closed);
    expect((await asked(second, 'GET', `/api/calls/${own}`, bearer(token))).status).toBe(401);
  }, 90_000);
});
