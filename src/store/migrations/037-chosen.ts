import type { Kysely } from 'kysely';

/** The disposition that a person chose for a call, and when: later calls learn from it. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('wrap_ups').addColumn('chosen', 'text').execute();
  await db.schema.alterTable('wrap_ups').addColumn('chosen_at', 'bigint').execute();
  await db.schema
    .createIndex('wrap_ups_chosen')
    .on('wrap_ups')
    .columns(['chosen', 'chosen_at'])
    .execute();
}
