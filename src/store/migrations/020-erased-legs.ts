import type { Kysely } from 'kysely';

/** Legs whose audio was erased, for the nodes that may still have it on their disks. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('erased_legs')
    .addColumn('leg_id', 'text', (column) => column.primaryKey())
    .addColumn('erased_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('erased_legs_by_age')
    .on('erased_legs')
    .columns(['erased_at'])
    .execute();
}
