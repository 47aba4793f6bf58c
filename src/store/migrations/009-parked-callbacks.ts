import { sql, type Kysely } from 'kysely';

/** Callbacks of jobs that were given up: since when, and where they were to go. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  const callbacks = db.schema.alterTable('speech_job_callbacks');
  // SQLite adds one column at a time.
  await callbacks.addColumn('host', 'text').execute();
  await callbacks.addColumn('parked_at', 'bigint').execute();
  // Rows that were given up before have no time of it.
  await sql`update speech_job_callbacks set parked_at = created_at where due_at is null`.execute(
    db,
  );
  await sql`create index speech_job_callbacks_parked on speech_job_callbacks (created_at, id)
    where parked_at is not null`.execute(db);
}
