import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

/** The triggers or their functions, by which the database writes the words of calls by itself. */
async function definitionsIn({ kind, db }: Store): Promise<string> {
  const { rows } =
    kind === 'sqlite'
      ? await sql<{ body: string }>`select sql as body from sqlite_master where type = 'trigger'`.execute(db) // prettier-ignore
      : await sql<{ body: string }>`select prosrc as body from pg_proc where proname like 'said_%'`.execute(db); // prettier-ignore
  return rows.map(({ body }) => body).join('\n');
}

/** The columns by which the statement finds its rows in an index. */
async function columnsFound({ kind, db }: Store, statement: string): Promise<string> {
  if (kind === 'sqlite') {
    const { rows } = await sql<{ detail: string }>`explain query plan ${sql.raw(statement)}`.execute(db); // prettier-ignore
    return rows.map(({ detail }) => detail).join('\n');
  }
  return db.transaction().execute(async (tx) => {
    await sql`set local enable_seqscan = off`.execute(tx);
    await sql`set local enable_bitmapscan = off`.execute(tx);
    const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${sql.raw(statement)}`.execute(tx);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
}

async function expectFoundByKey(store: Store): Promise<void> {
  const text = await definitionsIn(store);
  const statements = [...text.matchAll(/(?:delete from|update) said (?:set text = \S+ )?where [^;]+(?=;)/g)].map(([all]) => all.replaceAll(/\b(?:new|old)\.\w+/g, `'x'`)); // prettier-ignore
  // A note, a summary, a wrap-up, tags, parameters, a turn and a call.
  expect(statements.length).toBeGreaterThanOrEqual(8);
  for (const statement of statements) {
    const found = await columnsFound(store, statement);
    expect(found).toMatch(/said_identity|said_of_call/);
    // The key begins with the kind: by the kind alone, the rows of all calls would be read.
    if (found.includes('said_identity')) expect([statement, found]).toEqual([statement, expect.stringMatching(/kind\W.*leg_id\W.*session_id\W.*result_key\W/)]); // prettier-ignore
  }
}

test('what is written beside a call is found by its whole key on SQLite, however many calls there are', async () => {
  await using store = await temporaryStore({});
  await expectFoundByKey(store);
});

test.skipIf(postgresMissing !== undefined)(
  'what is written beside a call is found by its whole key on Postgres, however many calls there are',
  async () => {
    await using postgres = await startPostgres();
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    await expectFoundByKey(store);
  },
);
