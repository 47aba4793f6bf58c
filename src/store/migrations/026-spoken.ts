import type { Kysely } from 'kysely';

/** The words of a turn as they were said, where its text is written otherwise: "four seven two" of 472. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema.alterTable('leg_results').addColumn('spoken', 'text').execute();
}
