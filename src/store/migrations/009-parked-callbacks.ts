import { sql, type Kysely } from 'kysely';

/** Adds the time and the address of job callbacks that were given up. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  const callbacks = db.schema.alterTable('speech_job_callbacks');
  // SQLite adds one column at a time.
  await callbacks.addColumn('host', 'text').execute();
  await callbacks.addColumn('parked_at', 'bigint').execute();
  // For rows that were given up earlier, that time is unknown.
  await sql`update speech_job_callbacks set parked_at = created_at where due_at is null`.execute(
    db,
  );
  await sql`create index speech_job_callbacks_parked on speech_job_callbacks (created_at, id)
    where parked_at is not null`.execute(db);
}
