import { expect, test } from 'vitest';
import { allRoutes } from '../../../src/protocol/openapi/document.ts';
import { callAt } from '../../support/bridge/fleet.ts';
import { EventStreamReader } from '../../support/browser/event-stream.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';

const key = 'key-of-the-operator-in-the-test';
const password = 'four-words-are-easy';
const withKey = { 'x-service-key': key, 'content-type': 'application/json' };
const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' }); // prettier-ignore

async function asked(app: App, method: string, path: string, headers: Record<string, string>, body?: unknown) {
  const abort = new AbortController();
  const answer = await app.get(path, { method, headers, signal: abort.signal, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isStream ? '' : await answer.text();
  abort.abort();
  return { status: answer.status, text };
} // prettier-ignore

test('a token of a team opens the calls of its agents: board, list, feed and drill-down; of another team and of nobody none, and a team that changes counts at once', async () => {
  await using speech = await FakeSpeech.start();
  await using app = await startApp({ env: { TRUNKLINE_ROLES: 'bridge,console', TRUNKLINE_SPEECH_URL: speech.url, TRUNKLINE_API_KEYS: key, TRUNKLINE_QUIET_FILL_MS: '0' } }); // prettier-ignore
  const post = (path: string, body: unknown) => asked(app, 'POST', path, withKey, body);
  const people: Record<string, string> = {};
  for (const [login, team] of [['ann', 'North'], ['bob', 'south']] as const)
    people[login] = (JSON.parse((await post('/api/people', { login, roles: ['agent'], teams: [team], password, agent_id: login })).text) as { id: string }).id; // prettier-ignore
  const asAdmin = { ...app, get: (path: string, init: RequestInit = {}) => app.get(path, { ...init, headers: withKey }) } as App; // prettier-ignore
  const ids: Record<string, string> = {};
  for (const agent of ['ann', 'bob', 'nobody']) {
    await callAt(asAdmin, `MZ-${agent}`, { callSid: `CA-${agent}` });
    const call = await until(async () => {
      const newest = await newestCall(asAdmin);
      return newest?.carrier_call_id === `CA-${agent}` && newest;
    });
    ids[agent] = call.id as string;
    if (agent !== 'nobody') await asked(app, 'PUT', `/api/calls/${call.id}/agent`, withKey, { id: agent }); // prettier-ignore
  }
  const minted = async (order: object) => {
    const { status, text } = await post('/api/panel/tokens', order);
    expect(status).toBe(201);
    return (JSON.parse(text) as { token: string }).token;
  };
  const tokens = {
    supervisor: await minted({ scope: 'supervisor', teams: ['north'] }),
    qa: await minted({ scope: 'qa', teams: ['north', 'east'] }),
    empty: await minted({ scope: 'qa', teams: ['nowhere'] }),
  };
  for (const order of [{ scope: 'agent', agent: 'ann', teams: ['north'] }, { scope: 'qa', teams: [] }, { scope: 'qa', teams: 'north' }]) // prettier-ignore
    expect([order.scope, (await post('/api/panel/tokens', order)).status]).toEqual([order.scope, 400]); // prettier-ignore
  expect((await asked(app, 'GET', '/api/panel/tokens', withKey)).text).toContain('["north","east"]'); // prettier-ignore
  expect(JSON.parse((await asked(app, 'GET', '/api/panel/me', bearer(tokens.qa))).text)).toMatchObject({ scope: 'qa', teams: ['north', 'east'] }); // prettier-ignore

  // Every route of the API with each token: nothing of the calls of others, by their ids or in a list.
  const leaks: string[] = [];
  const others = [ids['bob'], ids['nobody']] as string[];
  for (const [name, token] of Object.entries(tokens))
    for (const { method, path, access } of allRoutes([])) {
      if (access !== 'key' || (method === 'delete' && path === '/api/calls/{id}')) continue;
      for (const id of path.includes('{') ? others : ['']) {
        const { status, text } = await asked(app, method.toUpperCase(), path.replaceAll(/\{\w+\}/g, id), bearer(token), method === 'get' ? undefined : {}); // prettier-ignore
        const isOfAll = path.startsWith('/api/knowledge');
        if (id !== '' && !isOfAll && ![401, 403, 404].includes(status)) leaks.push(`${name}: ${method} ${path} ${status}`); // prettier-ignore
        if (text.includes('CA-bob') || text.includes('CA-nobody')) leaks.push(`${name}: ${method} ${path} tells`); // prettier-ignore
      }
    }
  expect(leaks).toEqual([]);
  const own = `/api/calls/${ids['ann']}`;
  for (const path of [own, `${own}/assist`, `${own}/wrap-up`, '/api/knowledge?q=how'])
    expect([path, (await asked(app, 'GET', path, bearer(tokens.supervisor))).status]).toEqual([path, 200]); // prettier-ignore
  expect((await asked(app, 'POST', `${own}/pause`, bearer(tokens.supervisor))).status).toBe(200);
  const list = async (token: string) => (JSON.parse((await asked(app, 'GET', '/api/calls', bearer(token))).text) as { items: { id: string }[] }).items.map(({ id }) => id); // prettier-ignore
  expect(await list(tokens.qa)).toEqual([ids['ann']]);
  expect(await list(tokens.empty)).toEqual([]);
  await using board = await EventStreamReader.open(`${app.url}/api/board/live`, bearer(tokens.supervisor)); // prettier-ignore
  await using feed = await EventStreamReader.open(`${app.url}${own}/live`, bearer(tokens.supervisor)); // prettier-ignore
  await until(() => board.of('board').some(({ data }) => data.cards.length > 0));
  expect(board.of('board').flatMap(({ data }) => data.cards.map((card: { call_id: string }) => card.call_id))).toContain(ids['ann']); // prettier-ignore
  for (const id of others) expect(JSON.stringify(board.of('board'))).not.toContain(id);

  // Ann goes to another team: her call is closed to the old one, also where it was open.
  await asked(app, 'PATCH', `/api/people/${people['ann']}`, withKey, { teams: ['south'] });
  await until(() => board.closed && feed.closed);
  expect((await asked(app, 'GET', own, bearer(tokens.supervisor))).status).toBe(404);
  expect(await list(tokens.qa)).toEqual([]);
}, 120_000);
