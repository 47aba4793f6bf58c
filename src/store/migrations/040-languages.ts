import type { Kysely } from 'kysely';

/** The languages of a leg, once they are sure, and that of the call, which lists and the CRM show. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('legs').addColumn('languages', 'text').execute();
  await db.schema.alterTable('calls').addColumn('language', 'text').execute();
}
