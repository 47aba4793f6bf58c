import { expect, test } from 'vitest';
import {
  actions,
  keyScopes,
  personRoles,
  reachOf,
  RightsTable,
  type Right,
  type Holder,
} from '../../../src/protocol/rights.ts';
import { cookieOf } from '../../support/people/people.ts';
import { startApp } from '../../support/process/app.ts';

type DescribedPaths = { paths: Record<string, Record<string, unknown>> };
type Asker = { name: string; holder: Holder; headers: Record<string, string> };

const key = 'key-of-the-settings-in-the-test';
const password = 'four-words-are-easy';
const table = new RightsTable();

async function made<T>(url: string, path: string, body: unknown): Promise<T> {
  const headers = { 'content-type': 'application/json', 'x-service-key': key };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect([path, answer.status]).toEqual([path, 201]);
  return (await answer.json()) as T;
}

/** A key of each scope, and a person of each role, as the page of this address. */
async function everybody(url: string): Promise<Asker[]> {
  const askers: Asker[] = [{ name: 'nobody', holder: { scopes: [], roles: [] }, headers: {} }];
  for (const scope of keyScopes) {
    const { key: text } = await made<{ key: string }>(url, '/api/keys', { name: scope, scopes: [scope] }); // prettier-ignore
    askers.push({
      ...{ name: `key ${scope}`, holder: { scopes: [scope], roles: [] } },
      headers: { 'x-service-key': text },
    });
  }
  for (const role of personRoles) {
    await made(url, '/api/people', { login: role, roles: [role], password, agent_id: role });
    const cookie = await cookieOf(url, { login: role, password });
    askers.push({
      ...{ name: `person ${role}`, holder: { scopes: [], roles: [role] } },
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    });
  }
  return askers;
}

async function statusOf(url: string, method: string, headers: Record<string, string>) {
  const cancel = new AbortController();
  const signal = AbortSignal.any([cancel.signal, AbortSignal.timeout(20_000)]);
  try {
    const answer = await fetch(url, {
      ...{ method, redirect: 'manual' as const, signal },
      headers: { ...headers, ...(method === 'GET' ? {} : { 'content-type': 'application/json' }) },
      ...(['GET', 'HEAD', 'DELETE'].includes(method) ? {} : { body: '{}' }),
    });
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    return { status: answer.status, text: isStream ? '' : await answer.text() };
  } finally {
    cancel.abort();
  }
}

test(
  'every route and every key and role: no answer that the table forbids, and none refused that it allows',
  { timeout: 180_000 },
  async () => {
    await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
    const askers = await everybody(app.url);
    const { paths } = (await (await app.get('/openapi.json')).json()) as DescribedPaths;
    const wrong: string[] = [];
    let asked = 0;
    for (const [path, methods] of Object.entries(paths))
      for (const name of Object.keys(methods)) {
        const method = name.toUpperCase();
        const action = table.find(method, path)?.action;
        if (action === undefined || action === 'open' || action === 'own proof') continue;
        const target = path.replaceAll(/\{\w+\}/g, 'call_unknown');
        for (const { name: asker, holder, headers } of askers)
          // The headers of an event stream are not sent before its first event, which a HEAD never gets.
          for (const one of method === 'GET' && !path.endsWith('/live')
            ? ['GET', 'HEAD']
            : [method]) {
            // prettier-ignore
            const { status, text } = await statusOf(app.url + target, one, headers);
            asked++;
            const mayIt = isAllowed(holder, action);
            const isRefused = status === 401 || status === 403;
            if (isRefused === mayIt) wrong.push(`${asker}: ${one} ${path}: ${status} ${text}`);
          }
      }
    console.log(`${asked} requests`);
    expect(wrong).toEqual([]);
    expect(asked).toBeGreaterThan(askers.length * Object.keys(actions).length);
    expect(app.process.exitCode).toBeNull();
  },
);

function isAllowed(holder: Holder, action: Right): boolean {
  return reachOf(holder, action) !== undefined;
}

test('a path that no table names is answered to nobody, and a method that it lacks neither', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  const headers = { 'x-service-key': key };
  const asked: [string, string, number][] = [
    ['GET', '/api/nothing', 404],
    ['PUT', '/api/calls', 404],
    ['GET', '/api/calls/x/y/z', 404],
    ['GET', '//api/calls', 404],
    ['GET', '/api//calls', 404],
    ['PATCH', '/v2/live', 405],
    ['POST', '/file/x', 405],
    ['GET', '/v2/nothing', 404],
  ];
  for (const [method, path, status] of asked) {
    const answer = await app.get(path, { method, headers });
    expect([method, path, answer.status]).toEqual([method, path, status]);
  }
  const { headers: told } = await app.get('/v2/live', { method: 'PATCH', headers });
  expect(told.get('allow')).toBe('GET, HEAD, POST');
});
