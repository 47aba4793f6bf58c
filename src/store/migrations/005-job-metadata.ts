import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';

/**
 * The pairs of each job's metadata, so that a list can be filtered by an index. A pair is stored as a digest:
 * its length is fixed, and an index over it holds no word of a customer. The pairs of existing jobs are added
 * here, some rows at a time.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a migration outlives the tables' types
export async function up(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable('speech_job_metadata')
    .addColumn('job_id', 'text', (column) => column.notNull())
    .addColumn('pair', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('speech_job_metadata_key', ['job_id', 'pair'])
    .execute();
  await db.schema
    .createIndex('speech_job_metadata_by_pair')
    .on('speech_job_metadata')
    .columns(['pair', 'kind', 'created_at', 'job_id'])
    .execute();
  await db.schema
    .createIndex('speech_jobs_by_status')
    .on('speech_jobs')
    .columns(['kind', 'status', 'created_at', 'id'])
    .execute();
  await addExisting(db);
}

const rowsAtATime = 500;

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
async function addExisting(db: Kysely<any>): Promise<void> {
  for (let after = ''; ;) {
    const rows = (await db
      .selectFrom('speech_jobs')
      .select(['id', 'kind', 'created_at', 'custom_metadata'])
      .where('id', '>', after)
      .where('custom_metadata', 'is not', null)
      .orderBy('id')
      .limit(rowsAtATime)
      .execute()) as { id: string; kind: string; created_at: number; custom_metadata: string }[];
    for (const { id: job_id, kind, created_at, custom_metadata } of rows) {
      const pairs = [...pairsOf(JSON.parse(custom_metadata))];
      if (pairs.length === 0) continue;
      await db
        .insertInto('speech_job_metadata')
        .values(pairs.map((pair) => ({ job_id, pair, kind, created_at })))
        .execute();
    }
    const last = rows.at(-1);
    if (!last || rows.length < rowsAtATime) return;
    after = last.id;
  }
}

/** A copy of what the service stores: a migration must not change with the program. */
function pairsOf(value: unknown, path: readonly string[] = []): Set<string> {
  if (typeof value === 'object' && value !== null)
    return new Set(
      Object.entries(value).flatMap(([key, inner]) => [...pairsOf(inner, [...path, key])]),
    );
  const pair = JSON.stringify([path, String(value)]);
  return new Set([createHash('sha256').update(pair).digest('base64url').slice(0, 22)]);
}
