import type { Kysely } from 'kysely';

/** Which of the voices of a mixed leg said an utterance, once its recording was read with care. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('leg_results').addColumn('speaker', 'integer').execute();
}
