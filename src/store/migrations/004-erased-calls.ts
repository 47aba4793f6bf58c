import { sql, type Kysely } from 'kysely';

/** The digest of an erased call, so that callbacks that come later are dropped; indexes for retention by age. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('erased_calls')
    .addColumn('digest', 'text', (column) => column.primaryKey())
    .addColumn('erased_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('erased_calls_by_age')
    .on('erased_calls')
    .columns(['erased_at'])
    .execute();
  await db.schema
    .createIndex('call_statuses_by_age')
    .on('call_statuses')
    .columns(['received_at'])
    .execute();
  await sql`create index calls_recorded on calls (ended_at) where has_recording = 1`.execute(db);
}
