import type { Kysely } from 'kysely';

/**
 * When each result reached the rules of its call, and the moments of a call that are no results, so that the rules of a
 * call that is over find what they found live.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('leg_results').addColumn('heard', 'text').execute();
  await db.schema
    .createTable('assist_moments')
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('heard_ms', 'bigint', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('at_ms', 'bigint', (column) => column.notNull())
    .addColumn('language', 'text')
    .addPrimaryKeyConstraint('assist_moments_key', ['call_id', 'heard_ms'])
    .execute();
}
