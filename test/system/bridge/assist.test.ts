import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { callInputs } from '../../../src/bridge/events/assist-inputs.ts';
import { startCall } from '../../support/bridge/spoken-call.ts';
import { callAt, endedCallAt, eventsAt, expectToldOnce } from '../../support/bridge/fleet.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { trunkline } from '../../support/process/command.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { temporaryFolder } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';
import { numberedFrame } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';

/** Frames whose words are their numbers. After a restart silence lies between, and all later frames are "torn". */
const audio = Buffer.concat(Array.from({ length: 300 }, (_, number) => numberedFrame(number)));
const secondBytes = 8_000;
const words = ['f3', 'f61', 'f70', 'f230'];

const playbook = (status = 'live') => `
id: shop
version: 3
status: ${status}
checklists: [{ id: open, title: Opening, steps: [{ id: told, title: Say it }, { id: other, title: Other }] }]
rules:
  - { id: first, title: First, when: { phrase: { any: [${words[0]}] } }, then: [{ hint: { title: Look, priority: 95 } }, { tag: one }] }
  - { id: second, title: Second, when: { phrase: { any: [${words[1]}] } }, then: [{ alert: { level: urgent } }, { step: open.told }] }
  - { id: both, title: Both, when: { then: { first: { phrase: { any: [${words[1]}] } }, next: { phrase: { any: [${words[3]}, torn] } } } }, then: [{ signal: { name: both, data: { why: '{match}' } } }] }
  - { id: never, title: Never, when: { phrase: { any: [nobody says this] } }, then: [{ tag: never }] }
`;

async function withPlaybook(dataDir: string, text: string): Promise<void> {
  await mkdir(join(dataDir, 'assist'), { recursive: true });
  await writeFile(join(dataDir, 'assist', 'shop.yaml'), text);
}

const envOf = (speech: FakeSpeech) => ({
  TRUNKLINE_ROLES: 'bridge',
  TRUNKLINE_SPEECH_URL: speech.url,
  TRUNKLINE_QUIET_FILL_MS: '0',
  TRUNKLINE_REJOIN_WAIT_MS: '30000',
});

const assistOf = async (app: App, id: string): Promise<AnyJson> =>
  (await app.get(`/api/calls/${id}/assist`)).json();

const post = (app: App, path: string, body: unknown): Promise<Response> =>
  app.get(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }); // prettier-ignore

const ruleTypes = ['call.hint', 'call.alert', 'call.tagged', 'call.checklist', 'call.signal'];
/** Told by our playbook: a slow machine may be silent for so long that the starter playbook says so. */
const isOurs = ({ playbook: by }: AnyJson): boolean => by === 'shop';
const toldBy = (events: readonly AnyJson[]) =>
  events.filter(({ type, data }) => ruleTypes.includes(type as string) && isOurs(data)).map(({ type, data }) => [type, data.rule]); // prettier-ignore

const allTold = [
  ['call.hint', 'first'],
  ['call.tagged', 'first'],
  ['call.alert', 'second'],
  ['call.checklist', 'second'],
  ['call.signal', 'both'],
];

test('kill -9 in the middle of a call: hints, alerts, steps and signals are told once, also those that began before it', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  await withPlaybook(folder.path, playbook());
  const env = envOf(speech);
  {
    await using app = await startApp({ dataDir: folder.path, env });
    const { say } = await callAt(app);
    say(audio.subarray(0, 2 * secondBytes));
    const call = await until(() => newestCall(app));
    await until(async () => toldBy(await eventsAt(app, call.id)).length === 4);
    const { hits } = await assistOf(app, call.id);
    const first = hits.find(({ rule }: AnyJson) => rule === 'first');
    expect((await post(app, `/api/calls/${call.id}/assist/feedback`, { hit_id: first.hit_id, verdict: 'not_useful' })).status).toBe(200); // prettier-ignore
    await app.end('SIGKILL');
  }
  await using app = await startApp({ dataDir: folder.path, env });
  const { client, say } = await callAt(app);
  say(audio.subarray(2 * secondBytes));
  client.send(twilioStop);
  const { call, events } = await endedCallAt(app);
  expectToldOnce(events);
  expect(toldBy(events)).toEqual(allTold);
  const assist = await assistOf(app, call.id);
  expect(assist.hits.filter(isOurs).map(({ rule }: AnyJson) => rule)).toEqual(['first', 'second', 'both']); // prettier-ignore
  expect(assist.tags).toEqual(['one']);
  expect(assist.checklists.find(({ id }: AnyJson) => id === 'open').steps.map(({ done }: AnyJson) => done)).toEqual([true, false]); // prettier-ignore
  expect(assist.hits[0].cause).toMatchObject({ role: 'customer', matched: words[0], score: 1 });
  expect(assist.hits[0].cause.utterance_id).toBe(call.transcript[0].utterance_id);

  // The agent's word on a hint is kept over the kill, and may change. A word on a hit that does not exist is refused.
  expect(assist.hits.filter(isOurs).map(({ verdict }: AnyJson) => verdict)).toEqual(['not_useful', null, null]); // prettier-ignore
  const feedback = { hit_id: assist.hits[0].hit_id, verdict: 'useful' };
  const judged = (await (await post(app, `/api/calls/${call.id}/assist/feedback`, feedback)).json()) as AnyJson; // prettier-ignore
  expect(judged.hits[0].verdict).toBe('useful');
  expect((await post(app, `/api/calls/${call.id}/assist/feedback`, { ...feedback, hit_id: 'x' })).status).toBe(404); // prettier-ignore
  expect((await post(app, `/api/calls/${call.id}/assist/feedback`, { verdict: 'good' })).status).toBe(400); // prettier-ignore

  // The report counts what fired and what was said of it; the call is of today.
  const report = async (days: string) => app.get(`/api/assist/report?last_days=${days}`);
  const { rules: reported } = (await (await report('2')).json()) as AnyJson;
  const none = { hits: 1, calls: 1, useful: 0, not_useful: 0, used: 0, dismissed: 0 };
  expect(reported.filter(({ rule }: AnyJson) => rule.startsWith('shop/'))).toEqual([
    { rule: 'shop/both', ...none },
    { rule: 'shop/first', ...none, useful: 1 },
    { rule: 'shop/second', ...none },
  ]);
  for (const days of ['0', '366', 'x', '1.5']) expect((await report(days)).status).toBe(400);

  // A trial on the ended call says what the same rules said live.
  const trial = (await (await post(app, '/api/assist/try', { playbook: playbook('draft') })).json()) as AnyJson; // prettier-ignore
  expect(trial.calls).toBe(1);
  expect(trial.rules.map(({ rule, hits }: AnyJson) => [rule, hits])).toEqual([['first', 1], ['second', 1], ['both', 1], ['never', 0]]); // prettier-ignore
  expect(trial.rules[0].places).toMatchObject([{ call_id: call.id, matched: words[0] }]);
  expect(trial.changes).toBeUndefined();

  // The command says which hits come and go with a new form, by the same engine.
  const [old, changed] = [join(folder.path, 'old.yaml'), join(folder.path, 'new.yaml')];
  await writeFile(old, playbook('draft'));
  await writeFile(changed, playbook('draft').replace(`any: [${words[0]}]`, 'any: [nobody says that]').replace('nobody says this', `${words[1]}`)); // prettier-ignore
  const diff = async (...args: string[]): Promise<string> => {
    const command = trunkline(['assist', 'diff', ...args, '--last', '2', '--url', app.url]);
    expect([await command.ended, command.lines]).toEqual([0, command.lines]);
    return command.lines.join('\n');
  };
  const told = await diff(old, changed);
  expect(told).toContain('first: 0 hits come, 1 go in 1 calls');
  expect(told).toContain('never: 1 hits come, 0 go in 1 calls');
  expect(told).toMatch(new RegExp(`\\+ ${call.id} .*: ${words[1]}`));
  expect(told).not.toContain('both');
  const asData: AnyJson = JSON.parse(await diff(old, changed, '--json'));
  expect(asData.changes.map(({ rule, comes, goes }: AnyJson) => [rule, comes, goes])).toEqual([['never', 1, 0], ['first', 0, 1]]); // prettier-ignore
  expect(await diff(old, old)).toBe('No hit changes in 1 calls.');
  const wrong = await post(app, '/api/assist/try', { playbook: 'id: x\nrules: []' });
  expect(wrong.status).toBe(400);
  expect(JSON.stringify(await wrong.json())).toContain('rules');

  expect((await app.get(`/api/calls/${call.id}`, { method: 'DELETE' })).status).toBe(204);
  expect((await app.get(`/api/calls/${call.id}/assist`)).status).toBe(404);
}, 90_000);

test('a playbook that becomes wrong keeps its last good form and says why; a call keeps what it began with; a shadow tells nothing', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  await withPlaybook(folder.path, playbook());
  await using app = await startApp({ dataDir: folder.path, env: envOf(speech) });
  const list = async (): Promise<AnyJson> => (await post(app, '/api/assist/reload', {})).json() as AnyJson; // prettier-ignore
  const ids = (of: AnyJson) => of.playbooks.map(({ id, version, status }: AnyJson) => `${id}@${version} ${status}`); // prettier-ignore
  expect(ids(await list())).toEqual(['call-centre@1 live', 'shop@3 live']);

  const first = await callAt(app);
  first.say(audio.subarray(0, secondBytes));
  const begun = await until(() => newestCall(app));
  await until(async () => toldBy(await eventsAt(app, begun.id)).length === 2);
  await withPlaybook(folder.path, playbook().replace('title: Second', 'titel: Second'));
  const broken = await list();
  expect(ids(broken)).toEqual(['call-centre@1 live', 'shop@3 live']);
  expect(broken.problems[0].reason).toContain('titel');
  await withPlaybook(folder.path, playbook('shadow'));
  expect(ids(await list())).toEqual(['call-centre@1 live', 'shop@3 shadow']);
  first.say(audio.subarray(secondBytes));
  first.client.send(twilioStop);
  const { events } = await endedCallAt(app);
  expect(toldBy(events)).toEqual(allTold);

  const second = await callAt(app, 'MZ2', { callSid: 'CA2' });
  second.say(audio);
  second.client.send(twilioStop);
  await until(async () => (await newestCall(app))?.id !== begun.id);
  const shadowed = await endedCallAt(app);
  expect(toldBy(shadowed.events)).toEqual([]);
  expect((await assistOf(app, shadowed.call.id)).hits).toEqual([]);
  const metrics = await (await app.get('/metrics')).text();
  expect(metrics).toContain('trunkline_rule_hits_total{playbook="shop",rule="first"} 2');
}, 90_000);

test('a trial and a restart hear the spoken words, as live rules do, where people read figures', async () => {
  await using call = await startCall({});
  await call.say('agent', 'What is your order number?', 1);
  await call.say('customer', 'The order number is four seven two nine one six.', 3);
  await call.end();
  expect(call.said('customer')).toEqual(['The order number is 472916.']);
  const { id } = await call.json();
  const inputs = await callInputs(call.store.db, id as string);
  const texts = inputs.flatMap((input) => (input.kind === 'final' ? [input.text] : []));
  expect(texts).toContain('The order number is four seven two nine one six.');
  // Entities come from their events, behind the final that they are in.
  const events = await call.events();
  const [named] = events.filter(({ type }) => type === 'call.entities').flatMap(({ data }) => data.results); // prettier-ignore
  const heard = inputs.find((input) => input.kind === 'entity');
  expect(heard).toMatchObject({ role: 'customer', type: named.entity_type, end: named.end });
  const final = inputs.find((input) => input.kind === 'final' && input.utteranceId === heard?.utteranceId); // prettier-ignore
  expect(final?.kind).toBe('final');
});

test('a rule pauses the call for some seconds, and a person may end that pause', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  const pauses = (seconds: number, word: string) =>
    `  - { id: p${seconds}, title: P, when: { phrase: { any: [${word}] } }, then: [{ pause: { resume_after: ${seconds} } }] }\n`;
  await withPlaybook(folder.path, `id: shop\nstatus: live\nrules:\n${pauses(5, 'f3')}${pauses(600, 'torn, f40')}`); // prettier-ignore
  await using app = await startApp({ dataDir: folder.path, env: envOf(speech) });
  const { client, say } = await callAt(app);
  say(audio.subarray(0, 25 * 160));
  const call = await until(() => newestCall(app));
  const told = async (type: string) =>
    (await eventsAt(app, call.id)).filter((event) => event.type === type).map(({ data }) => data.by); // prettier-ignore
  await until(async () => (await told('call.paused')).length === 1);
  expect(await told('call.paused')).toEqual(['rule']);
  expect((await newestCall(app))?.paused).toBe(true);
  await until(async () => (await told('call.resumed')).length === 1);
  expect(await told('call.resumed')).toEqual(['rule']);

  say(audio.subarray(25 * 160, 75 * 160));
  await until(async () => (await told('call.paused')).length === 2);
  expect((await app.get(`/api/calls/${call.id}/resume`, { method: 'POST' })).status).toBe(200);
  expect(await told('call.resumed')).toEqual(['rule', 'operator']);
  expect((await newestCall(app))?.paused).toBe(false);
  client.send(twilioStop);
  expectToldOnce((await endedCallAt(app)).events);
}, 90_000);
