import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallScore, CallScoreList, ScoreReport } from '../../../src/protocol/call-scores.ts';
import { callAt, endedCallAt } from '../../support/bridge/fleet.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { cookieOf } from '../../support/people/people.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { trunkline } from '../../support/process/command.ts';
import { until } from '../../support/process/until.ts';
import { numberedFrame } from '../../support/speech/audio.ts';
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

const key = 'key-of-the-settings-in-the-test';
const password = 'four-words-are-easy';
const secret = `whsec_${randomBytes(32).toString('base64')}`;
const admin = { 'x-service-key': key, 'content-type': 'application/json' };
const playbook = `
id: shop
status: live
checklists: [{ id: open, title: Opening, steps: [{ id: told, title: Say it }] }]
rules: [{ id: tells, title: Tells, when: { phrase: { any: [f3] } }, then: [{ step: open.told }] }]
`;
const scorecard = (status: string) => `
id: quality
title: Quality <b>of</b> calls
status: ${status}
min_duration: 0
sections:
  - title: All
    items:
      - { id: told, question: Told?, points: 10, auto: { step: open.told } }
      - { id: said, question: Said?, points: 10, auto: { when: { phrase: { any: [f61] } } } }
      - { id: unsaid, question: Not said?, points: 10, auto: { never: { phrase: { any: [nobody says this] } } } }
      - { id: solved, question: Solved?, points: 20 }
`;

/** The address of a call that has ended, and requests by the admin. */
async function judgedCall(app: App): Promise<{ id: string; score: CallScore }> {
  const asAdmin = { ...app, get: (path: string, init: RequestInit = {}) => app.get(path, { ...init, headers: admin }) } as App; // prettier-ignore
  const { client, say } = await callAt(asAdmin);
  say(Buffer.concat(Array.from({ length: 100 }, (_, number) => numberedFrame(number))));
  const id = await until(async () => {
    const { items } = (await (await asAdmin.get('/api/calls')).json()) as {
      items: { id: string }[];
    };
    return items[0]?.id;
  });
  await asAdmin.get(`/api/calls/${id}/agent`, { method: 'PUT', body: '{"id":"ann"}' });
  await until(async () => JSON.stringify(await (await asAdmin.get(`/api/calls/${id}/events`)).json()).includes('f61')); // prettier-ignore
  client.send(twilioStop);
  await endedCallAt(asAdmin);
  const score = await until(async () => {
    const { items } = (await (await asAdmin.get(`/api/calls/${id}/scores`)).json()) as CallScoreList; // prettier-ignore
    return items[0];
  });
  return { id, score };
}

const stores = ['sqlite', ...(postgresMissing === undefined ? ['postgres'] : [])];

test.each(stores)(
  'a call is judged by itself when it ends, a reviewer completes it, an agent disputes, all on %s; erased with the call',
  async (kind) => {
    // prettier-ignore
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using crm = await startCrm([secret]);
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, 'assist', 'scorecards'), { recursive: true });
    await writeFile(join(folder.path, 'assist', 'shop.yaml'), playbook);
    await writeFile(join(folder.path, 'assist', 'scorecards', 'quality.yaml'), scorecard('live'));
    await writeFile(join(folder.path, 'assist', 'scorecards', 'broken.yaml'), 'id: [');
    const env = { TRUNKLINE_ROLES: 'bridge', TRUNKLINE_SPEECH_URL: speech.url, TRUNKLINE_QUIET_FILL_MS: '0', TRUNKLINE_ASSIST_STARTER: 'off', TRUNKLINE_API_KEYS: key, TRUNKLINE_WEBHOOK_URL: crm.url, TRUNKLINE_WEBHOOK_SECRET: secret, TRUNKLINE_WEBHOOK_EVENTS: 'call.scored', ...(kind === 'postgres' ? { DATABASE_URL: await postgres.newDatabase() } : {}) }; // prettier-ignore
    await using app = await startApp({ dataDir: folder.path, env });
    const post = (path: string, body: unknown, headers: Record<string, string> = admin, method = 'POST'): Promise<Response> => app.get(path, { method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }); // prettier-ignore
    for (const [login, role] of [['ann', 'agent'], ['bob', 'agent'], ['quinn', 'quality']] as const)
    expect((await post('/api/people', { login, roles: [role], teams: ['north'], password, ...(role === 'agent' ? { agent_id: login } : {}) })).status).toBe(201); // prettier-ignore
    const { id, score } = await judgedCall(app);
    expect(score).toMatchObject({ scorecard: 'quality', title: 'Quality <b>of</b> calls', agent: 'ann', state: 'auto', points: 30, of: 30, percent: 100, open: 1, revision: 0 }); // prettier-ignore
    expect(score.items.map(({ answer }) => answer)).toEqual(['yes', 'yes', 'yes', null]);
    expect(score.items[1]?.evidence[0]).toMatchObject({ role: 'customer', matched: 'f61' });
    const listed = (await (await app.get('/api/scorecards', { headers: admin })).json()) as { scorecards: unknown[]; problems: { file: string }[] }; // prettier-ignore
    expect(listed.scorecards).toMatchObject([{ id: 'quality', items: 4, automatic: 3 }]);
    expect(listed.problems.map(({ file }) => file.split('/').at(-1))).toEqual(['broken.yaml']);

    // Two reviewers with the same revision: one of them is refused.
    const as = async (login: string) => ({ cookie: await cookieOf(app.url, { login, password }), 'sec-fetch-site': 'same-origin' }); // prettier-ignore
    const [ann, bob, quinn] = [await as('ann'), await as('bob'), await as('quinn')];
    const path = `/api/calls/${id}/scores/quality`;
    const review = { revision: 0, items: [{ id: 'solved', answer: 'no', note: '<script>' }] };
    const both = await Promise.all([quinn, quinn].map((who) => post(path, review, who, 'PUT')));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const wrong = await post(path, { revision: 1, items: [{ id: 'solved', answer: 'perhaps' }] }, quinn, 'PUT'); // prettier-ignore
    expect(wrong.status).toBe(400);

    // The agent sees the score of the own call and may dispute it, and changes none; another agent sees nothing of it.
    const own = (await (await app.get(`/api/calls/${id}/scores`, { headers: ann })).json()) as CallScoreList; // prettier-ignore
    expect(own.items[0]).toMatchObject({ state: 'reviewed', percent: 60, open: 0, reviews: [{ by: 'quinn' }] }); // prettier-ignore
    expect((await post(path, review, ann, 'PUT')).status).toBe(403);
    expect((await app.get(`/api/calls/${id}/scores`, { headers: bob })).status).toBe(404);
    expect((await post(`${path}/dispute`, { revision: 1, reason: 'x' }, bob)).status).toBe(404);
    expect((await post(`${path}/dispute`, { revision: 0, reason: 'x' }, ann)).status).toBe(409);
    expect(
      (await post(`${path}/dispute`, { revision: 1, reason: 'He hung up.' }, ann)).status,
    ).toBe(200);
    expect((await post(`${path}/dispute`, { revision: 2, reason: 'again' }, ann)).status).toBe(409);
    const token = (await (await post('/api/panel/tokens', { scope: 'agent', agent: 'ann', life_s: 600 })).json()) as { token: string }; // prettier-ignore
    for (const [method, at] of [
      ['GET', `/api/calls/${id}/scores`],
      ['GET', '/api/scores'],
      ['PUT', path],
      ['POST', `${path}/dispute`],
    ] as const) {
      // prettier-ignore
      const stolen = await app.get(at, { method, headers: { authorization: `Bearer ${token.token}`, 'content-type': 'application/json' }, ...(method === 'GET' ? {} : { body: '{}' }) }); // prettier-ignore
      expect([at, stolen.status]).toEqual([at, 403]);
    }
    const settled = (await (await post(path, { revision: 2, items: [{ id: 'solved', answer: 'yes' }], dispute: { text: 'You are right.' } }, quinn, 'PUT')).json()) as CallScore; // prettier-ignore
    expect(settled).toMatchObject({ state: 'settled', percent: 100, revision: 3, disputes: [{ by: 'ann', reason: 'He hung up.', answer: { by: 'quinn', text: 'You are right.' } }] }); // prettier-ignore

    // The CRM has each state of the score once and in order, and whoever may not read scores has none of them.
    await until(() => crm.requests.length >= 4);
    const told = crm.requests.map(({ event }) => event['data'] as Record<string, unknown>);
    expect(told.map(({ state, by, percent, revision }) => [state, by, percent, revision])).toEqual([
      ['auto', { kind: 'rule', name: null }, 100, 0],
      ['reviewed', { kind: 'reviewer', name: 'quinn' }, 60, 1],
      ['disputed', { kind: 'agent', name: 'ann' }, 60, 2],
      ['settled', { kind: 'reviewer', name: 'quinn' }, 100, 3],
    ]);
    expect(told[1]?.['items']).toContainEqual(expect.objectContaining({ id: 'solved', answer: 'no', note: '<script>' })); // prettier-ignore
    const made = (await (await post('/api/keys', { name: 'panel', scopes: ['assist'] })).json()) as { key: string }; // prettier-ignore
    const typesFor = async (headers: Record<string, string>): Promise<string[]> => ((await (await app.get(`/api/calls/${id}/events?limit=1000`, { headers })).json()) as { items: { type: string }[] }).items.map(({ type }) => type); // prettier-ignore
    expect(await typesFor(admin)).toContain('call.scored');
    expect(await typesFor({ 'x-service-key': made.key })).not.toContain('call.scored');

    const report = async (who: Record<string, string>, by = 'agent') => (await (await app.get(`/api/scores?by=${by}`, { headers: who })).json()) as ScoreReport; // prettier-ignore
    expect((await report(quinn)).rows).toMatchObject([{ name: 'ann', calls: 1, percent: 100, reviewed: 1, disputed: 0 }]); // prettier-ignore
    expect((await report(quinn, 'team')).rows).toMatchObject([{ name: 'north', calls: 1 }]);
    // The reviewer named the item without a rule alone, so no rule was compared.
    expect((await report(quinn)).agreement).toEqual([]);
    expect((await report(ann)).rows).toHaveLength(1);
    expect((await report(bob)).rows).toEqual([]);
    const audit = (await (await app.get('/api/audit?limit=100', { headers: admin })).json()) as { items: { actor: string; action: string }[] }; // prettier-ignore
    const deeds = audit.items.map(({ action }) => action);
    for (const deed of ['reviewed a score', 'disputed a score']) expect(deeds).toContain(deed);

    expect((await app.get(`/api/calls/${id}`, { method: 'DELETE', headers: admin })).status).toBeLessThan(300); // prettier-ignore
    expect((await report(quinn)).rows).toEqual([]);
    expect((await report(quinn)).agreement).toEqual([]);
  },
);

test('a draft judges no call by itself, and a reviewer may have a call judged by it; the command checks and reports', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  const cards = join(folder.path, 'assist', 'scorecards');
  await mkdir(cards, { recursive: true });
  await writeFile(
    join(cards, 'draft.yaml'),
    scorecard('draft').replace('id: quality', 'id: draft'),
  );
  await writeFile(join(cards, 'quality.yaml'), scorecard('live'));
  const env = { TRUNKLINE_ROLES: 'bridge', TRUNKLINE_SPEECH_URL: speech.url, TRUNKLINE_QUIET_FILL_MS: '0', TRUNKLINE_ASSIST_STARTER: 'off', TRUNKLINE_API_KEYS: key }; // prettier-ignore
  await using app = await startApp({ dataDir: folder.path, env });
  const { id } = await judgedCall(app);
  const ask = (scorecardId: string) => app.get(`/api/calls/${id}/scores`, { method: 'POST', headers: admin, body: JSON.stringify({ scorecard: scorecardId }) }); // prettier-ignore
  expect(await (await ask('draft')).json()).toMatchObject({ scorecard: 'draft', state: 'auto' });
  expect((await ask('none')).status).toBe(404);
  const run = async (...args: string[]): Promise<{ code: number | null; text: string }> => {
    const command = trunkline(['scorecards', ...args], { TRUNKLINE_DATA: folder.path, TRUNKLINE_API_KEYS: key, TRUNKLINE_ASSIST_STARTER: 'off' }); // prettier-ignore
    return { code: await command.ended, text: command.lines.join('\n') };
  };
  const report = await run('report', '--url', app.url);
  expect(report.text).toContain('ann  quality  66.7 % in 1 calls');
  expect((await run('check')).text).toContain(
    'quality@1  live  4 questions, 3 automatic, 50 points',
  );
  await writeFile(
    join(cards, 'quality.yaml'),
    scorecard('live').replace('points: 20', 'points: many'),
  );
  const broken = await run('check');
  expect(broken.code).not.toBe(0);
  expect(broken.text).toContain('sections.0.items.3.points');
});
