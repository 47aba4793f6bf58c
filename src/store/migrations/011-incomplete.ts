import { sql, type Kysely } from 'kysely';

/** The seconds of a call without words, and why. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('calls').addColumn('incomplete', 'text').execute();
  await sql`create index calls_incomplete on calls (id) where incomplete is not null`.execute(db);
}
