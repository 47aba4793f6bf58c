import type { Kysely } from 'kysely';

/** The request and the answer of a delivery's last attempt, without secrets. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('deliveries').addColumn('exchanges', 'text').execute();
}
