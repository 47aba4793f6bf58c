import type { Kysely } from 'kysely';

/** The record of each ended call, and when it goes to the endpoints unless somebody edits it before. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('wrap_ups')
    .addColumn('call_id', 'text', (column) => column.primaryKey())
    .addColumn('record', 'text', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addColumn('edits', 'text', (column) => column.notNull())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('due_at', 'bigint')
    .execute();
  await db.schema.createIndex('wrap_ups_due').on('wrap_ups').columns(['due_at']).execute();
}
