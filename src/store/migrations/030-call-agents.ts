import type { Kysely } from 'kysely';

/** The agent who has a call. The table `call_keys` has the agent's id in a form for searches. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('calls').addColumn('agent', 'text').execute();
}
