import type { Kysely, Transaction } from 'kysely';
import type { Database } from '../store/schema.ts';
import type { Hit } from './hits.ts';

export type Verdict = 'useful' | 'not_useful' | 'used' | 'dismissed';
export type StoredHit = Hit & { verdict: Verdict | null };

/** Stores a hit. Returns false if it was stored before: a restart finds the same hits again. */
export async function insertHit(
  tx: Transaction<Database>,
  callId: string,
  hit: Hit,
): Promise<boolean> {
  const row = await tx
    .insertInto('assist_hits')
    .values({
      call_id: callId,
      hit_key: hit.key,
      rule: `${hit.playbook}/${hit.rule}`,
      at_ms: Math.round(hit.at * 1_000),
      body: JSON.stringify(hit),
      verdict: null,
      verdict_at: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('hit_key')
    .executeTakeFirst();
  return row !== undefined;
}

/** The hits of a call in order of time. */
export async function hitsOf(db: Kysely<Database>, callId: string): Promise<StoredHit[]> {
  const rows = await db
    .selectFrom('assist_hits')
    .select(['body', 'verdict'])
    .where('call_id', '=', callId)
    .orderBy('at_ms')
    .orderBy('hit_key')
    .limit(2_000)
    .execute();
  return rows.map(({ body, verdict }) => ({ ...(JSON.parse(body) as Hit), verdict }));
}

/** Stores what an agent said of a hint. Returns false if the call has no such hit. */
export async function judgeHit(
  db: Kysely<Database>,
  { callId, key, verdict, at }: { callId: string; key: string; verdict: Verdict; at: number },
): Promise<boolean> {
  const row = await db
    .updateTable('assist_hits')
    .set({ verdict, verdict_at: at })
    .where('call_id', '=', callId)
    .where('hit_key', '=', key)
    .returning('hit_key')
    .executeTakeFirst();
  return row !== undefined;
}
