import type { Kysely } from 'kysely';

/** Long recordings are read again in pieces: which of them are read, where the present one ends, how long one may be. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  const passes = db.schema.alterTable('second_passes');
  await passes.addColumn('pieces', 'text').execute();
  await passes.addColumn('piece_end_s', 'double precision').execute();
  await passes.addColumn('piece_limit_s', 'double precision').execute();
}
