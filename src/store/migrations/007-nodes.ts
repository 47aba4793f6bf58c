import type { Kysely } from 'kysely';

/** Adds the time when each node was last seen, so that a wait for the disk of a lost node can end. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('speech_nodes')
    .addColumn('node', 'text', (column) => column.primaryKey())
    .addColumn('seen_at', 'bigint', (column) => column.notNull())
    .execute();
}
