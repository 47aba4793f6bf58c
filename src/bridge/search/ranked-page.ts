import type { FoundHit, FoundPage } from './find-calls.ts';

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
