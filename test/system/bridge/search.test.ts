import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { partyKey } from '../../../src/bridge/events/call-keys.ts';
import { SavedSearchList, SearchPage } from '../../../src/protocol/search.ts';
import { newId } from '../../../src/lib/ids.ts';
import { testBridge } from '../../support/bridge/test-bridge.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { callRow, finalRows } from '../../support/store/call-row.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

type Line = [role: 'agent' | 'customer', text: string];

const talks: Record<string, Line[]> = {
  damaged: [
    ['agent', 'Thank you for calling, this is Dana.'],
    ['customer', 'My kettle arrived broken and I want a refund on my visa card.'],
    ['agent', 'I am sorry. The refund of $89.50 goes to your card.'],
  ],
  cancelled: [
    ['customer', 'Please cancel my café membership, I asked for the refund already.'],
    ['agent', 'It is cancelled. Would you speak to your manager again?'],
  ],
  late: [
    ['customer', 'The parcel is late, and the card reader does not read any card.'],
    ['agent', 'The manager will refund nothing today.'],
  ],
};

describe.each(['SQLite', 'Postgres'])('the search on %s', (kind) => {
  if (kind === 'Postgres' && postgresMissing !== undefined) {
    test.skip(postgresMissing, () => undefined);
    return;
  }
  const opened = new AsyncDisposableStack();
  let store: Awaited<ReturnType<typeof temporaryStore>>;
  let app: Awaited<ReturnType<typeof testBridge>>;
  const ids = new Map<string, string>();
  let hours = 0;

  /** A call that was stored with what was said in it, as the bridge stores it. */
  async function stored(name: string, lines: readonly Line[]): Promise<string> {
    const startedAt = Date.UTC(2026, 0, 1, hours++);
    const id = newId('call', startedAt);
    await store.transaction(async (tx) => {
      const call = { ...callRow(id, startedAt), carrier_call_id: `CA${name}` };
      await tx.insertInto('calls').values(call).execute();
      await tx.insertInto('leg_results').values(finalRows(id, lines)).execute();
    });
    await store.db
      .insertInto('call_keys')
      .values({ call_id: id, ...partyKey('+15550100123')! })
      .execute();
    ids.set(name, id);
    return id;
  }

  beforeAll(async () => {
    const options =
      kind === 'SQLite'
        ? {}
        : { databaseUrl: await opened.use(await startPostgres()).newDatabase() };
    store = opened.use(await temporaryStore(options));
    const speech = opened.use(await FakeSpeech.start());
    for (const [name, lines] of Object.entries(talks)) await stored(name, lines);
    app = opened.use(await testBridge({ store, speechUrl: speech.url }));
  }, 60_000);
  afterAll(() => opened.disposeAsync());

  const search = async (q: string, more = ''): Promise<SearchPage> =>
    SearchPage.parse(await app.json(`/api/search?q=${encodeURIComponent(q)}${more}`));
  const found = async (q: string, more = ''): Promise<(string | undefined)[]> => {
    const { items } = await search(q, more);
    const nameOf = new Map([...ids].map(([name, id]) => [id, name]));
    return items.map(({ call }) => nameOf.get(call.id));
  };

  test.each([
    ['refund', ['late', 'cancelled', 'damaged']],
    ['refund card', ['late', 'damaged']],
    ['customer:refund', ['cancelled', 'damaged']],
    ['refund -cancelled', ['late', 'damaged']],
    ['"speak to your manager"', ['cancelled']],
    ['"your to speak"', []],
    ['manag*', ['late', 'cancelled']],
    ['cafe', ['cancelled']],
    ['near(visa refund, 3)', ['damaged']],
    ['near(kettle card, 3)', []],
    ['(kettle OR parcel)', ['late', 'damaged']],
    ['"$89.50"', ['damaged']],
    ['agent:manager refund', ['late', 'cancelled']],
    ['nobody', []],
  ])('%s', async (q, names) => {
    expect(await found(q)).toEqual(names);
  });

  test('a hit has its line, its second and the places of the words', async () => {
    const { items } = await search('customer:refund visa');
    expect(items[0]?.hits).toEqual([
      {
        kind: 'turn',
        role: 'customer',
        start: 5,
        end: 9,
        utterance_id: expect.stringMatching(/^utt_[0-9a-f]{16}$/) as string,
        text: talks['damaged']?.[1]?.[1],
        marks: [
          [38, 44],
          [51, 55],
        ],
      },
    ]);
  });

  test('filters hold beside the words, and pages go on without holes', async () => {
    expect(await found('refund', '&to_date=2026-01-01T00:30:00Z')).toEqual(['damaged']);
    expect(await found('refund', '&carrier=telnyx')).toEqual([]);
    expect(await found('refund', '&number=5550100123')).toEqual(['late', 'cancelled', 'damaged']);
    const first = await search('refund', '&limit=2');
    expect(first.items).toHaveLength(2);
    const rest = await search('refund', `&limit=2&cursor=${first.next_cursor ?? ''}`);
    expect(rest.items.map(({ call }) => call.id)).toEqual([ids.get('damaged')]);
  });

  test('a query that says nothing is refused with what is wrong', async () => {
    for (const [q, reason] of [
      ['-refund', /without a minus/],
      ['"refund', /quotation mark/],
      ['seller:x', /customer, agent/],
    ] as const) {
      const answer = await app.get(`/api/search?q=${encodeURIComponent(q)}`);
      expect(answer.status).toBe(400);
      expect(JSON.stringify(await answer.json())).toMatch(reason);
    }
    const unknown = await app.get('/api/search?q=refund&agnet=x');
    expect(unknown.status).toBe(400);
  });

  test('a note that somebody writes is found at once, and a changed one by its new words alone', async () => {
    const id = ids.get('late') ?? '';
    const write = (notes: string) =>
      app.get(`/api/calls/${id}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ notes }),
      });
    await write('Ask Priya about the walrus.');
    const { items } = await search('walrus');
    expect(items[0]?.hits[0]).toMatchObject({ kind: 'note', role: null, start: null });
    await write('Ask Priya about the narwhal.');
    expect(await found('walrus')).toEqual([]);
    expect(await found('narwhal')).toEqual(['late']);
  });

  test('a wrap-up, tags and parameters find their call, as they are now', async () => {
    const id = await stored('written', [['customer', 'Hello there.']]);
    const record = (what: string) =>
      JSON.stringify({
        reason: { text: 'Customer lost a dirigible.', utterance_ids: ['utt_stegosaurus'] },
        outcome: { value: 'open', utterance_ids: [] },
        promises: [{ id: 'p1', who: 'agent', what, until: null, utterance_ids: [] }],
        facts: [{ kind: 'number', value: '7731-K', utterance_ids: [] }],
        disposition: null,
      });
    await store.db
      .insertInto('wrap_ups')
      .values({
        call_id: id,
        record: record('send a zither'),
        text: '',
        edits: '[]',
        revision: 0,
        due_at: null,
      }) // prettier-ignore
      .execute();
    await store.db
      .updateTable('calls')
      .set({ custom_metadata: '{"crmCase":"C-90210","from":"+1555","deep":{"er":"gondola"}}' })
      .where('id', '=', id)
      .execute();
    const tagged = await app.get(`/api/calls/${id}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tags: ['balloonist', 'second call'] }),
    });
    expect(tagged.status).toBe(200);
    const kindOf = async (q: string) => (await search(q)).items.map(({ hits }) => hits[0]?.kind);
    expect(await kindOf('dirigible')).toEqual(['wrap-up']);
    expect(await kindOf('zither')).toEqual(['wrap-up']);
    expect(await kindOf('"7731-K"')).toEqual(['wrap-up']);
    expect(await kindOf('balloonist')).toEqual(['tag']);
    expect(await kindOf('"C-90210"')).toEqual(['parameter']);
    expect(await kindOf('gondola')).toEqual(['parameter']);
    // Neither ids nor what each call has by itself.
    expect(await found('(utt_stegosaurus OR stegosaurus)')).toEqual([]);
    expect(await found('1555')).toEqual([]);
    // An edit is found by its new words alone.
    await store.db.updateTable('wrap_ups').set({ record: record('send a lute') }).where('call_id', '=', id).execute(); // prettier-ignore
    expect(await found('zither')).toEqual([]);
    expect(await found('lute')).toEqual(['written']);
    expect((await app.get(`/api/calls/${id}`, { method: 'DELETE' })).status).toBe(204);
    for (const word of ['dirigible', 'lute', 'balloonist', 'gondola'])
      expect(await found(word)).toEqual([]);
    const rows = await store.db.selectFrom('said').select('id').where('call_id', '=', id).execute();
    expect(rows).toEqual([]);
  });

  test('an erased call is found by no word of it, and its words are in no file', async () => {
    const word = 'quetzalcoatlus';
    const id = await stored('erased', [['customer', `The ${word} was never delivered.`]]);
    expect(await found(word)).toEqual(['erased']);
    const answer = await app.get(`/api/calls/${id}`, { method: 'DELETE' });
    expect(answer.status).toBe(204);
    expect(await found(word)).toEqual([]);
    if (kind === 'Postgres') return;
    for (const name of ['trunkline.sqlite', 'trunkline.sqlite-wal'])
      expect((await readFile(join(store.dataDir, name), 'latin1')).includes(word)).toBe(false);
  });

  test('an erasure during searches: from its answer on, no search and no export has a word of it', async () => {
    const word = 'plesiosaur';
    const erased = [];
    for (let at = 0; at < 4; at++)
      erased.push(await stored(`hidden${at}`, [['customer', `A ${word} of the ${at}th kind.`]]));
    const gone = new Set<string>();
    let isOver = false;
    let looks = 0;
    const looking = ['/api/search?q=', '/api/search/export?format=jsonl&q='].map(async (path) => {
      while (!isOver) {
        const before = [...gone];
        const text = await (await app.get(`${path}${word}`)).text();
        for (const id of before) expect(text).not.toContain(id);
        looks += 1;
      }
    });
    for (const id of erased) {
      const answer = await app.get(`/api/calls/${id}`, { method: 'DELETE' });
      expect(answer.status).toBe(204);
      gone.add(id);
      const seen = looks;
      await until(() => looks > seen + 2);
    }
    isOver = true;
    await Promise.all(looking);
    expect(await found(word)).toEqual([]);
  });

  test('a search leaves as each kind of file, whole and in its order', async () => {
    const file = async (format: string, more = ''): Promise<{ type: string; text: string }> => {
      const answer = await app.get(`/api/search/export?q=refund%20card&format=${format}${more}`);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-disposition')).toContain(`search.${format}`);
      return { type: answer.headers.get('content-type') ?? '', text: await answer.text() };
    };
    const expected = ['late', 'damaged'].flatMap((name) =>
      (talks[name] ?? []).map(([role, text]) => ({ call_id: ids.get(name), role, text })),
    );
    const { type, text } = await file('jsonl');
    expect(type).toContain('application/x-ndjson');
    const lines = text.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>); // prettier-ignore
    expect(lines).toMatchObject(expected);
    expect(lines.map(({ found: isFound }) => isFound)).toEqual([true, true, false, true, true]);
    const csv = (await file('csv')).text.trim().split('\r\n');
    expect(csv[0]).toBe('"call_id","started_at","carrier","from","to","start","end","role","text","found"'); // prettier-ignore
    expect(csv).toHaveLength(6);
    expect(csv[1]).toContain(`"${ids.get('late')}"`);
    expect(csv[1]).toContain('"+15550100123"');
    const srt = (await file('srt')).text;
    expect(srt.match(/^\d+$/gm)?.map(Number)).toEqual(
      Array.from({ length: srt.match(/ --> /g)?.length ?? 0 }, (_, at) => at + 1),
    );
    const vtt = (await file('vtt')).text;
    expect(vtt.match(/WEBVTT/g)).toHaveLength(1);
    expect(vtt.match(/^NOTE call_/gm)).toHaveLength(2);
    const plain = (await file('txt')).text;
    expect(plain.match(/^== call_/gm)).toHaveLength(2);
    expect(plain).toContain('[0:05] Customer: My kettle arrived broken');
    // At most as many calls as asked for, and a filter holds here too.
    expect((await file('txt', '&calls=1')).text.match(/^== /gm)).toHaveLength(1);
    expect((await file('txt', '&carrier=telnyx')).text).toBe('');
    for (const query of ['q=', 'q=-refund', 'q=refund&format=pdf', 'q=refund&calls=100000'])
      expect([query, (await app.get(`/api/search/export?${query}`)).status]).toEqual([query, 400]);
  });

  test('a call leaves as one line for each turn', async () => {
    const id = ids.get('late') ?? '';
    const answer = await app.get(`/api/calls/${id}/transcript?format=jsonl`);
    const lines = (await answer.text()).trim().split('\n').map((line) => JSON.parse(line) as object); // prettier-ignore
    expect(lines).toMatchObject(
      (talks['late'] ?? []).map(([role, text]) => ({ call_id: id, role, text })),
    );
  });

  test('searches are saved by name, at most 200, and one that says nothing is refused', async () => {
    const put = (name: string, query: unknown) =>
      app.get(`/api/saved-searches/${encodeURIComponent(name)}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      });
    const names = async () =>
      SavedSearchList.parse(await app.json('/api/saved-searches')).items.map(({ name }) => name);
    expect((await put('Refunds / 50 %', 'q=refund&carrier=twilio')).status).toBe(200);
    expect((await put('Refunds / 50 %', 'q=refund+visa')).status).toBe(200);
    expect(await app.json('/api/saved-searches')).toMatchObject({
      items: [{ name: 'Refunds / 50 %', query: 'q=refund+visa' }],
    });
    for (const query of [
      '',
      'carrier=twilio',
      'q=-refund',
      'q="refund',
      7,
      `q=${'x'.repeat(3_000)}`,
    ])
      // prettier-ignore
      expect([query, (await put('wrong', query)).status]).toEqual([query, 400]);
    expect((await put('a\u0000b', 'q=refund')).status).toBe(400);
    expect((await put('x'.repeat(81), 'q=refund')).status).toBe(400);
    for (let at = 1; at < 200; at++) expect((await put(`s${at}`, 'q=refund')).status).toBe(200);
    const full = await put('one more', 'q=refund');
    expect([full.status, await full.text()]).toEqual([409, expect.stringContaining('200 searches')]); // prettier-ignore
    expect((await put('s1', 'q=visa')).status).toBe(200);
    expect(await names()).toHaveLength(200);
    for (const name of await names())
      await app.get(`/api/saved-searches/${encodeURIComponent(name)}`, { method: 'DELETE' });
    expect(await names()).toEqual([]);
    const absent = await app.get('/api/saved-searches/s1', { method: 'DELETE' });
    expect(absent.status).toBe(404);
  });

  test('words that a second reading replaces are no longer found', async () => {
    const id = await stored('revised', [['customer', 'the zebra order']]);
    await store.transaction(async (tx) => {
      await tx.deleteFrom('leg_results').where('call_id', '=', id).execute();
      await tx
        .insertInto('leg_results')
        .values({
          leg_id: `leg${id}`,
          session_id: '',
          kind: 'call.transcript',
          key: 'revised:0',
          call_id: id,
          role: 'customer',
          start_s: 0,
          end_s: 4,
          text: 'the debris order',
        }) // prettier-ignore
        .execute();
    });
    expect(await found('zebra')).toEqual([]);
    expect(await found('debris')).toEqual(['revised']);
  });

  test('calls of before the search are put into it in the background, the newest first', async () => {
    for (let at = 0; at < 45; at++)
      await stored(`old${at}`, [
        ['customer', `ocelot number ${at}`],
        ['agent', 'Which ocelot?'],
      ]);
    await sql`delete from said`.execute(store.db);
    await sql`update said_backlog set done = 0, next_id = -1, before_call = '~'`.execute(store.db);
    const behind = await search('ocelot');
    expect(behind.older_calls_missing).toBe(true);
    expect(Date.parse(behind.indexing?.oldest ?? '')).toBe(Date.UTC(2026, 0, 1));
    const speech = await FakeSpeech.start();
    await using second = await testBridge({ store, speechUrl: speech.url });
    await until(async () => !(await search('ocelot')).older_calls_missing);
    const names: (string | undefined)[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: SearchPage = await search('ocelot', cursor === '' ? '' : `&cursor=${cursor}`);
      const nameOf = new Map([...ids].map(([name, id]) => [id, name]));
      names.push(...page.items.map(({ call }) => nameOf.get(call.id)));
      cursor = page.next_cursor;
    }
    expect(names).toEqual(Array.from({ length: 45 }, (_, at) => `old${44 - at}`));
    expect(await found('refund')).toEqual(['late', 'cancelled', 'damaged']);
    await speech[Symbol.asyncDispose]();
    expect(second.url).not.toBe('');
  });

  test('what was written about calls of before is put in too, with what filters find, and nothing twice', async () => {
    const id = await stored('written before', [['customer', 'A marmot, please.']]);
    const record = {
      reason: { text: 'Customer wants a glockenspiel.', utterance_ids: [] },
      outcome: { value: 'resolved', utterance_ids: [] },
      disposition: 'Sold',
    };
    const body = JSON.stringify({ data: { entities: [{ entity_type: 'ORGANIZATION', text: 'Acme' }] } }); // prettier-ignore
    await store.db
      .updateTable('calls')
      .set({
        tags: '["vip"]',
        custom_metadata: '{"crmCase":"C-1812","from":"+1555","deep":{"er":"sousaphone"}}',
        summary: '{"text":"About a marmot.","mood":"negative"}',
      })
      .where('id', '=', id)
      .execute();
    await store.db.insertInto('call_keys').values({ call_id: id, kind: 'tag', key: 'vip' }).execute(); // prettier-ignore
    await store.db.insertInto('wrap_ups').values({ call_id: id, record: JSON.stringify(record), text: '', edits: '[]', revision: 0, due_at: null }).execute(); // prettier-ignore
    await store.db.insertInto('assist_hits').values({ call_id: id, hit_key: 'h', rule: 'sales/upsell', at_ms: 1, body: '{}', verdict: null, verdict_at: null }).execute(); // prettier-ignore
    await sql`insert into events (id, call_id, sequence, type, occurred_at, body)
      values ('evt_1', ${id}, 1, 'call.completed', ${Date.now()}, ${body})`.execute(store.db);
    await sql`delete from said where kind in ('wrap-up', 'tag', 'parameter')`.execute(store.db);
    await sql`delete from call_keys where kind in ('mood', 'entity', 'disposition', 'rule')`.execute(store.db); // prettier-ignore
    const filtered = (filter: string) => found('marmot', `&${filter}`);
    const filters = ['mood=negative', 'entity=organization:acme', 'disposition=sold', 'rule=sales/upsell', 'rule=upsell']; // prettier-ignore
    for (const filter of filters) expect([filter, await filtered(filter)]).toEqual([filter, []]);
    expect(await found('glockenspiel')).toEqual([]);
    for (const time of [1, 2]) {
      await sql`update said_backlog set done = 0, next_id = 0, before_call = '~' where name = 'written'`.execute(store.db); // prettier-ignore
      expect((await search('marmot')).older_calls_missing).toBe(true);
      const speech = await FakeSpeech.start();
      await using second = await testBridge({ store, speechUrl: speech.url });
      await until(async () => !(await search('marmot')).older_calls_missing);
      await speech[Symbol.asyncDispose]();
      expect(second.url).not.toBe('');
      const rows = await store.db.selectFrom('said').select(['kind', 'text']).where('call_id', '=', id).where('kind', 'in', ['wrap-up', 'tag', 'parameter']).orderBy('kind').execute(); // prettier-ignore
      expect([time, rows]).toEqual([
        time,
        [
          { kind: 'parameter', text: 'C-1812 · sousaphone' },
          { kind: 'tag', text: 'vip' },
          { kind: 'wrap-up', text: 'Customer wants a glockenspiel. · Sold' },
        ],
      ]);
    }
    expect(await found('glockenspiel')).toEqual(['written before']);
    for (const filter of filters)
      expect([filter, await filtered(filter)]).toEqual([filter, ['written before']]);
    expect(await found('marmot tag:vip mood:negative entity:"ORGANIZATION:Acme"')).toEqual(['written before']); // prettier-ignore
    expect((await app.get('/api/search?q=marmot%20mood:furious')).status).toBe(400);
    expect((await app.get('/api/search?q=marmot%20mood:negative&mood=mixed')).status).toBe(400);
    expect((await app.get('/api/search?q=mood:negative')).status).toBe(400);
  });

  test('by rank, a line with more of the word comes first, page by page', async () => {
    const ranked: string[] = [];
    for (const [name, text] of [
      ['thrice', 'okapi okapi okapi'],
      ['once', 'I had an okapi at home when I was a child in a town far away from here'],
      ['twice', 'an okapi and another okapi'],
    ] as const)
      await stored(name, [['customer', text]]);
    expect(await found('okapi')).toEqual(['twice', 'once', 'thrice']);
    expect(await found('okapi', '&sort=relevance')).toEqual(['thrice', 'twice', 'once']);
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: SearchPage = await search('okapi', `&sort=relevance&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`); // prettier-ignore
      const nameOf = new Map([...ids].map(([name, id]) => [id, name]));
      ranked.push(...page.items.map(({ call }) => nameOf.get(call.id) ?? ''));
      cursor = page.next_cursor;
    }
    expect(ranked).toEqual(['thrice', 'twice', 'once']);
    expect(await found('okapi -child', '&sort=relevance')).toEqual(['thrice', 'twice']);
  });
});
