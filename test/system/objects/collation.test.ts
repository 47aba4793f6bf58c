import pg from 'pg';
import { expect, test } from 'vitest';
import { objectsOn } from '../../support/store/bucket.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

test.skipIf(postgresMissing !== undefined)(
  'in a database of a human language, too, pieces of a leg are found by the beginning of their keys',
  async () => {
    await using postgres = await startPostgres();
    const url = new URL(await postgres.newDatabase());
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    const name = `in_english_${process.pid}`;
    await client.query(
      `create database ${name} template template0 locale_provider icu icu_locale 'en-US'`,
    );
    await client.end();
    url.pathname = `/${name}`;
    await using store = await temporaryStore({ databaseUrl: url.href });
    const keys = [
      'recordings/leg_01A',
      'tails/leg_01A/000000000000-1',
      'tails/leg_01A/000000000160-1',
      'tails/leg_01AB/000000000000-1',
      'tails/leg_01B/000000000000-1',
    ];
    const row = { node: 'n', state: 'stored' as const, bytes: 1, part_bytes: 1, sha256: 'x', created_at: 1 }; // prettier-ignore
    await store.db
      .insertInto('objects')
      .values(keys.map((key) => ({ key, ...row })))
      .execute();
    await using objects = objectsOn('http://127.0.0.1:9', store);
    const found = async (prefix: string): Promise<string[]> =>
      (await objects.below(prefix)).map(({ key }) => key);
    expect(await found('tails/leg_01A/')).toEqual(keys.slice(1, 3));
    expect(await found('tails/')).toEqual(keys.slice(1));
    await store.transaction((tx) => objects.eraseBelow(tx, 'tails/leg_01A/'));
    expect(await found('tails/')).toEqual(keys.slice(3));
  },
  60_000,
);
