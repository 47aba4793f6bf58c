import type { Kysely } from 'kysely';

/** The contact of a call's other party, as the CRM had it when the call began. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('calls').addColumn('contact', 'text').execute();
}
