import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BoardMessage, type BoardCard } from '../../../src/protocol/board-messages.ts';
import { callAt, fleetOf } from '../../support/bridge/fleet.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import { cookieOf } from '../../support/people/people.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { numberedFrame, seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryFolder } from '../../support/store/store.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  if (postgresMissing === undefined) postgres = await startPostgres();
}, 60_000);
afterAll(async () => {
  if (postgresMissing === undefined) await postgres[Symbol.asyncDispose]();
});

/** A board that is watched, with its cards as they are now. */
async function watch(app: App, headers: Record<string, string> = {}) {
  const cancel = new AbortController();
  const answer = await app.get('/api/board/live', { headers, signal: cancel.signal });
  const cards = new Map<string, BoardCard>();
  const told: BoardMessage[] = [];
  const read = async (): Promise<void> => {
    let text = '';
    for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += part;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (data === undefined) continue;
        const message = BoardMessage.parse(JSON.parse(data));
        told.push(message);
        if (message.whole) cards.clear();
        for (const card of message.cards) cards.set(card.call_id, card);
        for (const id of message.gone) cards.delete(id);
      }
    }
  };
  const closed = answer.status === 200 ? read().catch(() => undefined) : Promise.resolve();
  return { status: answer.status, cards, told, closed, [Symbol.dispose]: () => cancel.abort() };
}

const key = 'key-of-the-settings-in-the-test';
const password = 'four-words-are-easy';
const admin = { 'x-service-key': key, 'content-type': 'application/json' };
const words = ['f3', 'f61'];
const playbook = `
id: shop
version: 1
status: live
checklists: [{ id: open, title: Opening, steps: [{ id: told, title: Say it, required: true }, { id: other, title: Other one, required: true }] }]
rules:
  - { id: second, title: Second, when: { phrase: { any: [${words[1]}] } }, then: [{ alert: { level: urgent } }, { step: open.told }] }
`;

test('a card follows its call from the first word to the end: what was said, alerts, steps, pause, agent', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, 'assist'), { recursive: true });
  await writeFile(join(folder.path, 'assist', 'shop.yaml'), playbook);
  const env = { TRUNKLINE_ROLES: 'bridge', TRUNKLINE_SPEECH_URL: speech.url, TRUNKLINE_QUIET_FILL_MS: '0', TRUNKLINE_ASSIST_STARTER: 'off' }; // prettier-ignore
  await using app = await startApp({ dataDir: folder.path, env });
  using early = await watch(app);
  const { client, say } = await callAt(app);
  say(Buffer.concat(Array.from({ length: 100 }, (_, number) => numberedFrame(number))));
  const { id } = await until(() => newestCall(app));
  const cardOf = (board: { cards: ReadonlyMap<string, BoardCard> }) => board.cards.get(id as string); // prettier-ignore
  await until(() => cardOf(early)?.alerts.level === 'urgent');
  await until(() => (cardOf(early)?.steps.open.length ?? 0) === 1);
  expect(cardOf(early)).toMatchObject({ carrier: 'twilio', agent: null, steps: { done: 1, of: 2, open: ['Other one'] }, alerts: { count: 1, title: 'Second' } }); // prettier-ignore
  expect(cardOf(early)?.talk.customer).toBeGreaterThan(1);
  const headers = { 'content-type': 'application/json' };
  await app.get(`/api/calls/${id}/agent`, { method: 'PUT', headers, body: '{"id":"a17","name":"<b>Omar</b>"}' }); // prettier-ignore
  await app.get(`/api/calls/${id}/pause`, { method: 'POST', headers, body: '{}' });
  await until(() => cardOf(early)?.agent?.name === '<b>Omar</b>');
  await until(() => cardOf(early)?.paused_at !== null);
  // A board that is opened now reads the same from the rows.
  using late = await watch(app);
  await until(() => cardOf(late) !== undefined);
  expect(cardOf(late)).toEqual(cardOf(early));
  client.send(twilioStop);
  await until(() => cardOf(early) === undefined && cardOf(late) === undefined);
});

test('a supervisor sees the calls of their teams, and loses a call that goes elsewhere; an agent and the panel of an agent get no board, and a supervisor’s panel gets it until its token is revoked', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  const post = (path: string, body: unknown): Promise<Response> =>
    app.get(path, { method: 'POST', headers: admin, body: JSON.stringify(body) });
  for (const [login, role, team] of [['ann', 'agent', 'north'], ['bob', 'agent', 'south'], ['sue', 'supervisor', 'north']] as const) // prettier-ignore
    expect((await post('/api/people', { login, roles: [role], teams: [team], password, ...(role === 'agent' ? { agent_id: login } : {}) })).status).toBe(201); // prettier-ignore
  const asAdmin = { ...app, get: (path: string, init: RequestInit = {}) => app.get(path, { ...init, headers: admin }) } as App; // prettier-ignore
  const ids: Record<string, string> = {};
  for (const agent of ['ann', 'bob']) {
    await callAt(asAdmin, `MZ-${agent}`, { callSid: `CA-${agent}` });
    const call = await until(async () => {
      const newest = await newestCall(asAdmin);
      return newest?.carrier_call_id === `CA-${agent}` ? newest : undefined;
    });
    ids[agent] = call.id as string;
    await app.get(`/api/calls/${ids[agent]}/agent`, { method: 'PUT', headers: admin, body: JSON.stringify({ id: agent }) }); // prettier-ignore
  }
  using all = await watch(app, admin);
  await until(() => all.cards.size === 2);
  expect(all.cards.get(ids['ann']!)?.teams).toEqual(['north']);
  using team = await watch(app, { cookie: await cookieOf(app.url, { login: 'sue', password }) });
  await until(() => team.cards.size === 1);
  expect([...team.cards.keys()]).toEqual([ids['ann']]);
  await app.get(`/api/calls/${ids['ann']}/agent`, { method: 'PUT', headers: admin, body: '{"id":"bob"}' }); // prettier-ignore
  await until(() => team.cards.size === 0);
  await until(() => all.cards.get(ids['ann']!)?.agent?.id === 'bob');
  // Nothing of Bob's call was ever told to her, not even that it is gone.
  expect(JSON.stringify(team.told)).not.toContain(ids['bob']);
  using refused = await watch(app, { cookie: await cookieOf(app.url, { login: 'ann', password }) });
  expect(refused.status).toBe(403);
  for (const scope of [
    { scope: 'agent', agent: 'ann' },
    { scope: 'qa' },
    { scope: 'call', call_id: ids['ann'] },
  ]) {
    // prettier-ignore
    const { token } = (await (await post('/api/panel/tokens', { ...scope, life_s: 600 })).json()) as { token: string }; // prettier-ignore
    using stolen = await watch(app, { authorization: `Bearer ${token}` });
    expect([scope.scope, stolen.status]).toEqual([scope.scope, 403]);
  }
  const minted = (await (await post('/api/panel/tokens', { scope: 'supervisor', life_s: 600 })).json()) as { token: string; id: string }; // prettier-ignore
  const bearer = { authorization: `Bearer ${minted.token}` };
  using embedded = await watch(app, bearer);
  await until(() => embedded.cards.size === 2);
  // The board opens a call of it, and nothing that the panel of a supervisor did not open before.
  expect((await app.get(`/api/calls/${ids['bob']}`, { headers: bearer })).status).toBe(200);
  for (const path of [
    '/api/calls',
    '/api/live',
    '/api/scores',
    `/api/calls/${ids['bob']}/events`,
    `/api/calls/${ids['bob']}/recording`,
  ])
    // prettier-ignore
    expect([path, (await app.get(path, { headers: bearer })).status]).toEqual([path, 403]);
  await app.get(`/api/panel/tokens/${minted.id}`, { method: 'DELETE', headers: admin });
  await embedded.closed;
  using late = await watch(app, bearer);
  expect(late.status).toBe(401);
});

test.skipIf(postgresMissing !== undefined)(
  'the board has the calls of all nodes, and goes on when the node of a call is killed',
  async () => {
    await using fleet = await fleetOf(2, postgres, { TRUNKLINE_REJOIN_WAIT_MS: '20000' });
    const [lost, left] = fleet.nodes as [App, App];
    using board = await watch(left);
    const before = await callAt(lost);
    before.say(seededAudio(8_000, 1));
    const id = await until(() => [...board.cards.keys()][0]);
    await until(() => board.cards.get(id)?.said != null);
    await lost.end('SIGKILL');
    await rm(lost.dataDir, { recursive: true, force: true });
    // All is read again, and the call that waits for its stream is still there.
    const wholes = board.told.filter(({ whole }) => whole).length;
    await until(() => board.told.filter(({ whole }) => whole).length > wholes);
    expect([...board.cards.keys()]).toEqual([id]);
    const said = board.cards.get(id)?.talk.customer ?? 0;
    const after = await callAt(left, 'MZ2');
    after.say(seededAudio(16_000, 2));
    await until(() => (board.cards.get(id)?.talk.customer ?? 0) > said);
    after.client.send(twilioStop);
    await until(() => board.cards.size === 0);
  },
  120_000,
);
