import type { Kysely } from 'kysely';

/** What was sent with the last attempt of a delivery and what came back, without secrets. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('deliveries').addColumn('exchanges', 'text').execute();
}
