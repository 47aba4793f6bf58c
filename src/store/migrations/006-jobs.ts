import { sql, type Kysely } from 'kysely';

/** Pre-recorded jobs: their queue, the files they read, whom they tell, and what is left for the count of usage. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  const jobs = db.schema.alterTable('speech_jobs');
  // SQLite adds one column at a time.
  await jobs.addColumn('file_id', 'text').execute();
  await jobs.addColumn('filename', 'text').execute();
  await jobs.addColumn('source', 'text').execute();
  await jobs.addColumn('claimed_until', 'bigint').execute();
  await jobs.addColumn('attempts', 'integer').execute();
  await jobs.addColumn('progress_s', 'double precision').execute();
  await jobs.addColumn('error_message', 'text').execute();
  await sql`create index speech_jobs_queue on speech_jobs (created_at, id)
    where kind = 'pre-recorded' and status in ('queued', 'processing')`.execute(db);
  await sql`create index speech_jobs_by_file on speech_jobs (file_id) where file_id is not null`.execute(
    db,
  );
  await db.schema
    .createTable('speech_files')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('node', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('filename', 'text', (column) => column.notNull())
    .addColumn('extension', 'text', (column) => column.notNull())
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addColumn('audio_duration', 'double precision', (column) => column.notNull())
    .addColumn('channels', 'integer', (column) => column.notNull())
    .addColumn('source', 'text')
    .execute();
  await db.schema
    .createIndex('speech_files_by_age')
    .on('speech_files')
    .columns(['node', 'created_at'])
    .execute();
  await db.schema
    .createTable('speech_job_callbacks')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('job_id', 'text', (column) => column.notNull())
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('body', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('due_at', 'bigint')
    .addColumn('last_error', 'text')
    .execute();
  await sql`create index speech_job_callbacks_due on speech_job_callbacks (due_at) where due_at is not null`.execute(
    db,
  );
  await db.schema
    .createIndex('speech_job_callbacks_by_job')
    .on('speech_job_callbacks')
    .columns(['job_id'])
    .execute();
  await db.schema
    .createTable('speech_usage')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('completed_at', 'bigint', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('audio_duration', 'double precision')
    .execute();
  await db.schema
    .createIndex('speech_usage_by_age')
    .on('speech_usage')
    .columns(['completed_at'])
    .execute();
}
