import { sql, type Kysely } from 'kysely';

/** Jobs of the speech service, live sessions among them. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('speech_jobs')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('node', 'text', (column) => column.notNull())
    .addColumn('token_digest', 'text')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('completed_at', 'bigint')
    .addColumn('error_code', 'integer')
    .addColumn('custom_metadata', 'text')
    .addColumn('post_session_metadata', 'text', (column) => column.notNull())
    .addColumn('request_params', 'text')
    .addColumn('audio_duration', 'double precision')
    .addColumn('channels', 'integer')
    .addColumn('result', 'text')
    .addColumn('zero_retention', 'integer', (column) => column.notNull())
    .addColumn('callbacks_due', 'integer', (column) => column.notNull())
    .execute();
  // Lists are newest first; the id makes pages of the same millisecond stable.
  await db.schema
    .createIndex('speech_jobs_by_age')
    .on('speech_jobs')
    .columns(['kind', 'created_at', 'id'])
    .execute();
  await db.schema
    .createIndex('speech_jobs_by_token')
    .on('speech_jobs')
    .columns(['token_digest'])
    .execute();
  await sql`create index speech_jobs_unfinished on speech_jobs (node, id)
    where status in ('queued', 'processing') or callbacks_due = 1`.execute(db);
}
