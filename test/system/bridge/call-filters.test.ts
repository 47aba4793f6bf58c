import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertKeys } from '../../../src/bridge/events/call-keys.ts';
import { ruleKeys } from '../../../src/bridge/events/content-keys.ts';
import { contentFilters } from '../../../src/protocol/call-filters.ts';
import { operatorRoutes } from '../../../src/protocol/openapi/operator-routes.ts';
import {
  speak,
  testBridge,
  type AnyJson,
  type TestBridge,
} from '../../support/bridge/test-bridge.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

describe.each(['SQLite', 'Postgres'])('filters by what a call was about, on %s', (kind) => {
  if (kind === 'Postgres' && postgresMissing !== undefined) {
    test.skip(postgresMissing, () => undefined);
    return;
  }
  const opened = new AsyncDisposableStack();
  let store: Awaited<ReturnType<typeof temporaryStore>>;
  let app: TestBridge;
  let angry: string;
  let calm: string;
  let word: string;

  async function callOf(seconds: number, seed: number): Promise<string> {
    const { stream } = await app.open({ carrierCallId: `CA${seed}` });
    const audio = seededAudio(8_000 * seconds, seed);
    word = wordsOf(audio)[0] ?? '';
    await speak(stream, 'inbound', audio);
    stream.end('stop');
    await app.ended(stream.callId);
    await until(() => app.bridge.calls.get(stream.callId) === undefined);
    return stream.callId;
  }

  const ids = async (query: string): Promise<string[]> =>
    (await app.json(`/api/calls?${query}`)).items.map(({ id }: AnyJson) => id);
  const searched = async (query: string): Promise<string[]> =>
    (await app.json(`/api/search?q=${word}&${query}`)).items.map(({ call }: AnyJson) => call.id);
  const completed = async (id: string): Promise<AnyJson> => {
    const events: AnyJson[] = await app.events(id);
    return events.find(({ type }) => type === 'call.completed')?.['data'];
  };
  const put = (id: string, wrapUp: object): Promise<Response> =>
    app.get(`/api/calls/${id}/wrap-up`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ wrap_up: wrapUp }),
    });

  beforeAll(async () => {
    const options =
      kind === 'SQLite'
        ? {}
        : { databaseUrl: await opened.use(await startPostgres()).newDatabase() };
    store = opened.use(await temporaryStore(options));
    const speech = opened.use(await FakeSpeech.start());
    app = opened.use(await testBridge({ store, speechUrl: speech.url }));
    Object.assign(speech.script, { sentiment: true, entities: true });
    angry = await callOf(4, 1);
    Object.assign(speech.script, { sentiment: 'neutral', entities: false });
    calm = await callOf(2, 2);
  }, 60_000);
  afterAll(() => opened.disposeAsync());

  test('mood and entities are those of the whole call, and hold in the search too', async () => {
    const [ofAngry, ofCalm] = [await completed(angry), await completed(calm)];
    expect([ofAngry.sentiment, ofCalm.sentiment]).toEqual(['negative', 'neutral']);
    expect(await ids('mood=negative')).toEqual([angry]);
    expect(await ids('mood=neutral')).toEqual([calm]);
    expect(await ids('mood=mixed')).toEqual([]);
    expect(await searched('mood=neutral')).toEqual([calm]);
    expect(await searched('mood=negative')).toEqual([]);
    const has = ({ entities }: AnyJson, wanted: RegExp): boolean =>
      entities.some(({ entity_type, text }: AnyJson) => wanted.test(`${entity_type}:${text}`));
    const [{ entity_type: type, text }] = ofAngry.entities;
    const of = (wanted: RegExp): string[] => [
      ...(has(ofCalm, wanted) ? [calm] : []),
      ...(has(ofAngry, wanted) ? [angry] : []),
    ];
    expect(await ids(`entity=${type}`)).toEqual(of(new RegExp(`^${type}:`)));
    const whole = `${type}:${text}`;
    expect(of(new RegExp(`^${whole}$`))).toEqual([angry]);
    expect(await ids(`entity=${encodeURIComponent(whole.toLowerCase())}`)).toEqual([angry]);
    expect(await ids(`entity=${type}:of-nobody`)).toEqual([]);
    expect(await ids(`entity=${encodeURIComponent(whole)}&mood=neutral`)).toEqual([]);
  });

  test('a disposition finds the call from its edit on, until another one stands in its place', async () => {
    expect(await ids('disposition=Refund granted')).toEqual([]);
    expect((await put(calm, { disposition: 'Refund Granted' })).status).toBe(200);
    expect(await ids('disposition=refund granted')).toEqual([calm]);
    expect(await searched('disposition=refund granted')).toEqual([calm]);
    expect((await put(calm, { disposition: 'Refused' })).status).toBe(200);
    expect(await ids('disposition=refund granted')).toEqual([]);
    expect(await ids('disposition=refused')).toEqual([calm]);
    await put(calm, { disposition: null });
    expect(await ids('disposition=refused')).toEqual([]);
  });

  test('length, rule, and events that were not taken narrow the list', async () => {
    expect(await ids('min_duration=3')).toEqual([angry]);
    expect(await ids('max_duration=3')).toEqual([calm]);
    expect(await ids('min_duration=1&max_duration=3.5')).toEqual([calm]);
    await store.transaction((tx) => insertKeys(tx, angry, ruleKeys({ playbook: 'sales', rule: 'cancel' }))); // prettier-ignore
    for (const rule of ['sales/cancel', 'CANCEL']) expect(await ids(`rule=${rule}`)).toEqual([angry]); // prettier-ignore
    expect(await ids('rule=sales')).toEqual([]);
    expect(await ids('undelivered=true')).toEqual([]);
    await store.db
      .insertInto('lanes')
      .values({
        ...{ endpoint: 'crm', call_id: calm, next_attempt_at: null, wakes: 1 },
        ...{ parked_at: 1, parked_reason: 'answered with 400', held_by_endpoint: 0 },
      })
      .execute();
    expect(await ids('undelivered=true')).toEqual([calm]);
    expect(await ids('undelivered=false')).toEqual([angry]);
    expect(await searched('undelivered=false')).toEqual([]);
  });

  test('values that mean nothing are refused, and an unknown filter with the names of all', async () => {
    for (const query of [
      'mood=happy',
      'min_duration=-1',
      'max_duration=soon',
      'undelivered=maybe',
      'entity=',
    ])
      // prettier-ignore
      expect([query, (await app.get(`/api/calls?${query}`)).status]).toEqual([query, 400]);
    const refused = await (await app.get('/api/search?q=x&zzzz=1')).text();
    for (const name of Object.keys(contentFilters)) expect(refused).toContain(name);
  });

  test('an erased call is found by none of them', async () => {
    expect((await app.get(`/api/calls/${angry}`, { method: 'DELETE' })).status).toBe(204);
    for (const query of ['mood=negative', 'rule=cancel', 'min_duration=3', 'undelivered=false'])
      expect(await ids(query)).toEqual([]);
    expect(await store.db.selectFrom('call_keys').selectAll().where('call_id', '=', angry).execute()).toEqual([]); // prettier-ignore
  });
});

test('the list, the search and the export describe the same filters', () => {
  const named = (path: string): string[] =>
    operatorRoutes
      .find((route) => route.path === path && route.method === 'get')
      ?.query?.map(({ name }) => name) ?? [];
  for (const path of ['/api/calls', '/api/search', '/api/search/export'])
    expect(named(path)).toEqual(expect.arrayContaining(Object.keys(contentFilters)));
});
