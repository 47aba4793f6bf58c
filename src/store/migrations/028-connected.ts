import type { Kysely } from 'kysely';

/** The endpoints that were connected while the process ran, each sealed with a key that is not in the database. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('connected_endpoints')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('preset', 'text')
    .addColumn('host', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .execute();
}
