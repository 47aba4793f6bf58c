import type { Kysely } from 'kysely';

/** The time at which somebody closed the links of a call: from then on none of them opens it. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('calls').addColumn('links_closed_at', 'bigint').execute();
}
