import { sql } from 'kysely';
import { firstId } from '../../lib/ids.ts';
import { cosine, directionSize, type SentenceDirection } from '../../meaning/directions.ts';
import { blocksOf } from '../../meaning/packed-near.ts';
import type { Store } from '../../store/store.ts';
import { callsWithKeys } from '../api/call-search.ts';
import { hitOf, hitsPerCall, saidColumns, type FoundHit, type FoundPage, type SaidRow, type SearchFilters } from './find-calls.ts'; // prettier-ignore
import type { LoadedDirections } from './loaded-directions.ts';
import { among, passed } from './passed-calls.ts';
import { hitsByCall, rankedPage } from './ranked-page.ts';

/** Below this, a sentence has hardly anything to do with another one. */
const leastNearness = 0.35;
const mostCandidates = 2_000;
/** With filters, candidates whose calls pass them are compared, until there are enough for the page. */
const mostFiltered = 32_000;
/** If no more calls than this have the keys that are asked for, only their words are compared. */
const fewCalls = 20_000;
/** Candidates come nearly in order: after so many that are not near, the rest is not either. */
const mostFar = 500;
const rowsAtOnce = 1_000;
const callsAtOnce = 500;

type NearSearch = {
  store: Pick<Store, 'kind' | 'db'>;
  near: Pick<LoadedDirections, 'nearest' | 'drop'>;
  direction: SentenceDirection;
  role: string | undefined;
  filters: SearchFilters;
  /** The number of calls on the pages before. */
  before: number;
  limit: number;
};

type NearRow = { id: number; callId: string; nearness: number };

/** The calls in which something of this meaning was said, the nearest first. Undefined if too many ask at once. */
export async function findNear(
  ask: NearSearch,
): Promise<(FoundPage & { isWhole: boolean }) | undefined> {
  const { store, near, direction, role, filters, before, limit } = ask;
  const calls = await callsWithKeys(store.db, filters, fewCalls);
  const { from_date: from, to_date: to } = filters;
  const range = {
    from: from === undefined ? undefined : firstId('call', from),
    below: to === undefined ? undefined : firstId('call', to),
  };
  const isFiltered = Object.values(filters).some((filter) => filter !== undefined);
  const most = isFiltered ? mostFiltered : mostCandidates;
  const nearest = await near.nearest({ direction, most, role, calls, ...range });
  if (nearest === undefined) return undefined;
  const tests = new Map<string, boolean>();
  const ranked: NearRow[] = [];
  let far = 0;
  let page: Awaited<ReturnType<typeof rankedPage>> = { callIds: [], next: null, isShort: true };
  for (const block of blocksOf(nearest.found)) {
    if (isFiltered) await test(store.db, filters, block, tests);
    const some = isFiltered ? block.filter(({ callId }) => tests.get(callId)) : block;
    const { rows, missing } = await scored(store, direction, some);
    if (missing.length > 0) near.drop(missing);
    ranked.push(...rows);
    ranked.sort((a, b) => b.nearness - a.nearness || b.id - a.id);
    // Calls that were erased meanwhile are left out here.
    page = await rankedPage({
      ranked,
      passed: (callIds) => passed(store.db, isFiltered ? {} : filters, callIds),
      ...{ before, limit },
    });
    far = rows.length > 0 ? 0 : far + some.length;
    if (!page.isShort || far >= mostFar) break;
  }
  return { ...page, hits: await hitsOf(store, ranked, page.callIds), isWhole: nearest.isWhole };
}

/** Tests the calls of these rows by the filters. One call has many rows. */
async function test(
  db: Store['db'],
  filters: SearchFilters,
  rows: readonly { callId: string }[],
  tests: Map<string, boolean>,
): Promise<void> {
  const callIds = [...new Set(rows.map(({ callId }) => callId))].filter((id) => !tests.has(id));
  for (let at = 0; at < callIds.length; at += callsAtOnce) {
    const some = callIds.slice(at, at + callsAtOnce);
    const passing = await passed(db, filters, some);
    for (const id of some) tests.set(id, passing.has(id));
  }
}

/** Compares whole directions, as the database has them now. */
async function scored(
  { db, kind }: NearSearch['store'],
  direction: SentenceDirection,
  candidates: readonly { id: number }[],
): Promise<{ rows: NearRow[]; missing: number[] }> {
  const rows: NearRow[] = [];
  const ids = candidates.map(({ id }) => id);
  const missing = new Set(ids);
  const joined = (column: string) =>
    sql.raw(kind === 'sqlite' ? `group_concat(${column})` : `string_agg(${column}::text, ',' order by id)`); // prettier-ignore
  const bytes = sql.raw(kind === 'sqlite' ? `group_concat(hex(direction), '')` : `string_agg(encode(direction, 'hex'), '' order by id)`); // prettier-ignore
  for (let at = 0; at < ids.length; at += rowsAtOnce) {
    const some = ids.slice(at, at + rowsAtOnce);
    const { rows: packed } = await sql<{ ids: string | null; calls: string; directions: string }>`
      select ${joined('id')} as ids, ${joined('call_id')} as calls, ${bytes} as directions
      from said_directions where ${among(kind, 'id', some)}`.execute(db);
    const [one] = packed;
    if (one?.ids == null) continue;
    const all = Buffer.from(one.directions, 'hex');
    const callIds = one.calls.split(',');
    for (const [row, id] of one.ids.split(',').map(Number).entries()) {
      missing.delete(id);
      const from = row * directionSize;
      const other = new Int8Array(all.buffer, all.byteOffset + from, directionSize);
      const nearness = cosine(direction, other);
      if (nearness >= leastNearness) rows.push({ id, callId: callIds[row] ?? '', nearness });
    }
  }
  return { rows, missing: [...missing] };
}

/** The nearest places of each call. */
async function hitsOf(
  { db, kind }: NearSearch['store'],
  rows: readonly NearRow[],
  callIds: readonly string[],
): Promise<Map<string, FoundHit[]>> {
  const shown = new Set(callIds);
  const byCall = Map.groupBy(rows.filter(({ callId }) => shown.has(callId)), ({ callId }) => callId); // prettier-ignore
  const nearness = new Map(
    [...byCall.values()].flatMap((near) => near.slice(0, hitsPerCall)).map((row) => [row.id, row.nearness]), // prettier-ignore
  );
  if (nearness.size === 0) return new Map();
  const { rows: said } = await sql<SaidRow & { id: number }>`select t.id, ${saidColumns} from said t
    where ${among(kind, 't.id', [...nearness.keys()])}`.execute(db);
  const hits = said.map((row) => ({ ...hitOf(row), nearness: nearness.get(row.id) ?? 0 }));
  return hitsByCall(hits.toSorted((a, b) => b.nearness - a.nearness), hitsPerCall); // prettier-ignore
}
