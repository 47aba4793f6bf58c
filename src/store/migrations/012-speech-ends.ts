import type { Kysely } from 'kysely';

/** When the speech ended that an event tells of: how long its way to the CRM was is measured from there. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('events').addColumn('speech_ended_at', 'bigint').execute();
}
