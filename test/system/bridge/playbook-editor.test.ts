import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PlaybookFileList, PlaybookPreview, PlaybookSaved, PlaybookText } from '../../../src/protocol/assist-events.ts'; // prettier-ignore
import { callAt, endedCallAt } from '../../support/bridge/fleet.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import { cookieOf } from '../../support/people/people.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { numberedFrame } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryFolder } from '../../support/store/store.ts';

const key = 'key-of-the-settings-in-the-test';
const password = 'four-words-are-easy';
const admin = { 'x-service-key': key, 'content-type': 'application/json' };
const playbook = (title: string, word = 'f3') =>
  `id: shop\nstatus: live\nrules:\n  - { id: it, title: ${title}, when: { phrase: { any: [${word}] } }, then: [{ tag: t }] }\n`;

function asking(app: App) {
  return async (method: string, path: string, body?: unknown, headers: Record<string, string> = admin): Promise<Response> => app.get(path, { method, headers: { ...headers, 'content-type': 'application/json' }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }); // prettier-ignore
}

/** A call that has ended, whose words are the numbers of its frames. */
async function endedCall(app: App): Promise<string> {
  const asAdmin = { ...app, get: (path: string, init: RequestInit = {}) => app.get(path, { ...init, headers: admin }) } as App; // prettier-ignore
  const known = (await newestCall(asAdmin))?.id;
  const { client, say } = await callAt(asAdmin);
  say(Buffer.concat(Array.from({ length: 100 }, (_, number) => numberedFrame(number))));
  const call = await until(async () => {
    const newest = await newestCall(asAdmin);
    return newest?.id !== known && newest;
  });
  client.send(twilioStop);
  await endedCallAt(asAdmin);
  return call.id as string;
}

test('a playbook is read, tried on past calls while it is typed, saved, refused on another digest, and the next call uses it', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, 'assist'));
  await writeFile(join(folder.path, 'assist', 'shop.yaml'), playbook('First'));
  const env = { TRUNKLINE_ROLES: 'bridge', TRUNKLINE_SPEECH_URL: speech.url, TRUNKLINE_QUIET_FILL_MS: '0', TRUNKLINE_API_KEYS: key }; // prettier-ignore
  await using app = await startApp({ dataDir: folder.path, env });
  const ask = asking(app);
  const id = await endedCall(app);

  const list = (await (await ask('GET', '/api/assist/files')).json()) as PlaybookFileList;
  expect(list).toMatchObject({ folder: join(folder.path, 'assist'), closed: null });
  expect(list.files.map(({ name, id: of, starter }) => [name, of, starter])).toEqual([
    ['shop.yaml', 'shop', false],
    ['call-centre.yaml', 'call-centre', true],
  ]);
  const file = (await (await ask('GET', '/api/assist/files/shop.yaml')).json()) as PlaybookText;
  expect(file.text).toBe(playbook('First'));

  // The hits while it is typed are those of `trunkline assist try`.
  const preview = async (text: string) => (await (await ask('POST', '/api/assist/preview', { playbook: text })).json()) as PlaybookPreview; // prettier-ignore
  const text = playbook('Second', 'f61');
  const { mistakes, trial } = await preview(text);
  expect(mistakes).toEqual([]);
  expect(trial).toMatchObject({ calls: 1, left_out: 0, rules: [{ rule: 'it', hits: 1, places: [{ call_id: id, matched: 'f61' }] }] }); // prettier-ignore
  expect(await (await ask('POST', '/api/assist/try', { playbook: text })).json()).toEqual(trial);
  const wrongKey = await preview(text.replace('phrase', 'phrsae'));
  expect(wrongKey.trial).toBeNull();
  expect(wrongKey.mistakes[0]).toMatchObject({ line: 4, reason: expect.stringContaining('phrsae') as string }); // prettier-ignore
  expect((await ask('POST', '/api/assist/preview', { playbook: 7 })).status).toBe(400);

  // Two people with the same text in front of them: the second is refused, and the first text stays whole.
  const path = '/api/assist/files/shop.yaml';
  const saved = await ask('PUT', path, { text, digest: file.digest });
  expect(saved.status).toBe(200);
  expect(((await saved.json()) as PlaybookSaved).file).toMatchObject({ id: 'shop' });
  const late = await ask('PUT', path, { text: playbook('Third'), digest: file.digest });
  expect([late.status, await late.text()]).toEqual([409, expect.stringContaining('was changed meanwhile')]); // prettier-ignore
  const wrong = await ask('PUT', path, { text: 'id: [', digest: null });
  expect(((await wrong.json()) as PlaybookSaved).mistakes).toHaveLength(1);
  expect((await ask('PUT', '/api/assist/files/..%2Fshop.yaml', { text, digest: null })).status).toBe(400); // prettier-ignore
  expect((await ask('GET', '/api/assist/files/..%2Ftrunkline.sqlite')).status).toBe(404);
  expect(await readFile(join(folder.path, 'assist', 'shop.yaml'), 'utf8')).toBe(text);
  expect(await readdir(join(folder.path, 'assist'))).toEqual(['shop.yaml']);

  // A deletion names the text that it is about. What comes with Trunkline cannot go, and no path leads elsewhere.
  const gone = async (name: string, digest?: string) => ask('DELETE', `/api/assist/files/${name}${digest === undefined ? '' : `?digest=${digest}`}`); // prettier-ignore
  const second = playbook('Goes', 'f9').replace('id: shop', 'id: goes');
  const { file: made } = (await (await ask('PUT', '/api/assist/files/goes.yaml', { text: second, digest: null })).json()) as PlaybookSaved; // prettier-ignore
  expect((await gone('goes.yaml')).status).toBe(400);
  expect((await gone('..%2Fshop.yaml', 'x')).status).toBe(404);
  const starter = list.files.find((one) => one.starter);
  expect((await gone('call-centre.yaml', starter?.digest)).status).toBe(409);
  expect(await (await gone('goes.yaml', file.digest)).text()).toContain('was changed meanwhile');
  const went = await gone('goes.yaml', made?.digest);
  expect([went.status, await went.json()]).toEqual([200, { file: expect.objectContaining({ id: 'goes', rules: ['Goes'] }) as object, back: null }]); // prettier-ignore
  expect((await gone('goes.yaml', made?.digest)).status).toBe(404);
  const { playbooks } = (await (await ask('GET', '/api/assist/playbooks')).json()) as { playbooks: { id: string }[] }; // prettier-ignore
  expect(playbooks.map((one) => one.id)).not.toContain('goes');

  const next = await endedCall(app);
  const { tags, hits } = (await (await ask('GET', `/api/calls/${next}/assist`)).json()) as { tags: string[]; hits: { rule: string; title: string }[] }; // prettier-ignore
  expect(tags).toEqual(['t']);
  expect(hits.find(({ rule }) => rule === 'it')?.title).toBe('Second');
});

test('roles without the right neither read nor save files; a save is in the record, and trying while typing is one line', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  const ask = asking(app);
  for (const role of ['agent', 'supervisor', 'quality', 'admin'])
    expect((await ask('POST', '/api/people', { login: role, roles: [role], password, ...(role === 'agent' ? { agent_id: 'a1' } : {}) })).status).toBe(201); // prettier-ignore
  const as = async (login: string) => ({ cookie: await cookieOf(app.url, { login, password }), 'sec-fetch-site': 'same-origin' }); // prettier-ignore
  const order = { text: playbook('It'), digest: null };
  for (const role of ['agent', 'supervisor', 'quality']) {
    const who = await as(role);
    expect([role, (await ask('GET', '/api/assist/files', undefined, who)).status]).toEqual([role, 403]); // prettier-ignore
    expect([role, (await ask('PUT', '/api/assist/files/a.yaml', order, who)).status]).toEqual([role, 403]); // prettier-ignore
    expect([role, (await ask('DELETE', '/api/assist/files/a.yaml?digest=x', undefined, who)).status]).toEqual([role, 403]); // prettier-ignore
  }
  const who = await as('admin');
  for (let time = 0; time < 5; time++)
    expect((await ask('POST', '/api/assist/preview', { playbook: order.text }, who)).status).toBe(200); // prettier-ignore
  expect((await ask('PUT', '/api/assist/files/a.yaml', order, who)).status).toBe(200);
  const { file } = (await (await ask('PUT', '/api/assist/files/b.yaml', { text: playbook('B').replace('id: shop', 'id: b'), digest: null }, who)).json()) as PlaybookSaved; // prettier-ignore
  expect((await ask('DELETE', `/api/assist/files/b.yaml?digest=${file?.digest}`, undefined, who)).status).toBe(200); // prettier-ignore
  const { items } = (await (await ask('GET', '/api/audit')).json()) as { items: { actor: string; action: string; detail: string }[] }; // prettier-ignore
  const told = items.filter(({ actor }) => actor === 'admin').map(({ action, detail }) => [action, detail]); // prettier-ignore
  expect(told.filter(([action]) => action === 'tried rules')).toHaveLength(1);
  expect(told).toContainEqual(['changed rules', 'a.yaml']);
  expect(told).toContainEqual(['deleted rules', 'b.yaml']);
});

test('a newer text of the same person ends the preview before, and a closed connection ends its own', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  const ask = asking(app);
  const order = { playbook: playbook('It') };
  const answers = await Promise.all(Array.from({ length: 6 }, () => ask('POST', '/api/assist/preview', order))); // prettier-ignore
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
  // Whichever came last is answered.
  expect(statuses).toContain(200);
  const gone = new AbortController();
  const leaving = app.get('/api/assist/preview', { method: 'POST', headers: admin, body: JSON.stringify(order), signal: gone.signal }); // prettier-ignore
  gone.abort();
  await expect(leaving).rejects.toThrow();
  expect((await ask('POST', '/api/assist/preview', order)).status).toBe(200);
});
