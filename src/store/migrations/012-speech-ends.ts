import type { Kysely } from 'kysely';

/** Adds the end of the speech that an event reports, from which its delay to the CRM is measured. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('events').addColumn('speech_ended_at', 'bigint').execute();
}
