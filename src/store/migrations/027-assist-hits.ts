import type { Kysely } from 'kysely';

/** The rules of playbooks that fired in a call, one row each. The key makes a repetition no second hit. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('assist_hits')
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('hit_key', 'text', (column) => column.notNull())
    .addColumn('rule', 'text', (column) => column.notNull())
    .addColumn('at_ms', 'bigint', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('verdict', 'text')
    .addColumn('verdict_at', 'bigint')
    .addPrimaryKeyConstraint('assist_hits_key', ['call_id', 'hit_key'])
    .execute();
}
