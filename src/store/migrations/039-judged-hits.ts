import { sql, type Kysely } from 'kysely';

/** Finds the hits that agents judged, the newest first. They are few among all hits. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await sql`create index assist_hits_judged on assist_hits (verdict_at) where verdict is not null`.execute(
    db,
  );
}
