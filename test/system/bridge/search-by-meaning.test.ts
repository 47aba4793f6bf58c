import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { SearchPage } from '../../../src/protocol/search.ts';
import { testBridge } from '../../support/bridge/test-bridge.ts';
import { WordMeaning } from '../../support/meaning/word-meaning.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { callRow, finalRows } from '../../support/store/call-row.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

type SaidLine = [role: 'agent' | 'customer', text: string];

describe.each(['SQLite', 'Postgres'])('the search by meaning on %s', (kind) => {
  if (kind === 'Postgres' && postgresMissing !== undefined) {
    test.skip(postgresMissing, () => undefined);
    return;
  }
  const opened = new AsyncDisposableStack();
  const meaning = new WordMeaning();
  let store: Awaited<ReturnType<typeof temporaryStore>>;
  let speechUrl: string;
  let app: Awaited<ReturnType<typeof testBridge>>;
  const names = new Map<string, string>();
  let hours = 0;

  async function stored(name: string, lines: readonly SaidLine[]): Promise<string> {
    const startedAt = Date.UTC(2026, 0, 1, hours++);
    const id = newId('call', startedAt);
    await store.transaction(async (tx) => {
      await tx.insertInto('calls').values(callRow(id, startedAt)).execute();
      await tx.insertInto('leg_results').values(finalRows(id, lines)).execute();
    });
    names.set(id, name);
    return id;
  }

  const directions = async (id?: string): Promise<number[]> => {
    const rows = store.db.selectFrom('said_directions').select('id').orderBy('id');
    const some = id === undefined ? rows : rows.where('call_id', '=', id);
    return (await some.execute()).map((row) => row.id);
  };
  const isDone = async (): Promise<boolean> => {
    const place = await store.db.selectFrom('said_meaning').selectAll().executeTakeFirstOrThrow();
    const wanting = await store.db.selectFrom('said_wanting').select('id').execute();
    return place.is_on === 1 && place.before_id === null && wanting.length === 0;
  };
  const search = async (q: string, more = ''): Promise<SearchPage> =>
    SearchPage.parse(await app.json(`/api/search?by=meaning&q=${encodeURIComponent(q)}${more}`));
  const found = async (q: string, more = '') =>
    (await search(q, more)).items.map(({ call }) => names.get(call.id));

  beforeAll(async () => {
    const options =
      kind === 'SQLite'
        ? {}
        : { databaseUrl: await opened.use(await startPostgres()).newDatabase() };
    store = opened.use(await temporaryStore(options));
    speechUrl = opened.use(await FakeSpeech.start()).url;
    meaning.has = false;
    await stored('leaves', [
      ['customer', 'I want to terminate my subscription now.'],
      ['agent', 'Let me look at that for you, please.'],
      ['customer', 'Yes.'],
    ]);
    await stored('boss', [
      ['agent', 'You could quit your plan at the end of June.'],
      ['customer', 'Give me your supervisor at once.'],
    ]);
    app = opened.use(await testBridge({ store, speechUrl, meaning }));
  }, 60_000);
  afterAll(() => opened.disposeAsync());

  test('without the model the answer names the command that installs it', async () => {
    const answer = await app.get('/api/search?by=meaning&q=cancel%20my%20contract');
    expect([answer.status, await answer.text()]).toEqual([
      409,
      expect.stringContaining('npx trunkline models pull sentence-encoder-en'),
    ]);
    expect(await directions()).toEqual([]);
  });

  test('calls of before the model get directions in the background, and are found in other words', async () => {
    meaning.has = true;
    await using second = await testBridge({ store, speechUrl, meaning });
    await until(isDone);
    // "Yes." means nothing by itself.
    expect(await directions()).toHaveLength(4);
    expect((await search('cancel my contract')).indexing).toBeNull();
    expect(await found('cancel my contract')).toEqual(['leaves', 'boss']);
    expect(await found('customer: cancel my contract')).toEqual(['leaves']);
    expect(await found('give me your manager')).toEqual(['boss']);
    const [first] = (await search('cancel my contract')).items;
    expect(first?.hits[0]).toMatchObject({ role: 'customer', start: 0, marks: [] });
    expect(first?.hits[0]?.nearness).toBeGreaterThan(0.5);
    expect(await found('cancel my contract', '&to_date=2026-01-01T00:30:00Z')).toEqual(['leaves']);
    expect(await found('cancel my contract', '&carrier=telnyx')).toEqual([]);
    expect(await found('cancel my contract tag:none')).toEqual([]);
    const page = await search('cancel my contract', '&limit=1');
    expect(page.next_cursor).not.toBeNull();
    expect(await found('cancel my contract', `&limit=1&cursor=${page.next_cursor}`)).toEqual(['boss']); // prettier-ignore
    expect(second.url).not.toBe('');
  });

  test('the export has the calls in the same order, and says which lines were found', async () => {
    const answer = await app.get('/api/search/export?by=meaning&format=jsonl&q=cancel%20my%20contract'); // prettier-ignore
    const lines = (await answer.text()).trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>); // prettier-ignore
    expect(lines.map((line) => [names.get(String(line['call_id'])), line['found']])).toEqual([
      ['leaves', true],
      ['leaves', false],
      ['leaves', false],
      ['boss', true],
      ['boss', false],
    ]);
  });

  test('a new call, a note and a changed note are found as they are now', async () => {
    const id = await stored('new', [['customer', 'Please reimburse me for the kettle.']]);
    await until(async () => (await found('give me a refund for the kettle'))[0] === 'new');
    const write = (notes: string) =>
      app.get(`/api/calls/${id}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ notes }),
      });
    await write('wants the chief of the warehouse');
    await until(async () => (await found('wants the boss of the warehouse'))[0] === 'new');
    await write('nothing else to be done');
    // At once: the direction of the words before left with them.
    expect(await found('wants the boss of the warehouse')).not.toContain('new');
    await until(async () => (await found('nothing else to be done'))[0] === 'new');
  });

  test('an erased call is found by no meaning of it from the answer on, while searches go on', async () => {
    const gone = new Set<string>();
    const ids: string[] = [];
    for (let at = 0; at < 4; at++)
      ids.push(
        await stored(`dragon${at}`, [['customer', `the dragon number ${at} ate my parcel`]]),
      );
    await until(isDone);
    const asked = 'the dragon ate my parcel';
    expect(await found(asked)).toEqual(expect.arrayContaining(['dragon0', 'dragon3']));
    let isOver = false;
    let looks = 0;
    const looking = (async () => {
      while (!isOver) {
        const before = [...gone];
        const text = JSON.stringify(await search(asked));
        for (const id of before) expect(text).not.toContain(id);
        looks += 1;
      }
    })();
    for (const id of ids) {
      expect((await app.get(`/api/calls/${id}`, { method: 'DELETE' })).status).toBe(204);
      expect(await directions(id)).toEqual([]);
      gone.add(id);
      const seen = looks;
      await until(() => looks > seen + 2);
    }
    isOver = true;
    await looking;
    expect(await found(asked)).not.toContain('dragon0');
  });

  test('a filter that thousands of nearer calls fail still finds the one that passes it', async () => {
    const letters = (at: number): string => String(at).replaceAll(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit))); // prettier-ignore
    const startedAt = Date.UTC(2025, 0, 1);
    const make = (at: number) => ({ ...callRow(newId('call', startedAt + at), startedAt + at) });
    const near = Array.from({ length: 2_300 }, (_, at) => make(at + 1));
    const far = { ...make(0), carrier: 'telnyx' };
    names.set(far.id, 'far');
    await store.transaction(async (tx) => {
      for (let at = 0; at < near.length; at += 100) {
        const some = near.slice(at, at + 100);
        await tx.insertInto('calls').values(some).execute();
        await tx
          .insertInto('leg_results')
          .values(
            some.flatMap(({ id }, on) =>
              finalRows(id, [['customer', `a broken kettle whistles ${letters(at + on)}`]]),
            ),
          ) // prettier-ignore
          .execute();
      }
      await tx.insertInto('calls').values(far).execute();
      await tx.insertInto('leg_results').values(finalRows(far.id, [['customer', 'a broken kettle whistles all day long in this house']])).execute(); // prettier-ignore
    });
    await until(isDone, 60_000);
    expect(await found('a broken kettle whistles', '&carrier=telnyx')).toEqual(['far']);
    expect((await search('a broken kettle whistles', '&carrier=twilio')).items).toHaveLength(20);
  }, 90_000);

  test('a text that changes while its direction is made has none of the text before', async () => {
    const id = await stored('raced', [['customer', 'my card is four two four two']]);
    await until(isDone);
    const [before] = await directions(id);
    expect(before).toBeDefined();
    await sql`update leg_results set text = 'my card is covered now' where call_id = ${id}`.execute(store.db); // prettier-ignore
    await until(isDone);
    const rows = await store.db.selectFrom('said_directions').select('direction').where('call_id', '=', id).execute(); // prettier-ignore
    const expected = await meaning.direction('my card is covered now');
    expect(rows.map(({ direction }) => Int8Array.from(Buffer.from(direction)))).toEqual([
      Int8Array.from(expected ?? []),
    ]);
  });
});
