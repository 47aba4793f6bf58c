import type { Kysely } from 'kysely';

/** Tables for CRMs: the ids of calls' records, tokens that were fetched, and the requests of a day. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('crm_links')
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('remote_id', 'text', (column) => column.notNull())
    .addColumn('noted_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('crm_links_key', ['endpoint', 'call_id', 'kind'])
    .execute();
  await db.schema.createIndex('crm_links_by_call').on('crm_links').columns(['call_id']).execute();
  await db.schema
    .createTable('crm_tokens')
    .addColumn('endpoint', 'text', (column) => column.primaryKey())
    .addColumn('settings', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text')
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('locked_until', 'bigint')
    .execute();
  await db.schema
    .createTable('crm_usage')
    .addColumn('endpoint', 'text', (column) => column.primaryKey())
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('requests', 'integer', (column) => column.notNull())
    .execute();
}
