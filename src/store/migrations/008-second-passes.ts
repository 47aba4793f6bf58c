import { sql, type Kysely } from 'kysely';

/** Adds recordings of ended calls that are read again, kept until the speech service has deleted its data of them. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('second_passes')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('call_id', 'text')
    .addColumn('node', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('redaction', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('tries', 'integer', (column) => column.notNull())
    .addColumn('rounds', 'integer', (column) => column.notNull())
    .addColumn('asked', 'integer', (column) => column.notNull())
    .addColumn('audio_url', 'text')
    .addColumn('file_id', 'text')
    .addColumn('job_id', 'text')
    .addColumn('last_trouble', 'text')
    .execute();
  await db.schema
    .createIndex('second_passes_due')
    .on('second_passes')
    .columns(['node', 'due_at'])
    .execute();
  await sql`create unique index second_passes_by_call on second_passes (call_id)
    where call_id is not null`.execute(db);
}
