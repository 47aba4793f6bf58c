import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { sql } from 'kysely';
import pg from 'pg';
import { createLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { migrate, migrations } from '../../../src/store/migrations.ts';
import { StoreConfig } from '../../../src/store/config.ts';
import { migrateStore, openStore, type Store } from '../../../src/store/store.ts';
import { until } from '../../support/process/until.ts';
import { postgresWire } from '../../support/store/postgres-wire.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';

// Processes are started one after the other: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 240_000 });

const quiet = { ballastBytes: 0, lowWaterBytes: 0 };
const addCall = (store: Store, id: string) =>
  store.transaction((tx) =>
    tx
      .insertInto('event_calls')
      .values({ call_id: id, last_sequence: 1, erased_at: null })
      .execute(),
  );

async function filled(dataDir: string): Promise<void> {
  await using store = await openStore({ ...quiet, dataDir });
  for (let call = 0; call < 50; call++) await addCall(store, `call_${call}_${'x'.repeat(300)}`);
}

describe('a damaged database', () => {
  const damages: [string, (path: string) => void][] = [
    ['cut to nothing', (path) => truncateSync(path, 0)],
    ['cut in half', (path) => truncateSync(path, statSync(path).size / 2)],
    ['with another header', (path) => writeFileSync(path, Buffer.concat([Buffer.alloc(100, 0x55), readFileSync(path).subarray(100)]))],
    ['with pages of rubbish', (path) => writeFileSync(path, readFileSync(path).map((byte, at) => (at > 4_096 ? byte ^ 0xff : byte)))],
  ]; // prettier-ignore

  test.each(damages)(
    '%s is refused by name, and set aside only when told to',
    async (_, damage) => {
      await using folder = await temporaryFolder();
      await filled(folder.path);
      damage(join(folder.path, 'trunkline.sqlite'));
      await expect(openStore({ ...quiet, dataDir: folder.path })).rejects.toMatchObject({
        code: 'STORE_CORRUPT',
      });
      await using store = await openStore({
        ...quiet,
        dataDir: folder.path,
        setAsideCorrupt: true,
      });
      expect(await store.db.selectFrom('event_calls').selectAll().execute()).toEqual([]);
      expect(readdirSync(folder.path).some((name) => name.includes('.corrupt-'))).toBe(true);
    },
  );

  test('with single bits flipped opens as it is or is refused, and is never empty in silence', async () => {
    await using folder = await temporaryFolder();
    await filled(folder.path);
    const path = join(folder.path, 'trunkline.sqlite');
    const whole = readFileSync(path);
    let refused = 0;
    for (let flip = 0; flip < 12; flip++) {
      const at = Math.floor((flip / 12) * whole.length) + flip;
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (flip % 8));
      writeFileSync(path, bytes);
      try {
        await using store = await openStore({ ...quiet, dataDir: folder.path });
        expect(
          (await store.db.selectFrom('event_calls').select('call_id').execute()).length,
        ).toBeGreaterThan(40);
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/^STORE_/) });
        refused++;
      }
    }
    expect(refused).toBeLessThan(12);
  });
});

describe('the schema', () => {
  test.each([
    ['that takes something away is refused', migrations.length + 1],
    ['that does not say what it needs is refused', null],
    ['that only adds is one that this program works with', undefined],
  ])('of a newer program %s', async (_, needs) => {
    await using folder = await temporaryFolder();
    await filled(folder.path);
    {
      await using store = await openStore({ ...quiet, dataDir: folder.path });
      const next = {
        name: '999-next',
        up: async (db: Parameters<(typeof migrations)[number]['up']>[0]) => {
          await sql`alter table event_calls add column colour text`.execute(db);
        },
        ...(typeof needs === 'number' ? { needs } : {}),
      };
      await migrate(store.db, 'sqlite', systemClock, [...migrations, next]);
      if (needs === null)
        await store.db
          .updateTable('schema_version')
          .set({ needs })
          .where('name', '=', '999-next')
          .execute();
    }
    const opening = openStore({ ...quiet, dataDir: folder.path });
    if (needs !== undefined) {
      await expect(opening).rejects.toMatchObject({ code: 'STORE_NEWER' });
      return;
    }
    await using store = await opening;
    await addCall(store, 'goes on');
  });

  test('is made by the command alone where no start is to make it', async () => {
    await using folder = await temporaryFolder();
    const settings = { ...quiet, dataDir: folder.path, migrate: 'by-command' } as const;
    await expect(openStore(settings)).rejects.toMatchObject({
      code: 'STORE_OLDER',
      message: expect.stringContaining('npx trunkline migrate'),
    });
    const config = StoreConfig.parse(settings);
    const before = await migrateStore({ config, isCheck: true });
    expect(before).toMatchObject({ applied: 0, missing: migrations.map(({ name }) => name) });
    await expect(openStore(settings)).rejects.toMatchObject({ code: 'STORE_OLDER' });
    await migrateStore({ config, isCheck: false });
    expect((await migrateStore({ config, isCheck: true })).missing).toEqual([]);
    await using store = await openStore(settings);
    await addCall(store, 'goes on');
    // Another process has the folder.
    await expect(migrateStore({ config, isCheck: false })).rejects.toMatchObject({
      code: 'DATA_LOCKED',
    });
  });

  test('moves as a whole: a migration that fails half-way leaves nothing of itself', async () => {
    await using store = await temporaryStore();
    const broken = {
      name: '999-broken',
      up: async (db: Parameters<(typeof migrations)[number]['up']>[0]) => {
        await sql`create table half_way (id text)`.execute(db);
        await sql`insert into nowhere values (1)`.execute(db);
      },
    };
    await expect(migrate(store.db, 'sqlite', systemClock, [...migrations, broken])).rejects.toThrow(
      'nowhere',
    );
    const { rows } = await sql`select name from sqlite_master where name = 'half_way'`.execute(
      store.db,
    );
    expect(rows).toEqual([]);
    await addCall(store, 'goes on');
  });
});

describe('the disk', () => {
  test('under the low-water mark refuses new calls with a reason, and takes them again by itself', async () => {
    let free = 10_000_000_000;
    await using store = await temporaryStore({
      lowWaterBytes: 1_000_000_000,
      ballastBytes: 1 << 20,
      freeBytes: async () => free,
    });
    expect(store.acceptsNewCalls()).toEqual({ ok: true });
    expect(existsSync(join(store.dataDir, 'ballast'))).toBe(true);
    free = 500_000_000;
    await expect
      .poll(() => store.acceptsNewCalls(), { timeout: 15_000 })
      .toMatchObject({ ok: false, reason: expect.stringContaining('477 MiB free') });
    expect(store.health()['disk']).toMatchObject({ state: 'down' });
    await addCall(store, 'what was begun can be finished');
    free = 10_000_000_000;
    await expect.poll(() => store.acceptsNewCalls(), { timeout: 15_000 }).toEqual({ ok: true });
  });

  test('holds the data for its owner only', async () => {
    await using store = await temporaryStore();
    await addCall(store, 'x');
    expect(statSync(store.dataDir).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(store.dataDir))
      expect([name, statSync(join(store.dataDir, name)).mode & 0o077]).toEqual([name, 0]);
  });

  test('keeps no trace of what was erased', async () => {
    await using store = await temporaryStore();
    const canary = 'canary-4111111111111111';
    for (let call = 0; call < 20; call++) await addCall(store, `${canary}-${call}`);
    await store.db.deleteFrom('event_calls').execute();
    await store.forgetDeleted();
    for (const name of readdirSync(store.dataDir))
      expect([name, readFileSync(join(store.dataDir, name)).includes(canary)]).toEqual([
        name,
        false,
      ]);
  });

  test('locked by another program for longer than the busy timeout delays a write and drops none', async () => {
    await using store = await temporaryStore();
    const other = new DatabaseSync(join(store.dataDir, 'trunkline.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    setTimeout(() => {
      other.exec('ROLLBACK');
      other.close();
    }, 5_500);
    await addCall(store, 'waited');
    expect(await store.db.selectFrom('event_calls').selectAll().execute()).toHaveLength(1);
  });
});

describe.skipIf(postgresMissing !== undefined)('Postgres', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]();
  });

  test.each([
    ['after it was done', true],
    ['before it was done', false],
  ])('a connection cut at COMMIT, %s, is looked up and not guessed', async (_, pass) => {
    await using wire = await postgresWire(await postgres.newDatabase());
    await using store = await temporaryStore({ databaseUrl: wire.url });
    let runs = 0;
    Object.assign(wire.state, { cutAt: 'commit\0', pass });
    await store.transaction(async (tx) => {
      runs++;
      await tx
        .insertInto('event_calls')
        .values({ call_id: `run ${runs}`, last_sequence: 1, erased_at: null })
        .execute();
    });
    const rows = await store.db.selectFrom('event_calls').select('call_id').execute();
    // Done once, whether it was the first run that counted or the second that had to be made.
    expect(rows).toEqual([{ call_id: pass ? 'run 1' : 'run 2' }]);
    expect(wire.state.cuts).toBe(1);
  });

  test('two transactions that lock each other are both done in the end', async () => {
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    await addCall(store, 'a');
    await addCall(store, 'b');
    const bump = (first: string, second: string) =>
      store.transaction(async (tx) => {
        for (const id of [first, second]) {
          await tx
            .updateTable('event_calls')
            .set({ last_sequence: sql`last_sequence + 1` })
            .where('call_id', '=', id)
            .execute();
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      });
    await Promise.all([bump('a', 'b'), bump('b', 'a')]);
    const rows = await store.db.selectFrom('event_calls').select('last_sequence').execute();
    expect(rows.map((row) => row.last_sequence)).toEqual([3, 3]);
  });

  test('an order of text that was changed under a database is warned of, with what to do, until it is mended', async () => {
    const plain = await postgres.newDatabase();
    const client = new pg.Client(plain);
    await client.connect();
    // The order of "C" has no version, unlike that of every language.
    await client.query(`create database ordered template template0 locale_provider icu icu_locale 'en'`); // prettier-ignore
    await client.end();
    const databaseUrl = plain.replace(/[^/]*$/, 'ordered');
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) };
    const log = createLog({ level: 'warn', destination });
    const open = async (): Promise<string[]> => {
      lines.length = 0;
      await using folder = await temporaryFolder();
      await using store = await openStore({ ...quiet, log, dataDir: folder.path, databaseUrl });
      await sql`update pg_database set datcollversion = '0.1' where datname = current_database()`.execute(store.db); // prettier-ignore
      return lines.filter((line) => line.includes('REINDEX DATABASE'));
    };
    expect(await open()).toEqual([]);
    expect(await open()).toHaveLength(1);
    // `trunkline doctor` and the page show it until it is mended, and no restart is needed then.
    await using folder = await temporaryFolder();
    await using store = await openStore({ ...quiet, dataDir: folder.path, databaseUrl });
    expect(store.health()['store']).toMatchObject({
      state: 'degraded',
      detail: expect.stringContaining('REINDEX DATABASE') as string,
    });
    expect(store.acceptsNewCalls()).toEqual({ ok: true });
    await sql`alter database ordered refresh collation version`.execute(store.db);
    await until(() => store.health()['store']?.state === 'ok', 15_000);
  });

  test('a connection that goes silent is given up, and a new one is made', async () => {
    await using wire = await postgresWire(await postgres.newDatabase());
    await using store = await temporaryStore({ databaseUrl: wire.url });
    await addCall(store, 'before');
    wire.state.silent = true;
    const late = addCall(store, 'during').catch((error: unknown) => error);
    // Given up by its own deadline, while nothing has come back yet.
    expect(await late).toBeInstanceOf(Error);
    wire.state.silent = false;
    await addCall(store, 'after');
    const rows = await store.db.selectFrom('event_calls').select('call_id').execute();
    expect(rows.map((row) => row.call_id)).toEqual(expect.arrayContaining(['before', 'after']));
  });

  test('two processes that start at once migrate once', async () => {
    const databaseUrl = await postgres.newDatabase();
    await using first = await temporaryFolder();
    await using second = await temporaryFolder();
    const stores = await Promise.all(
      [first, second].map((folder) => openStore({ ...quiet, dataDir: folder.path, databaseUrl })),
    );
    const versions = await stores[0]!.db
      .selectFrom('schema_version')
      .select(['version', 'name'])
      .orderBy('version')
      .execute();
    // One row for each migration: the second process found them applied and repeated none.
    expect(versions).toEqual(migrations.map(({ name }, index) => ({ version: index + 1, name })));
    await addCall(stores[0]!, 'call_1');
    await expect(addCall(stores[1]!, 'call_1')).rejects.toThrow('event_calls_pkey');
    for (const store of stores) await store[Symbol.asyncDispose]();
  });
});
