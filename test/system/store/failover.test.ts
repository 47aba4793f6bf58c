import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { reasonOf } from '../../../src/lib/errors.ts';
import type { Store } from '../../../src/store/store.ts';
import { pgbouncer, pgbouncerMissing } from '../../support/store/pgbouncer.ts';
import { postgresWire } from '../../support/store/postgres-wire.ts';
import {
  postgresMissing,
  standbyMissing,
  startPostgres,
  type TestPostgres,
} from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

// A cluster of its own is started first: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const addCall = (store: Store, id: string) =>
  store.transaction((tx) =>
    tx
      .insertInto('event_calls')
      .values({ call_id: id, last_sequence: 1, erased_at: null })
      .execute(),
  );

const callsOf = async (store: Store): Promise<string[]> =>
  (await store.db.selectFrom('event_calls').select('call_id').orderBy('call_id').execute()).map(
    ({ call_id }) => call_id,
  );

const hosts = (url: string, ...ports: number[]): string =>
  url.replace(/127\.0\.0\.1:\d+/, ports.map((port) => `127.0.0.1:${port}`).join(','));

describe.skipIf(standbyMissing !== undefined)(
  `a failover${standbyMissing ? ` (${standbyMissing})` : ''}`,
  () => {
    test('to a synchronous standby: writers go on at the other host, nothing is lost, nothing is twice', async () => {
      await using primary = await startPostgres();
      const url = await primary.newDatabase();
      await using standby = await primary.standby!(true);
      const port = Number(new URL(url).port);
      await using store = await temporaryStore({ databaseUrl: hosts(url, standby.port, port) });
      const acknowledged: string[] = [];
      let isOver = false;
      const writer = async (name: number): Promise<void> => {
        for (let turn = 0; !isOver; turn++) {
          const id = `call_${name}_${String(turn).padStart(6, '0')}`;
          for (;;) {
            // As a part does: what failed is tried again until it is stored.
            const isStored = await addCall(store, id).then(
              () => true,
              (error: unknown) => {
                if (reasonOf(error).includes('event_calls_pkey')) throw error; // stored twice
                return false;
              },
            );
            if (isStored) break;
          }
          acknowledged.push(id);
        }
      };
      const writers = Promise.all(Array.from({ length: 8 }, (_, name) => writer(name)));
      await until(() => acknowledged.length > 200);
      await primary.outage!.begin();
      await standby.promote();
      const before = acknowledged.length;
      await until(() => acknowledged.length > before + 200, 60_000);
      isOver = true;
      await writers;
      expect(await callsOf(store)).toEqual(acknowledged.toSorted());
      expect(store.health()['store']).toEqual({ state: 'ok' });
    });

    test.each([
      ['stored on it', true],
      ['unknown to it', false],
    ])(
      'while a commit is not confirmed that is %s: the standby’s marks decide, not its numbers',
      async (_, isHeard) => {
        await using primary = await startPostgres();
        const url = await primary.newDatabase();
        await using standby = await primary.standby!(isHeard);
        await using wire = await postgresWire(url);
        const databaseUrl = hosts(url, Number(new URL(wire.url).port), standby.port);
        await using store = await temporaryStore({ databaseUrl });
        await addCall(store, 'before');
        if (!isHeard) await standby.stopHearing();
        let runs = 0;
        // COMMIT is done by the server; its answer is cut off, and then the server is gone.
        Object.assign(wire.state, {
          cutAt: 'commit\0',
          pass: true,
          onAnswered: () => {
            wire.goAway();
            void primary.outage!.begin();
          },
        });
        const done = store.transaction(async (tx) => {
          runs++;
          await tx
            .insertInto('event_calls')
            .values({ call_id: `run ${runs}`, last_sequence: 1, erased_at: null })
            .execute();
        });
        await until(() => wire.state.cuts === 1);
        await standby.promote();
        if (!isHeard) {
          // Others are given the numbers that the lost transactions had.
          await using other = await temporaryStore({ databaseUrl: hosts(url, standby.port) });
          for (let at = 0; at < 5; at++) await addCall(other, `other ${at}`);
        }
        await done;
        const runsStored = (await callsOf(store)).filter((id) => id.startsWith('run'));
        expect(runsStored).toEqual([isHeard ? 'run 1' : 'run 2']);
      },
    );
  },
);

async function temporaryAdmin(
  databaseUrl: string,
): Promise<((text: string) => Promise<unknown>) & AsyncDisposable> {
  const url = new URL(databaseUrl);
  url.pathname = '/postgres';
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return Object.assign((text: string) => client.query(text), {
    [Symbol.asyncDispose]: () => client.end(),
  });
}

describe.skipIf(postgresMissing !== undefined || pgbouncerMissing !== undefined)(
  'a pool, or a server that is turned',
  () => {
    let postgres: TestPostgres;
    beforeAll(async () => {
      postgres = await startPostgres();
    });
    afterAll(() => postgres[Symbol.asyncDispose]());

    test.each([
      ['that refuses settings of a session', []],
      ['that takes them and forgets them', ['ignore_startup_parameters = options']],
    ])(
      'in transaction mode, %s: it is learned at the start, and each transaction brings its settings',
      async (_, more) => {
        await using pool = await pgbouncer(await postgres.newDatabase(), 'transaction', more);
        await using store = await temporaryStore({
          databaseUrl: pool.url,
          statementTimeoutMs: 1_500,
        });
        await Promise.all(Array.from({ length: 100 }, (_, at) => addCall(store, `call_${at}`)));
        expect(await callsOf(store)).toHaveLength(100);
        const settings = await store.transaction(async (tx) => {
          const { rows } = await sql<Record<string, string>>`select
          current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
          current_setting('idle_in_transaction_session_timeout') as idle,
          current_setting('synchronous_commit') as sync`.execute(tx);
          return rows[0];
        });
        expect(settings).toEqual({ statement: '1500ms', lock: '2s', idle: '10s', sync: 'on' });
        // The next user of the same server connection has nothing of it.
        const { rows } = await sql<{
          left: string;
        }>`select current_setting('lock_timeout') as left`.execute(store.db);
        expect(rows[0]?.left).toBe('0');
        await expect(
          store.transaction((tx) => sql`select pg_sleep(5)`.execute(tx)),
        ).rejects.toMatchObject({ code: '57014' });
      },
    );

    test('in transaction mode, an unconfirmed commit is looked up through it', async () => {
      await using pool = await pgbouncer(await postgres.newDatabase(), 'transaction');
      await using wire = await postgresWire(pool.url);
      await using store = await temporaryStore({ databaseUrl: wire.url });
      Object.assign(wire.state, { cutAt: 'commit\0', pass: true });
      let runs = 0;
      await store.transaction((tx) =>
        tx
          .insertInto('event_calls')
          .values({ call_id: `run ${++runs}`, last_sequence: 1, erased_at: null })
          .execute(),
      );
      expect(wire.state.cuts).toBe(1);
      expect(await callsOf(store)).toEqual(['run 1']);
    });

    test('in statement mode is refused, with what to set', async () => {
      await using pool = await pgbouncer(await postgres.newDatabase(), 'statement');
      await expect(temporaryStore({ databaseUrl: pool.url })).rejects.toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining('pool_mode = transaction'),
      });
    });

    test('behind it commits that wait for no disk are refused', async () => {
      const databaseUrl = await postgres.newDatabase();
      await using admin = await temporaryAdmin(databaseUrl);
      await admin(
        `alter database ${new URL(databaseUrl).pathname.slice(1)} set synchronous_commit = off`,
      );
      await using pool = await pgbouncer(databaseUrl, 'transaction');
      await expect(temporaryStore({ databaseUrl: pool.url })).rejects.toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining('synchronous_commit'),
      });
    });

    test('a server that takes no writes any more is left, and its health says so until one does', async () => {
      const databaseUrl = await postgres.newDatabase();
      await using store = await temporaryStore({ databaseUrl });
      await addCall(store, 'before');
      await using admin = await temporaryAdmin(databaseUrl);
      const name = new URL(databaseUrl).pathname.slice(1);
      // As a pool does that is turned to a replica under its clients.
      await admin(`alter database ${name} set default_transaction_read_only = on`);
      await admin(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
      );
      const refused = () =>
        addCall(store, 'refused').then(
          () => 'taken',
          (error: unknown) => (error as { code?: string }).code,
        );
      await until(async () => (await refused()) === '25006');
      await until(() => store.health()['store']?.state === 'down', 30_000);
      // Its connections are not kept: the first that is made afterwards is a good one.
      await admin(`alter database ${name} set default_transaction_read_only = off`);
      await addCall(store, 'after');
      await until(() => store.health()['store']?.state === 'ok', 30_000);
      expect(await callsOf(store)).toEqual(['after', 'before']);
    });
  },
);
