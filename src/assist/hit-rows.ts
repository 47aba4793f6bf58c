import type { Kysely, Transaction } from 'kysely';
import type { Database } from '../store/schema.ts';
import { articlesAsPlaybook, type Hit } from './hits.ts';

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

export type RuleFigures = { rule: string; hits: number; calls: number } & Record<Verdict, number>;

/** At most this many rules are reported, those with most hits. */
const maxRulesReported = 1_000;

/** The hits of each rule since a call, and what agents said of them. Hits of shadows count too: nobody judged those. */
export async function ruleFigures(
  db: Kysely<Database>,
  sinceCallId: string,
): Promise<RuleFigures[]> {
  const since = db.selectFrom('assist_hits').where('call_id', '>=', sinceCallId);
  const rows = await since
    .select(({ fn }) => [
      'rule',
      fn.countAll().as('hits'),
      fn.count('call_id').distinct().as('calls'),
    ])
    .groupBy('rule')
    .orderBy('hits', 'desc')
    .orderBy('rule')
    .limit(maxRulesReported)
    .execute();
  const judged = await since
    .where('verdict', 'is not', null)
    .select(({ fn }) => ['rule', 'verdict', fn.countAll().as('hits')])
    .groupBy(['rule', 'verdict'])
    .execute();
  const saidOf = (rule: string, verdict: Verdict): number =>
    Number(judged.find((one) => one.rule === rule && one.verdict === verdict)?.hits ?? 0);
  return rows.map(({ rule, hits, calls }) => ({
    rule,
    hits: Number(hits),
    calls: Number(calls),
    useful: saidOf(rule, 'useful'),
    not_useful: saidOf(rule, 'not_useful'),
    used: saidOf(rule, 'used'),
    dismissed: saidOf(rule, 'dismissed'),
  }));
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

export type JudgedArticle = {
  /** The name of the article, as in `rule`. */
  name: string;
  isUseful: boolean;
  /** The words of the caller for which it was shown. */
  question: string | undefined;
};

/** At most this many verdicts on articles count, the newest. */
const maxArticlesJudged = 2_000;

/** The articles that agents judged in calls. A call that is erased takes its verdicts along. */
export async function judgedArticles(db: Kysely<Database>): Promise<JudgedArticle[]> {
  const rows = await db
    .selectFrom('assist_hits')
    .select(['body', 'verdict'])
    .where('verdict', 'is not', null)
    .where('rule', 'like', `${articlesAsPlaybook}/%`)
    .orderBy('verdict_at', 'desc')
    .limit(maxArticlesJudged)
    .execute();
  return rows.flatMap(({ body, verdict }) => {
    const { rule: name, cause } = JSON.parse(body) as Hit;
    // A card that was put away said nothing of the article.
    if (verdict === 'dismissed') return [];
    return [{ name, isUseful: verdict !== 'not_useful', question: cause.matched }];
  });
}
