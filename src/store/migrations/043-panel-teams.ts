import type { Kysely } from 'kysely';

/** The teams to whose calls a token of the panel is bound, as JSON. Without any, it opens those of all teams. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('panel_tokens').addColumn('teams', 'text').execute();
}
