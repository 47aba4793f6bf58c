import type { Kysely } from 'kysely';
import type { Database } from '../../store/schema.ts';

/** Test calls that may hide the newest real one: with more of them in a row nobody rang in a long time. */
const lookedAt = 20;

/** When a carrier's newest call began, on any node and before any restart; test calls show nothing of a carrier. */
export async function lastStreamOf(
  db: Kysely<Database>,
  carrier: string,
): Promise<number | undefined> {
  const rows = await db
    .selectFrom('calls')
    .select(['started_at', 'custom_metadata'])
    .where('carrier', '=', carrier)
    .orderBy('id', 'desc')
    .limit(lookedAt)
    .execute();
  const real = rows.find(
    ({ custom_metadata: metadata }) => !Object.hasOwn(JSON.parse(metadata) as object, 'test_call'),
  );
  return real?.started_at;
}
