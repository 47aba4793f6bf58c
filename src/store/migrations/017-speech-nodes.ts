import type { Kysely } from 'kysely';

/** The speech capacity of each node, and which of them has the recording of a second pass. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  for (const name of ['speech_capacity', 'speech_used'])
    await db.schema
      .alterTable('nodes')
      .addColumn(name, 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  await db.schema.alterTable('second_passes').addColumn('service', 'text').execute();
}
