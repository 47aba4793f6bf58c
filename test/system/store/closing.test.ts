import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore, type Store } from '../../../src/store/store.ts';
import { outboxOn } from '../../support/crm/outbox.ts';
import { until } from '../../support/process/until.ts';
import { fixtureRecogniser, startTestService } from '../../support/speech/speech-service.ts';
import { postgresWire } from '../../support/store/postgres-wire.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryFolder } from '../../support/store/store.ts';

const quiet = { ballastBytes: 0, lowWaterBytes: 0 };
const addCall = (store: Store, id: string) =>
  store.db
    .insertInto('event_calls')
    .values({ call_id: id, last_sequence: 1, erased_at: null })
    .execute();
/** The store's own deadline of 5 s, and time for a busy machine. */
const closedWithinMs = 9_000;

async function tookMs(work: PromiseLike<unknown>): Promise<number> {
  const startMs = performance.now();
  await work;
  return performance.now() - startMs;
}

describe('closing a store that cannot commit', () => {
  test('SQLite locked by another program: closes by its deadline, whoever waits hears, the folder is free', async () => {
    await using folder = await temporaryFolder();
    const dataDir = join(folder.path, 'data');
    const store = await openStore({ ...quiet, dataDir });
    await addCall(store, 'before');
    const other = new DatabaseSync(join(dataDir, 'trunkline.sqlite'));
    other.exec('BEGIN EXCLUSIVE');
    const waiting = Array.from({ length: 400 }, (_, index) =>
      addCall(store, `call_${index}`).then(
        () => 'stored',
        () => 'refused',
      ),
    );
    const inTransaction = store.transaction((tx) => tx.deleteFrom('event_calls').execute());
    inTransaction.catch(() => undefined);
    // Nothing tells from outside when the first of them is with the database. Here it surely is.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const first = store[Symbol.asyncDispose]();
    const second = store[Symbol.asyncDispose]();
    expect(await tookMs(Promise.all([first, second]))).toBeLessThan(closedWithinMs);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['refused']));
    await expect(inTransaction).rejects.toThrow();
    await expect(addCall(store, 'late')).rejects.toThrow(/closed|destroyed/);
    other.exec('ROLLBACK');
    other.close();
    await using again = await openStore({ ...quiet, dataDir });
    const rows = await again.db.selectFrom('event_calls').select('call_id').execute();
    expect(rows).toEqual([{ call_id: 'before' }]);
  }, 120_000);

  test('a transaction whose work never ends does not hold the closing up', async () => {
    await using folder = await temporaryFolder();
    const store = await openStore({ ...quiet, dataDir: join(folder.path, 'data') });
    const begun = Promise.withResolvers<undefined>();
    const stuck = store.transaction(async () => {
      begun.resolve(undefined);
      await new Promise(() => undefined);
    });
    stuck.catch(() => undefined);
    await begun.promise;
    expect(await tookMs(store[Symbol.asyncDispose]())).toBeLessThan(closedWithinMs);
  }, 60_000);
});

describe.skipIf(postgresMissing !== undefined)('closing while Postgres is silent', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]();
  });

  test('closes by its deadline, and whoever waits hears', async () => {
    await using wire = await postgresWire(await postgres.newDatabase());
    await using folder = await temporaryFolder();
    const store = await openStore({ ...quiet, dataDir: folder.path, databaseUrl: wire.url });
    await addCall(store, 'before');
    wire.state.silent = true;
    const waiting = Array.from({ length: 30 }, (_, index) =>
      store
        .transaction((tx) =>
          tx
            .insertInto('event_calls')
            .values({ call_id: `call_${index}`, last_sequence: 1, erased_at: null })
            .execute(),
        )
        .then(
          () => 'stored',
          () => 'refused',
        ),
    );
    await until(() => wire.state.swallowed > 0);
    const closing = [store[Symbol.asyncDispose](), store[Symbol.asyncDispose]()];
    expect(await tookMs(Promise.all(closing))).toBeLessThan(closedWithinMs);
    expect(await tookMs(Promise.all(waiting))).toBeLessThan(closedWithinMs);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['refused']));
  }, 120_000);

  test('the outbox over it drains by its deadline and closes', async () => {
    await using wire = await postgresWire(await postgres.newDatabase());
    await using folder = await temporaryFolder();
    const store = await openStore({ ...quiet, dataDir: folder.path, databaseUrl: wire.url });
    const outbox = await outboxOn(store, 'http://127.0.0.1:1/');
    wire.state.silent = true;
    // Polls and ticks meet the silence.
    await until(() => wire.state.swallowed >= 2);
    expect(await tookMs(outbox.drain!(1_000))).toBeLessThan(4_000);
    expect(await tookMs(outbox[Symbol.asyncDispose]())).toBeLessThan(4_000);
    expect(await tookMs(store[Symbol.asyncDispose]())).toBeLessThan(closedWithinMs);
  }, 120_000);

  test('the speech service over it, whose jobs wait for an answer, drains by its deadline and closes', async () => {
    await using wire = await postgresWire(await postgres.newDatabase());
    await using folder = await temporaryFolder();
    const dataDir = folder.path;
    await using recogniser = await fixtureRecogniser();
    const store = await openStore({ ...quiet, dataDir, databaseUrl: wire.url });
    const service = await startTestService({
      recogniser,
      store: Object.assign(store, { dataDir }),
    });
    wire.state.silent = true;
    // The queue looks for jobs, and for callbacks that are due.
    await until(() => wire.state.swallowed >= 2, 20_000);
    expect(await tookMs(service.service.drain!(1_000))).toBeLessThan(4_500);
    expect(await tookMs(service[Symbol.asyncDispose]())).toBeLessThan(4_000);
    expect(await tookMs(store[Symbol.asyncDispose]())).toBeLessThan(closedWithinMs);
  }, 120_000);
});
