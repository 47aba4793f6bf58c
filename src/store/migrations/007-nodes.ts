import type { Kysely } from 'kysely';

/** When each node was last there: what waits for the disk of one that is gone must end some day. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('speech_nodes')
    .addColumn('node', 'text', (column) => column.primaryKey())
    .addColumn('seen_at', 'bigint', (column) => column.notNull())
    .execute();
}
