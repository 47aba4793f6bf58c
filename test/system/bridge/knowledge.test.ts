import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { callAt, endedCallAt, eventsAt, expectToldOnce } from '../../support/bridge/fleet.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { temporaryFolder } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';
import { numberedFrame } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';

const envOf = (speech: FakeSpeech) => ({
  TRUNKLINE_ROLES: 'bridge',
  TRUNKLINE_SPEECH_URL: speech.url,
  TRUNKLINE_QUIET_FILL_MS: '0',
  TRUNKLINE_REJOIN_WAIT_MS: '30000',
});

async function withArticles(dataDir: string, files: Record<string, string>): Promise<void> {
  await mkdir(join(dataDir, 'knowledge'), { recursive: true });
  for (const [name, text] of Object.entries(files))
    await writeFile(join(dataDir, 'knowledge', name), text);
}

const json = async (app: App, path: string): Promise<AnyJson> => (await app.get(path)).json();
const articlesRead = (app: App) =>
  until(async () => {
    const list = await json(app, '/api/knowledge/articles');
    return list.articles.length > 0 ? list : undefined;
  });

test('articles are asked, read and listed; questions without an answer belong to their call and go with it', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  await withArticles(folder.path, {
    'fee.md': '---\nurl: https://help.example.com/fee\n---\n# Late fee\nThe fee is six pounds.',
    'hours.html': '<h1>Opening hours</h1><script>alert(1)</script><p>From nine.</p>',
    'wrong.md': 'a\u0000b',
  });
  await using app = await startApp({ dataDir: folder.path, env: envOf(speech) });
  const { articles, passages, problems } = await articlesRead(app);
  expect([articles.map(({ title }: AnyJson) => title), passages]).toEqual([['Late fee', 'Opening hours'], 2]); // prettier-ignore
  expect(problems).toEqual([{ file: 'wrong.md', reason: 'it holds a character that no text has (NUL)' }]); // prettier-ignore

  const { items } = await json(app, '/api/knowledge?q=how%20much%20is%20the%20late%20fee');
  expect(items[0]).toMatchObject({ title: 'Late fee', text: 'The fee is six pounds.', url: 'https://help.example.com/fee', sure: true }); // prettier-ignore
  expect(await json(app, `/api/knowledge/articles/${items[0].id}`)).toMatchObject({ title: 'Late fee', passages: [{ heading: '', text: 'The fee is six pounds.' }] }); // prettier-ignore
  for (const [path, status] of [
    ['/api/knowledge', 400],
    ['/api/knowledge?q=%20', 400],
    ['/api/knowledge?q=a&q=b', 400],
    [`/api/knowledge?q=${'a'.repeat(1_001)}`, 400],
    ['/api/knowledge?q=fee&limit=11', 400],
    ['/api/knowledge?q=a%00b', 200],
    [`/api/knowledge?q=${'a'.repeat(100_000)}`, 431],
    ['/api/knowledge/articles/..%2F..%2Fetc%2Fpasswd', 404],
    ['/api/knowledge/articles/none', 404],
    ['/api/calls/call_none/knowledge?q=fee', 404],
    ['/api/knowledge/questions?last_days=0', 400],
  ] as const)
    expect([path.slice(0, 60), (await app.get(path)).status]).toEqual([path.slice(0, 60), status]);

  const { client, say } = await callAt(app);
  say(Buffer.concat(Array.from({ length: 100 }, (_, number) => numberedFrame(number))));
  client.send(twilioStop);
  const { call } = await endedCallAt(app);
  const inCall = (q: string) =>
    json(app, `/api/calls/${call.id}/knowledge?q=${encodeURIComponent(q)}`);
  expect((await inCall('what is the late fee')).items[0].sure).toBe(true);
  await inCall('where do I park my horse');
  await inCall('where can the horse be parked');
  await inCall('where do I park my horse');
  const questions = async () => (await json(app, '/api/knowledge/questions')).items;
  expect(await questions()).toEqual([
    {
      question: 'where can the horse be parked',
      times: 2,
      last_asked_at: expect.any(String) as string,
      last_call_id: call.id,
      by: 'agent',
    },
  ]);

  // The call is erased with its questions.
  expect((await app.get(`/api/calls/${call.id}`, { method: 'DELETE' })).status).toBe(204);
  expect(await questions()).toEqual([]);
});

/** Frames whose words are their numbers. After a restart all later frames are "torn". */
const audio = Buffer.concat(Array.from({ length: 400 }, (_, number) => numberedFrame(number)));
const secondBytes = 8_000;
const someWords = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `f${from + at}`).join(' ');

test('kill -9 in the middle of a call: an article is shown once, and the word of the agent on it is kept and counts', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  await withArticles(folder.path, { 'frames.md': `---\nsay: Frames it is.\n---\n# Frames\n${someWords(0, 150)}` }); // prettier-ignore
  const env = { ...envOf(speech), TRUNKLINE_ASSIST_STARTER: 'off' };
  const cardsOf = async (app: App, id: string) =>
    (await eventsAt(app, id)).filter(({ type }) => type === 'call.hint');
  let callId = '';
  {
    await using app = await startApp({ dataDir: folder.path, env });
    await articlesRead(app);
    const { say } = await callAt(app);
    say(audio.subarray(0, 2 * secondBytes));
    const call = await until(() => newestCall(app));
    callId = call.id as string;
    await until(async () => (await cardsOf(app, callId)).length === 1);
    await app.end('SIGKILL');
  }
  await using app = await startApp({ dataDir: folder.path, env });
  await articlesRead(app);
  const { client, say } = await callAt(app);
  say(audio.subarray(2 * secondBytes));
  client.send(twilioStop);
  const { call, events } = await endedCallAt(app);
  expectToldOnce(events);
  const cards = events.filter(({ type }) => type === 'call.hint');
  expect(cards).toHaveLength(1);
  expect(cards[0]?.data).toMatchObject({
    ...{ source: 'knowledge', playbook: '@knowledge', rule: 'frames.md', title: 'Frames' },
    ...{ say: 'Frames it is.', priority: 40, cause: { role: 'customer' } },
    links: [{ title: 'The whole article', url: expect.stringMatching(/^\/api\/knowledge\/articles\/[0-9a-f]{16}$/) as string }], // prettier-ignore
  });
  expect((await app.get(cards[0]?.data.links[0].url as string)).status).toBe(200);

  const path = `/api/calls/${call.id}/assist`;
  const { hits } = await json(app, path);
  expect(hits).toHaveLength(1);
  const body = JSON.stringify({ hit_id: hits[0].hit_id, verdict: 'useful' });
  const headers = { 'content-type': 'application/json' };
  expect((await app.get(`${path}/feedback`, { method: 'POST', headers, body })).status).toBe(200);
  expect((await json(app, '/api/assist/report')).rules).toMatchObject([
    { rule: '@knowledge/frames.md', hits: 1, useful: 1 },
  ]);
});

test('articles come by themselves only where the setting says so', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  await withArticles(folder.path, { 'frames.md': `# Frames\n${someWords(0, 150)}` });
  const env = { ...envOf(speech), TRUNKLINE_ASSIST_STARTER: 'off', TRUNKLINE_KNOWLEDGE_CARDS: 'off' }; // prettier-ignore
  await using app = await startApp({ dataDir: folder.path, env });
  await articlesRead(app);
  const { client, say } = await callAt(app);
  say(audio.subarray(0, 2 * secondBytes));
  client.send(twilioStop);
  const { events } = await endedCallAt(app);
  expect(events.some(({ type }) => type === 'call.transcript')).toBe(true);
  expect(events.filter(({ type }) => type === 'call.hint')).toEqual([]);
  expect((await json(app, '/api/knowledge?q=f1%20f2%20f3')).items[0].sure).toBe(true);
});
