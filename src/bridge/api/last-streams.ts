import type { Kysely } from 'kysely';
import type { Database } from '../../store/schema.ts';

/** Number of recent calls to examine. If all of them are test calls, no real call has come in a long time. */
const lookedAt = 20;

/**
 * Finds when the newest call of a carrier began, on any node and also before a restart. Test calls are ignored, because
 * they do not show that a carrier works.
 */
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
