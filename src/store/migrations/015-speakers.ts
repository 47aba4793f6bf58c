import type { Kysely } from 'kysely';

/** Adds the voice of each utterance on a mixed leg, which is known once the recording was read again. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('leg_results').addColumn('speaker', 'integer').execute();
}
