import { expect, test } from 'vitest';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
} from '../../support/carriers/carrier-client.ts';
import { cookieOf } from '../../support/people/people.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';

type CallShown = { id: string; state: string; agent: { id: string } | null };

const key = 'key-of-the-settings-in-the-test';
const password = 'four-words-are-easy';
const admin = { 'x-service-key': key, 'content-type': 'application/json' };

async function post(app: App, path: string, body: unknown): Promise<Response> {
  return app.get(path, { method: 'POST', headers: admin, body: JSON.stringify(body) });
}

/** A call of this agent, which goes on until it is disposed. */
async function callOf(app: App, agent: string): Promise<AsyncDisposable & { id: string }> {
  const stream = await post(app, '/api/streams', { carrier: 'twilio', metadata: { agent_id: agent } }); // prettier-ignore
  const { url } = (await stream.json()) as { url: string };
  const client = await CarrierClient.open(url.replace(/^wss?:\/\/[^/]+/, app.url.replace('http', 'ws'))); // prettier-ignore
  client.send(twilioConnected, twilioStart({ callSid: `CA-of-${agent}`, tracks: ['inbound'] }));
  for (let at = 0; at < 50; at++) client.send(twilioMedia(2 + at, Buffer.alloc(160, 0xff)));
  const id = await until(async () => {
    const found = await app.get(`/api/calls?agent=${agent}`, { headers: admin });
    return ((await found.json()) as { items: CallShown[] }).items[0]?.id;
  });
  return { id, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/** Everything a feed sends until `has` is in it. */
async function feedUntil(
  url: string,
  headers: Record<string, string>,
  has: string,
): Promise<string> {
  const cancel = new AbortController();
  const answer = await fetch(url, { headers, signal: cancel.signal });
  let text = '';
  for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.includes(has)) break;
  }
  cancel.abort();
  return text;
}

const reading = ['', '/transcript', '/events', '/live', '/recording', '/wrap-up', '/assist', '/statuses', '/evidence']; // prettier-ignore

test('an agent finds, reads, hears and changes no call of another agent, and a supervisor those of the team', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  for (const [login, role, team] of [['ann', 'agent', 'north'], ['bob', 'agent', 'south'], ['sue', 'supervisor', 'north'], ['new', 'agent', 'west']] as const) // prettier-ignore
    await post(app, '/api/people', { login, roles: [role], teams: [team], password, ...(role === 'agent' && login !== 'new' ? { agent_id: login } : {}) }); // prettier-ignore
  await using ofAnn = await callOf(app, 'ann');
  await using ofBob = await callOf(app, 'bob');
  const cookies = new Map<string, Record<string, string>>();
  for (const login of ['ann', 'bob', 'sue', 'new'])
    cookies.set(login, { cookie: await cookieOf(app.url, { login, password }) });
  const asked = (login: string, path: string, init: RequestInit = {}): Promise<Response> =>
    app.get(path, {
      ...init,
      headers: { ...cookies.get(login), 'content-type': 'application/json' },
    });

  const lists: Record<string, string[]> = {};
  for (const login of cookies.keys()) {
    const { items } = (await (await asked(login, '/api/calls')).json()) as { items: CallShown[] };
    lists[login] = items.map(({ agent }) => agent?.id ?? '');
    const stolen = (await (await asked(login, '/api/calls?agent=bob')).json()) as { items: CallShown[] }; // prettier-ignore
    expect([login, stolen.items.length]).toEqual([login, login === 'bob' ? 1 : 0]);
    const found = await asked(login, '/api/search?q=hello');
    expect([login, found.status]).toEqual([login, 200]);
  }
  expect(lists).toEqual({ ann: ['ann'], bob: ['bob'], sue: ['ann'], new: [] });

  // A team narrows a list to the calls of its agents, and opens none that somebody may not see.
  const ofTeam = async (headers: Record<string, string>, team: string): Promise<string[]> => {
    const { items } = (await (await app.get(`/api/calls?team=${team}`, { headers })).json()) as { items: CallShown[] }; // prettier-ignore
    return items.map(({ agent }) => agent?.id ?? '');
  };
  expect(await ofTeam(admin, 'North')).toEqual(['ann']);
  expect(await ofTeam(admin, 'south')).toEqual(['bob']);
  for (const team of ['west', 'nowhere']) expect(await ofTeam(admin, team)).toEqual([]);
  expect(await ofTeam(cookies.get('sue')!, 'south')).toEqual([]);

  for (const login of ['ann', 'sue', 'new']) {
    for (const path of reading) {
      const { status } = await asked(login, `/api/calls/${ofBob.id}${path}`, { headers: {} });
      expect([login, path, status]).toEqual([login, path, path === '/statuses' || path === '/evidence' ? (login === 'sue' ? 404 : 403) : 404]); // prettier-ignore
    }
    for (const [method, path] of [
      ['PATCH', ''],
      ['PUT', '/wrap-up'],
      ['POST', '/pause'],
      ['POST', '/resume'],
      ['POST', '/expect'],
      ['POST', '/assist/feedback'],
    ] as const) {
      // prettier-ignore
      const { status } = await asked(login, `/api/calls/${ofBob.id}${path}`, { method, body: '{}' });
      expect([login, path, status]).toEqual([login, path, 404]);
    }
  }
  expect((await asked('ann', `/api/calls/${ofAnn.id}`)).status).toBe(200);
  expect((await asked('sue', `/api/calls/${ofAnn.id}`)).status).toBe(200);
  const paused = await asked('ann', `/api/calls/${ofAnn.id}/pause`, { method: 'POST', body: '{}' });
  expect(paused.status).toBe(200);

  // The feed of all calls: what is told of Bob's call never reaches Ann, before and after hers was told of.
  const feed = feedUntil(`${app.url}/api/live`, cookies.get('ann')!, 'note for ann');
  await until(async () => (await (await app.get('/metrics', { headers: admin })).text()).includes('trunkline_')); // prettier-ignore
  const note = (id: string, notes: string): Promise<Response> =>
    app.get(`/api/calls/${id}`, {
      method: 'PATCH',
      headers: admin,
      body: JSON.stringify({ notes }),
    });
  let isOver = false;
  void feed.then(() => (isOver = true));
  await until(async () => {
    await note(ofBob.id, 'note for bob');
    await note(ofAnn.id, 'note for ann');
    return isOver;
  });
  const text = await feed;
  expect(text).toContain(ofAnn.id);
  expect(text).not.toContain(ofBob.id);
});

test('a feed ends within two seconds of the end of its sign-in, and of the revocation of its key', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  await post(app, '/api/people', { login: 'quinn', roles: ['quality'], password });
  const cookie = await cookieOf(app.url, { login: 'quinn', password });
  const made = (await (await post(app, '/api/keys', { name: 'wall', scopes: ['read'] })).json()) as { id: string; key: string }; // prettier-ignore
  const ended = async (headers: Record<string, string>): Promise<string> => {
    const answer = await app.get('/api/live', { headers });
    expect(answer.status).toBe(200);
    return answer.text().catch(() => 'cut');
  };
  const feeds = Promise.all([ended({ cookie }), ended({ 'x-service-key': made.key })]);
  const { items } = (await (await app.get('/api/sign-ins', { headers: admin })).json()) as { items: { id: string }[] }; // prettier-ignore
  expect(items).toHaveLength(1);
  await app.get(`/api/sign-ins/${items[0]!.id}`, { method: 'DELETE', headers: admin });
  await app.get('/api/keys/wall', { method: 'DELETE', headers: admin });
  const startedMs = performance.now();
  expect(await feeds).toEqual(['cut', 'cut']);
  console.log(`both feeds were cut after ${Math.round(performance.now() - startedMs)} ms`);
  for (const headers of [{ cookie }, { 'x-service-key': made.key }])
    expect((await app.get('/api/calls', { headers })).status).toBe(401);
});
