import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CallListQuery } from '../../../src/bridge/api/call-search.ts';
import { CallPage } from '../../../src/protocol/api.ts';
import { operatorRoutes } from '../../../src/protocol/openapi/operator-routes.ts';
import * as callList from '../../../src/store/migrations/013-call-list.ts';
import { speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { storeCalls, type StoredCall } from '../../support/store/many-calls.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

const count = 1_000;

describe.each(['SQLite', 'Postgres'])('a list of calls on %s', (kind) => {
  if (kind === 'Postgres' && postgresMissing !== undefined) {
    test.skip(postgresMissing, () => undefined);
    return;
  }
  const opened = new AsyncDisposableStack();
  let store: Awaited<ReturnType<typeof temporaryStore>>;
  let app: Awaited<ReturnType<typeof testBridge>>;
  let stored: StoredCall[];

  beforeAll(async () => {
    const options =
      kind === 'SQLite'
        ? {}
        : { databaseUrl: await opened.use(await startPostgres()).newDatabase() };
    store = opened.use(await temporaryStore(options));
    const speech = opened.use(await FakeSpeech.start());
    stored = await storeCalls(store, count);
    app = opened.use(await testBridge({ store, speechUrl: speech.url }));
  }, 60_000);
  afterAll(() => opened.disposeAsync());

  const ids = async (query: string): Promise<string[]> =>
    CallPage.parse(await app.json(`/api/calls?${query}`)).items.map(({ id }) => id);
  const newest = (wanted: (call: StoredCall, at: number) => boolean): string[] =>
    stored
      .filter(wanted)
      .map(({ id }) => id)
      .toReversed();

  test('is sorted four ways, in pages without holes', async () => {
    const byLength = stored.toSorted((a, b) =>
      a.durationMs === b.durationMs ? (a.id < b.id ? -1 : 1) : a.durationMs - b.durationMs,
    );
    const orders = {
      newest: newest(() => true),
      oldest: newest(() => true).toReversed(),
      shortest: byLength.map(({ id }) => id),
      longest: byLength.map(({ id }) => id).toReversed(),
    };
    for (const [sort, wanted] of Object.entries(orders)) {
      const seen: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const page: CallPage = await app.json(`/api/calls?limit=180&sort=${sort}${after}`);
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.next_cursor;
      }
      expect(seen, sort).toEqual(wanted);
    }
  });

  test('is filtered by day, party, tag, state, words, carrier and direction, and by all together', async () => {
    // Every five minutes from the first of January on: 288 a day.
    expect(await ids('from_date=2025-01-02&to_date=2025-01-02&limit=200')).toEqual(
      newest((_, at) => at >= 288 && at < 576).slice(0, 200),
    );
    expect(await ids('from_date=2025-01-02T01:00:00+01:00&to_date=2025-01-02T00:10:00Z')).toEqual(
      newest((_, at) => at === 288 || at === 289),
    );
    const from = stored[77]!.from;
    const spoken = `(${from.slice(2, 5)}) ${from.slice(5, 8)}-${from.slice(8)}`;
    for (const form of [from, spoken, `001${from.slice(2)}`])
      expect(await ids(`number=${encodeURIComponent(form)}`), form).toEqual([stored[77]!.id]);
    expect(await ids('number=0044 20 7946 0018&limit=200')).toEqual(
      newest(() => true).slice(0, 200),
    );
    expect(await ids('number=nobody@example.com')).toEqual([]);
    const tagged = newest((_, at) => at % 100 === 1);
    expect(await ids('tag=REFUND')).toEqual(tagged);
    expect(await ids('search=refund')).toEqual(tagged);
    expect(await ids('search=CA77')).toEqual([stored[77]!.id]);
    expect(await ids(`search=${stored[77]!.id}`)).toEqual([stored[77]!.id]);
    expect(await ids(`search=${encodeURIComponent(spoken)}`)).toEqual([stored[77]!.id]);
    expect(await ids('state=live')).toEqual([]);
    expect(await ids('role=agent&direction=outbound&carrier=telnyx')).toEqual(
      newest((_, at) => at % 15 === 0 && at % 50 !== 0).slice(0, 50),
    );
    expect(await ids('incomplete=true&role=customer')).toEqual(newest((_, at) => at % 100 === 0));
    expect(await ids('tag=refund&carrier=telnyx&sort=longest&to_date=2025-01-02')).toEqual(
      stored
        .filter((_, at) => at % 100 === 1 && at % 3 === 0 && at < 576)
        .toSorted((a, b) => b.durationMs - a.durationMs)
        .map(({ id }) => id),
    );
  });

  test('has no transcripts, and the beginning of the last turn', async () => {
    const { items } = await app.json('/api/calls?limit=1');
    expect(items[0]).not.toHaveProperty('transcript');
    expect(items[0].last_turn).toEqual({ role: 'agent', text: 'Thank you for calling. Goodbye.' });
  });

  test('refuses what it does not know, by name and with the right one', async () => {
    for (const [query, line] of [
      ['form_date=2025-01-02', 'form_date must not be present, did you mean from_date?'],
      [
        'from=2025-01-02',
        'from must not be present, did you mean from_date, or number for a party',
      ],
      ['status=live', 'status must not be present, did you mean state?'],
      ['q=refund', 'q must not be present, did you mean search?'],
      ['__proto__=1', '__proto__ must not be present: there is cursor, limit, sort, search'],
      ['from_date=yesterday', 'from_date must be a date of the form YYYY-MM-DD'],
      ['from_date=2025-02-30', 'from_date must be a date of the form YYYY-MM-DD'],
      ['sort=loudest', 'sort must be one of newest, oldest, longest, shortest'],
      ['number=12', 'number must have at least 3 digits'],
      ['tag=', 'tag must have at least 1 character'],
      ['tag=a%00b', 'tag must have no control characters'],
      ['tag=a&tag=b', 'tag must be a string'],
      ['limit=201', 'limit must be at most 200'],
      ['sort=longest&cursor=abc', 'cursor must be the next_cursor of a page with the same sort'],
    ]) {
      const answer = await app.get(`/api/calls?${query}`);
      const body: AnyJson = await answer.json();
      expect([query, answer.status, body.validation_errors[0]]).toEqual([
        query,
        400,
        expect.stringContaining(line!),
      ]);
    }
    const page = await app.get(`/api/calls/${stored[0]!.id}/events?cusror=1`);
    expect(((await page.json()) as AnyJson).validation_errors).toEqual([
      'cusror must not be present, did you mean cursor?',
    ]);
    // A filter that holds a whole request line, and dates before and after all time.
    for (const query of [
      `number=${'9'.repeat(100)}`,
      `search=${'%25'.repeat(300)}`,
      'from_date=0001-01-01&to_date=9999-12-31',
      "search=' or 1=1 --",
    ])
      expect((await app.get(`/api/calls?${query}`)).status, query).toBe(200);
  });

  test('has calls that were stored before it could be searched', async () => {
    const facts = async () => ({
      keys: await store.db
        .selectFrom('call_keys')
        .selectAll()
        .where('kind', '<>', 'tag')
        .orderBy('call_id')
        .orderBy('key')
        .execute(),
      calls: await store.db
        .selectFrom('calls')
        .select(['id', 'duration_ms', 'said_by'])
        .orderBy('id')
        .execute(),
    });
    const before = await facts();
    for (const name of ['length', 'state', 'direction', 'speaker', 'carrier_call_id'])
      await sql.raw(`drop index calls_by_${name}`).execute(store.db);
    await sql`drop index calls_of_carrier`.execute(store.db);
    await sql`drop table call_keys`.execute(store.db);
    // A later migration's triggers name columns that are about to go.
    const later =
      kind === 'SQLite'
        ? ['said_note', 'said_tag_began', 'said_tag_changed', 'said_parameter_began', 'said_parameter_changed'] // prettier-ignore
        : ['said_with_call on calls', 'said_with_facts on calls'];
    for (const trigger of later) await sql.raw(`drop trigger ${trigger}`).execute(store.db);
    for (const name of ['notes', 'tags', 'said_by', 'last_turn', 'duration_ms'])
      await sql.raw(`alter table calls drop column ${name}`).execute(store.db);
    await callList.up(store.db);
    expect(await facts()).toEqual(before);
    expect(before.keys.length).toBe(2 * count);
  });
});

test('a call is found by its parties and its length once it is over, and by nothing once it is erased', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const callIds: string[] = [];
  for (const [at, from] of ['sip:Ann@pbx.example', '+442079460018'].entries()) {
    const { stream } = await app.open({ carrierCallId: `CA${at}`, from });
    await speak(stream, 'inbound', seededAudio(8_000 * (3 - at), at));
    stream.end('stop');
    await app.ended(stream.callId);
    callIds.push(stream.callId);
  }
  const list = async (query: string): Promise<AnyJson[]> =>
    (await app.json(`/api/calls?${query}`)).items;
  const ids = async (query: string): Promise<string[]> => (await list(query)).map(({ id }) => id);
  expect(await ids('sort=longest')).toEqual(callIds);
  expect(await ids('sort=shortest&role=customer')).toEqual(callIds.toReversed());
  expect(await ids('role=agent')).toEqual([]);
  expect(await ids('number=sip:ann@pbx.example')).toEqual([callIds[0]]);
  const [found] = await list('number=020 7946 0018');
  expect(found).toMatchObject({
    id: callIds[1],
    last_turn: { role: 'customer', text: wordsOf(seededAudio(16_000, 1)).at(-1) },
  });
  expect((await app.get(`/api/calls/${callIds[1]}`, { method: 'DELETE' })).status).toBe(204);
  expect(await ids('number=020 7946 0018')).toEqual([]);
  expect(await ids('')).toEqual([callIds[0]]);
  const keys = await store.db.selectFrom('call_keys').select('call_id').distinct().execute();
  expect(keys).toEqual([{ call_id: callIds[0] }]);
});

test('every filter of the list is described', () => {
  const route = operatorRoutes.find(
    ({ path, method }) => path === '/api/calls' && method === 'get',
  );
  expect(route?.query?.map(({ name }) => name).toSorted()).toEqual(
    Object.keys(CallListQuery.shape).toSorted(),
  );
});
