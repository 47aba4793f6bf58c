import type { Kysely } from 'kysely';

/**
 * Versions side by side: what each later migration needs of the programs that run beside it, nodes that leave on purpose,
 * and a mark in every transaction by which an unconfirmed commit is found again, also on a promoted standby.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('schema_version').addColumn('needs', 'integer').execute();
  await db.schema.alterTable('nodes').addColumn('left_at', 'bigint').execute();
  await db.schema
    .createTable('commit_marks')
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('mark', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('commit_marks_identity', ['at', 'mark'])
    .execute();
}
