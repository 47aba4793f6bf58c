import type { Kysely } from 'kysely';

/** Scores of calls: one row for each call and scorecard. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('call_scores')
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('scorecard', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('agent', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('percent', 'double precision')
    .addColumn('critical_failed', 'integer', (column) => column.notNull())
    .addColumn('open_items', 'integer', (column) => column.notNull())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('scored_at', 'bigint', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('call_scores_key', ['call_id', 'scorecard'])
    .execute();
}
