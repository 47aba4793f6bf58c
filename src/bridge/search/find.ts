import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Store } from '../../store/store.ts';
import type { Database } from '../../store/schema.ts';
import { passing, type CallListQuery } from '../api/call-search.ts';
import type { Atom, Condition } from './query.ts';
import { postgresQuery, sqliteMatch } from './words.ts';

/** Words of which a statement looks at that many hits, the newest first. No statement works for longer than that. */
const hitsAtOnce = 400;
/** Statements of one page. Where the hits of a frequent word all fall to another filter, the next page goes on. */
const mostStatements = 25;
export const hitsPerCall = 3;
const mostHitsRead = 2_000;

export type SearchFilters = Omit<CallListQuery, 'sort' | 'cursor' | 'limit' | 'search'>;

export type FoundHit = {
  callId: string;
  legId: string;
  sessionId: string;
  key: string;
  kind: 'turn' | 'note' | 'summary';
  role: string;
  start: number;
  end: number;
  text: string;
};

export type FoundPage = { callIds: string[]; hits: Map<string, FoundHit[]>; next: number | null };

type Ask = {
  store: Pick<Store, 'kind' | 'db'>;
  conditions: readonly Condition[];
  filters: SearchFilters;
  /** The id below which the page begins; undefined for the first. */
  below: number | undefined;
  limit: number;
};

/** The calls in which the words were said, those whose words are the newest first. */
export async function findSaid(ask: Ask): Promise<FoundPage> {
  const { store, conditions, limit } = ask;
  const [driver, ...others] = conditions.toSorted((a, b) => weightOf(b) - weightOf(a));
  if (driver === undefined) return { callIds: [], hits: new Map(), next: null };
  const found = new Map<string, number>();
  let place: SearchPlace | null = { below: ask.below, span: firstSpan };
  for (let statement = 0; statement < mostStatements && place !== null; statement++) {
    const rows: Candidates = await candidates(ask, driver, others, place);
    for (const { id, call_id } of rows.passed) {
      if (found.has(call_id)) continue;
      if (found.size === limit) break;
      found.set(call_id, id);
    }
    place = rows.next;
    if (found.size >= limit) break;
  }
  // The next page begins below the last call that is shown: words of it that are older are not found again.
  const next = found.size >= limit ? Math.min(...found.values()) : (place?.below ?? null);
  const callIds = [...found.keys()];
  return { callIds, hits: await hitsOf(store, conditions, callIds), next };
}

/** What finds the fewest hits first: a guess that no index needs to be asked for. */
function weightOf({ isNot, anyOf }: Condition): number {
  if (isNot) return -1;
  const lengths = anyOf.map((atom) =>
    atom.kind === 'prefix' ? atom.word.length - 2 : atom.words.join('').length,
  );
  return Math.min(...lengths);
}

/** Hits of the condition that finds the fewest, and of them those whose calls pass everything else. */
async function candidates(
  { store, filters, below }: Ask,
  driver: Condition,
  others: readonly Condition[],
  from: SearchPlace,
): Promise<Candidates> {
  const { db, kind } = store;
  const { ids, next } = await (kind === 'sqlite'
    ? hitsOnSqlite(db, driver, from)
    : hitsOnPostgres(db, driver, from));
  if (ids.length === 0) return { passed: [], next };
  const calls = passing(
    db
      .selectFrom('calls')
      .select(['id', 'duration_ms'])
      .whereRef('calls.id', '=', sql.ref('s.call_id')),
    filters,
  );
  const among =
    kind === 'sqlite'
      ? sql`s.id in (select value from json_each(${JSON.stringify(ids)}))`
      : sql`s.id = any(${ids}::bigint[])`;
  const { rows } = await sql<{ id: number; call_id: string }>`
    select s.id, s.call_id from said s where ${among}
      ${ofRole(sql`s`, driver)} ${sql.join(
        others.map((condition) => inCall(kind, condition)),
        sql` `,
      )}
      ${notShown(kind, driver, below)} and exists ${calls} order by s.id desc`.execute(db);
  return { passed: rows, next };
}

type Candidates = { passed: { id: number; call_id: string }[]; next: SearchPlace | null };

/** Where a search goes on: below an id, and over how many ids the next statement looks (Postgres). */
type SearchPlace = { below: number | undefined; span: number };

const firstSpan = 2_000;

type Hits = { ids: number[]; next: SearchPlace | null };

/** FTS5 has its hits in the order of the ids, so the newest cost no more than they are. */
async function hitsOnSqlite(
  db: Kysely<Database>,
  condition: Condition,
  { below, span }: SearchPlace,
): Promise<Hits> {
  const { rows } = await sql<{ id: number }>`select rowid as id from said_words
    where said_words match ${sqliteMatch(condition)}
    ${below === undefined ? sql`` : sql`and rowid < ${below}`}
    order by rowid desc limit ${hitsAtOnce}`.execute(db);
  const last = rows.at(-1);
  const isMore = rows.length === hitsAtOnce && last !== undefined;
  return { ids: rows.map(({ id }) => id), next: isMore ? { below: last.id, span } : null };
}

/**
 * Postgres would read every hit of a frequent word before it sorts them. Spans of ids, each larger than the one before,
 * end soon for a frequent word, and a rare one costs some statements more.
 */
async function hitsOnPostgres(
  db: Kysely<Database>,
  condition: Condition,
  { below, span }: SearchPlace,
): Promise<Hits> {
  const { rows: ends } = await sql<{ least: number | null; most: number | null }>`
    select (select id from said order by id limit 1) as least,
      (select id from said order by id desc limit 1) as most`.execute(db);
  const [{ least, most } = { least: null, most: null }] = ends;
  if (least === null || most === null) return { ids: [], next: null };
  const top = Math.min(below ?? Infinity, most + 1);
  const bottom = top - span;
  const { rows } = await sql<{ id: number }>`select id from said
    where words @@ ${postgresQuery(condition)} and id < ${top} and id >= ${bottom}
    order by id desc limit ${hitsAtOnce}`.execute(db);
  const last = rows.at(-1);
  const ids = rows.map(({ id }) => id);
  if (rows.length === hitsAtOnce && last !== undefined)
    return { ids, next: { below: last.id, span } };
  return { ids, next: bottom <= least ? null : { below: bottom, span: span * 4 } };
}

function ofRole(row: RawBuilder<unknown>, { role }: Condition): RawBuilder<unknown> {
  return role === undefined ? sql`` : sql`and ${row}.role = ${role}`;
}

/** A call stands on the page of its newest words: on the pages behind it, its older ones are passed over. */
function notShown(
  kind: Store['kind'],
  condition: Condition,
  below: number | undefined,
): RawBuilder<unknown> {
  if (below === undefined) return sql``;
  return inCall(kind, { ...condition, isNot: true }, sql`and t.id >= ${below}`);
}

/** Somewhere in the call of row `s`. The rows of one call are few, so they are looked at one by one. */
function inCall(
  kind: Store['kind'],
  condition: Condition,
  further: RawBuilder<unknown> = sql``,
): RawBuilder<unknown> {
  const there =
    kind === 'sqlite'
      ? sql`select 1 from said t cross join said_words w where t.call_id = s.call_id
          and w.rowid = t.id and w.said_words match ${sqliteMatch(condition)} ${ofRole(sql`t`, condition)} ${further}`
      : sql`select 1 from said t where t.call_id = s.call_id
          and t.words @@ ${postgresQuery(condition)} ${ofRole(sql`t`, condition)} ${further} offset 0`;
  return condition.isNot ? sql`and not exists (${there})` : sql`and exists (${there})`;
}

/** The first places of each call at which something was said that was asked for. */
async function hitsOf(
  { db, kind }: Pick<Store, 'kind' | 'db'>,
  conditions: readonly Condition[],
  callIds: readonly string[],
): Promise<Map<string, FoundHit[]>> {
  if (callIds.length === 0) return new Map();
  const asked = conditions.filter(({ isNot }) => !isNot);
  const holds = sql.join(
    asked.map((condition) =>
      kind === 'sqlite'
        ? sql`(exists (select 1 from said_words w where w.rowid = s.id and w.said_words match ${sqliteMatch(condition)}) ${ofRole(sql`s`, condition)})`
        : sql`(s.words @@ ${postgresQuery(condition)} ${ofRole(sql`s`, condition)})`,
    ),
    sql` or `,
  );
  const { rows } =
    await sql<SaidRow>`select s.call_id, s.leg_id, s.session_id, s.result_key, s.kind, s.role,
      s.start_s, s.end_s, s.text from said s where s.call_id in (${sql.join(callIds)}) and (${holds})
      order by s.call_id, case s.kind when 'turn' then 0 else 1 end, s.start_s limit ${mostHitsRead}`.execute(
      db,
    );
  const byCall = Map.groupBy(rows, ({ call_id }) => call_id);
  return new Map([...byCall].map(([id, hits]) => [id, hits.slice(0, hitsPerCall).map(hitOf)]));
}

type SaidRow = {
  call_id: string;
  leg_id: string;
  session_id: string;
  result_key: string;
  kind: FoundHit['kind'];
  role: string;
  start_s: number;
  end_s: number;
  text: string;
};

function hitOf(row: SaidRow): FoundHit {
  return {
    callId: row.call_id,
    legId: row.leg_id,
    sessionId: row.session_id,
    key: row.result_key,
    kind: row.kind,
    role: row.role,
    start: row.start_s,
    end: row.end_s,
    text: row.text,
  };
}

export function atomsOf(conditions: readonly Condition[]): Atom[] {
  return conditions.filter(({ isNot }) => !isNot).flatMap(({ anyOf }) => anyOf);
}
