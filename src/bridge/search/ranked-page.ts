import { sql, type Kysely } from 'kysely';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { passing } from '../api/call-search.ts';
import type { FoundHit, FoundPage, SearchFilters } from './find-calls.ts';

/** A search by rank goes on to this many calls: whoever reads further narrows it. */
export const mostRanked = 200;
/** Number of calls that one statement tests. */
const callsAtOnce = 40;

type RankedPage = {
  /** Calls in the order of their rank, each perhaps several times. */
  ranked: readonly { callId: string }[];
  /** Those of the calls that pass everything else. */
  passed: (callIds: string[]) => Promise<Set<string>>;
  /** The number of calls on the pages before. */
  before: number;
  limit: number;
};

/** The calls of a page in the order of their rank. `isShort`: there are not enough for a page and the next. */
export async function rankedPage(
  ask: RankedPage,
): Promise<Pick<FoundPage, 'callIds' | 'next'> & { isShort: boolean }> {
  const end = Math.min(mostRanked, ask.before + ask.limit);
  const calls = [...new Set(ask.ranked.map(({ callId }) => callId))];
  const found: string[] = [];
  for (let at = 0; at < calls.length && found.length <= end; at += callsAtOnce) {
    const some = calls.slice(at, at + callsAtOnce);
    const passed = await ask.passed(some);
    found.push(...some.filter((id) => passed.has(id)));
  }
  const isMore = found.length > end && end < mostRanked;
  return {
    callIds: found.slice(ask.before, end),
    next: isMore ? end : null,
    isShort: found.length <= end,
  };
}

/** The first places of each call, in the order given. */
export function hitsByCall(hits: readonly FoundHit[], most: number): Map<string, FoundHit[]> {
  const byCall = Map.groupBy(hits, ({ callId }) => callId);
  return new Map([...byCall].map(([id, places]) => [id, places.slice(0, most)]));
}

/** The ids go as one text, because a statement may have few parameters on SQLite. */
export function among(kind: Store['kind'], column: string, ids: readonly number[]) {
  return kind === 'sqlite'
    ? sql<boolean>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(ids)}))`
    : sql<boolean>`${sql.ref(column)} = any(${ids}::bigint[])`;
}

export async function passed(
  db: Kysely<Database>,
  filters: SearchFilters,
  callIds: readonly string[],
): Promise<Set<string>> {
  const select = db.selectFrom('calls').select(['id', 'duration_ms']).where('id', 'in', callIds);
  return new Set((await passing(select, filters).execute()).map(({ id }) => id));
}
