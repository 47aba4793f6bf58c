import { sql } from 'kysely';
import {
  hitsOf,
  newestHits,
  othersHold,
  withFewest,
  type FindWords,
  type FoundPage,
} from './find-calls.ts';
import { among, passed } from './passed-calls.ts';
import { rankedPage } from './ranked-page.ts';
import type { Condition } from './search-query.ts';
import { boundOf, postgresQuery, sqliteMatch } from './word-match.ts';

/** Ranking all hits of a frequent word takes a second: the newest are ranked. */
export const mostHitsRanked = 2_000;

/** The calls in which the words stand, those first in which they weigh most among the words of their line. */
export async function findRanked(ask: FindWords): Promise<FoundPage> {
  const { store, conditions, filters, limit, below: before = 0 } = ask;
  const driver = withFewest(conditions);
  if (driver === undefined) return { callIds: [], hits: new Map(), next: null };
  const newest = await newestHits(store, driver, mostHitsRanked);
  const page = await rankedPage({
    ranked: await ranked(ask, driver, newest),
    passed: async (some) => {
      const held = await othersHold(ask, driver, some);
      return held.size === 0 ? held : await passed(store.db, filters, [...held]);
    },
    ...{ before, limit },
  });
  return { ...page, hits: await hitsOf(store, conditions, page.callIds) };
}

async function ranked(
  { store: { db, kind } }: FindWords,
  driver: Condition,
  ids: readonly number[],
): Promise<{ callId: string }[]> {
  if (ids.length === 0) return [];
  const ofRole = driver.role === undefined ? sql`` : sql`and s.role = ${driver.role}`;
  const { rows } =
    kind === 'sqlite'
      ? await sql<{ callId: string }>`select s.call_id as "callId" from
          (select rowid as id, bm25(said_words) as weight from said_words where said_words match ${sqliteMatch(driver)}
            and rowid >= ${boundOf(Math.min(...ids))} and rowid <= ${boundOf(Math.max(...ids))}) w
          cross join said s where s.id = w.id ${ofRole} order by w.weight, w.id desc`.execute(db)
      : await sql<{
          callId: string;
        }>`select s.call_id as "callId" from said s where ${among(kind, 's.id', ids)} ${ofRole}
          order by ts_rank_cd(s.words, ${postgresQuery(driver)}, 1) desc, s.id desc`.execute(db);
  return rows;
}
