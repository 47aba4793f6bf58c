import { sql, type Kysely } from 'kysely';

/**
 * The row of a note, a summary, a wrap-up, tags or parameters is found by its whole key. By kind and call, the database
 * read the rows of this kind of all calls, because the key begins with the kind: each new call took longer than the one
 * before it.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  // The query is written so that it fails only on SQLite, where a failed statement leaves the transaction intact.
  const isPostgres = await sql`select version()`.execute(db).then(
    () => true,
    () => false,
  );
  await (isPostgres ? onPostgres(db) : onSqlite(db));
}

const byKey = (definition: string) =>
  definition.replaceAll(
    /delete from said where call_id = (\S+) and kind = ('[a-z-]+')/g,
    `delete from said where kind = $2 and leg_id = '' and session_id = '' and result_key = '' and call_id = $1`,
  );

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
async function onSqlite(db: Kysely<any>): Promise<void> {
  const { rows } = await sql<{ name: string; definition: string }>`
    select name, sql as definition from sqlite_master where type = 'trigger'`.execute(db);
  for (const { name, definition } of rows) {
    if (byKey(definition) === definition) continue;
    await sql`drop trigger ${sql.ref(name)}`.execute(db);
    await sql.raw(byKey(definition)).execute(db);
  }
}

const functions = ['said_follows_call', 'said_follows_wrap_up', 'said_follows_facts'];

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
async function onPostgres(db: Kysely<any>): Promise<void> {
  for (const name of functions) {
    const { rows } = await sql<{ definition: string }>`
      select pg_get_functiondef(${name}::regproc) as definition`.execute(db);
    for (const { definition } of rows) await sql.raw(byKey(definition)).execute(db);
  }
}
