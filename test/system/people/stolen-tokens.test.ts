import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LegFile } from '../../../src/bridge/journal/leg-file.ts';
import { newId } from '../../../src/lib/ids.ts';
import { allRoutes } from '../../../src/protocol/openapi/document.ts';
import { openStore } from '../../../src/store/store.ts';
import { cookieOf } from '../../support/people/people.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { callRow, finalRows } from '../../support/store/call-row.ts';
import { temporaryFolder } from '../../support/store/store.ts';

const key = 'key-of-the-settings-in-the-test';
const password = 'four-words-are-easy';
const admin = { 'x-service-key': key, 'content-type': 'application/json' };
/** `STOLEN_CALLS=1000` asks for so many calls of somebody else. */
const others = Number(process.env['STOLEN_CALLS'] ?? 25);
const atOnce = 8;

type StoredCalls = { own: string; theirs: string[] };

/** Ended calls with words and audio: one of Ann, all others of Bob. Each word and leg of Bob's has a mark. */
async function storedCalls(dataDir: string): Promise<StoredCalls> {
  await using store = await openStore({ ballastBytes: 0, lowWaterBytes: 0, dataDir });
  const legs = join(dataDir, 'journal', 'legs');
  await mkdir(legs, { recursive: true });
  const ids: string[] = [];
  for (let at = 0; at <= others; at++) {
    const startedAt = Date.now() - (others + 1 - at) * 60_000;
    const agent = at === 0 ? 'ann' : 'bob';
    const id = newId('call', startedAt);
    ids.push(id);
    await store.transaction(async (tx) => {
      await tx
        .insertInto('calls')
        .values({
          ...callRow(id, startedAt),
          has_recording: 1,
          agent: JSON.stringify({ id: agent, name: null, by: 'api', since: startedAt }),
        })
        .execute();
      await tx.insertInto('call_keys').values({ call_id: id, kind: 'agent', key: agent }).execute();
      await tx
        .insertInto('legs')
        .values({
          ...{ id: `leg${id}`, call_id: id, role: 'customer', track: 'inbound', encoding: 'mulaw' },
          ...{ sample_rate: 8_000, channels: 1, offset_ms: 0, started_at: startedAt },
          ...{ state: 'done' as const, received: 4_000, acknowledged: 4_000 },
          ...{ gaps: 0, paused: 0, filler: 0, reconnects: 0 },
        })
        .execute();
      await tx
        .insertInto('leg_results')
        .values(finalRows(id, [['customer', `my refund please, said to ${agent}s ear`]]))
        .execute();
    });
    const audio = LegFile.fresh(join(legs, `leg${id}.audio`), 0xff, true);
    await audio.append(0, [Buffer.alloc(4_000, 0x55)]);
    await audio.release();
  }
  const [own = '', ...theirs] = ids;
  return { own, theirs };
}

/** The path that a browser asks for below a call, and headers that only the call itself answers. */
type Ask = { name: string; method: string; path: (id: string) => string; headers?: Record<string, string> }; // prettier-ignore

function asksOf(): Ask[] {
  const below = allRoutes([])
    .filter(({ access, path }) => access === 'key' && path.startsWith('/api/calls/{id}'))
    .map(({ method, path }) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: (id: string) => path.replace('{id}', id).replaceAll(/\{\w+\}/g, 'x'),
    }));
  const more: Ask[] = ['txt', 'vtt', 'srt', 'csv', 'jsonl'].map((format) => ({
    name: `transcript as ${format}`,
    method: 'GET',
    path: (id) => `/api/calls/${id}/transcript?format=${format}`,
  }));
  const range = { range: 'bytes=44-1043' };
  more.push({ name: 'recording, a range', method: 'GET', path: (id) => `/api/calls/${id}/recording`, headers: range }); // prettier-ignore
  more.push({ name: 'recording, its head', method: 'HEAD', path: (id) => `/api/calls/${id}/recording` }); // prettier-ignore
  more.push({ name: 'shared page without its signature', method: 'GET', path: (id) => `/shared/calls/${id}?expires=9999999999&signature=x` }); // prettier-ignore
  more.push({ name: 'shared recording without its signature', method: 'GET', path: (id) => `/shared/calls/${id}/recording?expires=9999999999&signature=x`, headers: range }); // prettier-ignore
  return [...below, ...more];
}

async function asked(app: App, ask: Ask, id: string, proof: Record<string, string>) {
  const abort = new AbortController();
  const answer = await app.get(ask.path(id), {
    method: ask.method,
    headers: { 'content-type': 'application/json', ...proof, ...ask.headers },
    signal: abort.signal,
    ...(ask.method === 'GET' || ask.method === 'HEAD' ? {} : { body: '{}' }),
  });
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isStream ? '' : await answer.text();
  abort.abort();
  return { status: answer.status, text };
}

test(
  'a stolen cookie or token of an agent opens nothing of the calls of somebody else: no route below a call, feed, range, export, search or link',
  { timeout: 900_000 },
  async () => {
    await using folder = await temporaryFolder();
    const { own, theirs } = await storedCalls(folder.path);
    await using app = await startApp({ dataDir: folder.path, env: { TRUNKLINE_API_KEYS: key } });
    const post = (path: string, body: unknown): Promise<Response> =>
      app.get(path, { method: 'POST', headers: admin, body: JSON.stringify(body) });
    await post('/api/people', { login: 'ann', roles: ['agent'], agent_id: 'ann', password });
    const minted = await post('/api/panel/tokens', { scope: 'agent', agent: 'ann' });
    const { token } = (await minted.json()) as { token: string };
    const proofs = {
      cookie: { cookie: await cookieOf(app.url, { login: 'ann', password }) },
      token: { authorization: `Bearer ${token}` },
    };
    const asks = asksOf();
    // The holder of the key is shown such a call: otherwise nothing would be hidden here.
    const [first = ''] = theirs;
    const shown: string[] = [];
    for (const ask of asks.filter(({ method }) => method !== 'DELETE' && method !== 'POST'))
      if ((await asked(app, ask, first, admin)).status < 300) shown.push(ask.name);
    expect(shown).toEqual(
      expect.arrayContaining(['GET /api/calls/{id}', 'GET /api/calls/{id}/live', 'recording, a range', 'recording, its head', 'transcript as csv', 'GET /api/calls/{id}/events']), // prettier-ignore
    );

    const leaks: string[] = [];
    let count = 0;
    for (const [proof, headers] of Object.entries(proofs)) {
      const waiting = [...theirs];
      const lane = async (): Promise<void> => {
        for (let id = waiting.pop(); id !== undefined; id = waiting.pop())
          for (const ask of asks) {
            const { status, text } = await asked(app, ask, id, headers);
            count++;
            if (![401, 403, 404].includes(status)) leaks.push(`${proof} ${ask.name}: ${status}`);
            if (/bob|refund/.test(text))
              leaks.push(`${proof} ${ask.name} tells: ${text.slice(0, 80)}`);
          }
      };
      await Promise.all(Array.from({ length: atOnce }, lane));
      for (const query of [
        '/api/search?q=refund',
        '/api/search?q=refund&sort=relevance',
        '/api/search?q=bobs',
        '/api/search/export?q=refund&format=jsonl',
        '/api/search/export?q=bobs&format=csv',
        '/api/calls?limit=200',
        '/api/calls?agent=bob',
        `/api/calls?search=${first}`,
        '/api/calls?search=bob',
        '/api/panel/me',
      ]) {
        // prettier-ignore
        const text = await (await app.get(query, { headers })).text();
        count++;
        if (/bob/.test(text) || theirs.some((id) => text.includes(id)))
          leaks.push(`${proof} ${query}`);
      }
    }
    expect(leaks).toEqual([]);
    const { items } = (await (await app.get('/api/search?q=refund', { headers: proofs.cookie })).json()) as { items: { call: { id: string } }[] }; // prettier-ignore
    expect(items.map(({ call }) => call.id)).toEqual([own]);
    // Nothing was changed or erased either.
    const { status, text } = await asked(app, asks.find(({ name }) => name === 'transcript as csv')!, first, admin); // prettier-ignore
    expect([status, text]).toEqual([200, expect.stringContaining('bobs ear')]);
    console.log(`${count} requests for ${theirs.length} calls of somebody else, ${asks.length} for each and proof`); // prettier-ignore
  },
);
