import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Store } from '../../store/store.ts';
import type { Database } from '../../store/schema.ts';
import { passing, type CallListQuery } from '../api/call-search.ts';
import type { Atom, Condition } from './search-query.ts';
import { postgresQuery, sqliteMatch } from './word-match.ts';

/** Number of hits of a word that one statement examines, newest first. It limits the time of a statement. */
const hitsAtOnce = 400;
/**
 * Number of statements per page. If the other filters reject all hits of a frequent word, the next page continues the
 * search.
 */
const mostStatements = 25;
/** Number of calls for which one statement tests the other conditions. */
const callsAtOnce = 100;
export const hitsPerCall = 3;
const mostHitsRead = 2_000;

export type SearchFilters = Omit<CallListQuery, 'sort' | 'cursor' | 'limit' | 'search'>;

export type FoundHit = {
  callId: string;
  legId: string;
  sessionId: string;
  key: string;
  kind: 'turn' | 'note' | 'summary' | 'wrap-up' | 'tag' | 'parameter';
  role: string;
  start: number;
  end: number;
  text: string;
  /** The nearness of the text to the one that was asked for. Absent in a search by words. */
  nearness?: number;
};

export type FoundPage = { callIds: string[]; hits: Map<string, FoundHit[]>; next: number | null };

export type FindWords = {
  store: Pick<Store, 'kind' | 'db'>;
  conditions: readonly Condition[];
  filters: SearchFilters;
  /** The id below which the page begins; undefined for the first page. */
  below: number | undefined;
  limit: number;
};

/** The calls in which the words were said, those with the newest words first. */
export async function findSaid(ask: FindWords): Promise<FoundPage> {
  const { store, conditions, limit } = ask;
  const driver = withFewest(conditions);
  if (driver === undefined) return { callIds: [], hits: new Map(), next: null };
  const found = new Map<string, number>();
  let place: SearchPlace | null = { below: ask.below, span: firstSpan };
  for (let statement = 0; statement < mostStatements && place !== null; statement++) {
    const { hits, next }: Candidates = await candidates(ask, driver, place);
    place = next;
    const newest = new Map(hits.toReversed().map(({ id, call_id }) => [call_id, id]));
    const calls = [...newest.keys()].toReversed().filter((id) => !found.has(id));
    for (let at = 0; at < calls.length && found.size < limit; at += callsAtOnce) {
      const some = calls.slice(at, at + callsAtOnce);
      const passed = await othersHold(ask, driver, some, ask.below);
      for (const id of some)
        if (passed.has(id) && found.size < limit) found.set(id, newest.get(id) ?? 0);
    }
    if (found.size >= limit) break;
  }
  // The next page begins below the last call that is shown.
  const next = found.size >= limit ? Math.min(...found.values()) : (place?.below ?? null);
  const callIds = [...found.keys()];
  return { callIds, hits: await hitsOf(store, conditions, callIds), next };
}

/** The condition that probably has the fewest hits. Searches begin with its hits. */
export function withFewest(conditions: readonly Condition[]): Condition | undefined {
  return conditions.toSorted((a, b) => weightOf(b) - weightOf(a))[0];
}

/** Estimates how many hits a condition has, without querying an index. The condition with the fewest comes first. */
function weightOf({ isNot, anyOf }: Condition): number {
  if (isNot) return -1;
  const lengths = anyOf.map((atom) =>
    atom.kind === 'prefix' ? atom.word.length - 2 : atom.words.join('').length,
  );
  return Math.min(...lengths);
}

/** Returns hits of the condition that has the fewest, in calls that pass the filters. */
async function candidates(
  { store, filters }: FindWords,
  driver: Condition,
  from: SearchPlace,
): Promise<Candidates> {
  const { db, kind } = store;
  const { ids, next } = await (kind === 'sqlite'
    ? hitsOnSqlite(db, driver, from)
    : hitsOnPostgres(db, driver, from));
  if (ids.length === 0) return { hits: [], next };
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
    select s.id, s.call_id from said s where ${among} ${ofRole(sql`s`, driver)}
      and exists ${calls} order by s.id desc`.execute(db);
  return { hits: rows, next };
}

/**
 * Returns the calls that pass all other conditions and were on no earlier page. A call appears on the page of its
 * newest matching words, and its older hits are skipped: `below` is where the page begins.
 */
export async function othersHold(
  { store, conditions }: FindWords,
  driver: Condition,
  callIds: readonly string[],
  below?: number,
): Promise<Set<string>> {
  const others = conditions.filter((condition) => condition !== driver);
  const isShown =
    below === undefined ? [] : [inCall(store.kind, { ...driver, isNot: true }, below)];
  if (others.length === 0 && isShown.length === 0) return new Set(callIds);
  const spans = store.kind === 'sqlite' && others.length > 0 ? await spansOf(store.db, callIds) : undefined; // prettier-ignore
  let left = callIds;
  if (spans !== undefined)
    for (const condition of others) {
      if (left.length === 0) return new Set();
      const having = await havingInSpan(store.db, condition, spans);
      left = left.filter((id) => having.has(id) !== condition.isNot);
    }
  const rest = spans === undefined ? others : [];
  const asked = [...rest.map((condition) => inCall(store.kind, condition)), ...isShown];
  if (asked.length === 0 || left.length === 0) return new Set(left);
  const { rows } = await sql<{ id: string }>`select c.id from calls c
    where c.id in (${sql.join(left)}) ${sql.join(asked, sql` `)}`.execute(store.db);
  return new Set(rows.map(({ id }) => id));
}

/** Words of calls of the same time lie beside each other. In more rows than this, each call is asked for by itself. */
const mostRowsTogether = 20_000;

type RowRange = { least: number; most: number };

/** The rows in which all words of the calls lie, if they are few. */
async function spansOf(
  db: Kysely<Database>,
  callIds: readonly string[],
): Promise<RowRange | undefined> {
  const { rows } = await sql<{ least: number | null; most: number | null }>`
    select min(id) as least, max(id) as most from said where call_id in (${sql.join(callIds)})`.execute(
    db,
  );
  const [{ least, most } = { least: null, most: null }] = rows;
  if (least === null || most === null || most - least > mostRowsTogether) return undefined;
  return { least, most };
}

/** The calls that have the words of a condition, by one look into the index for all of them. */
async function havingInSpan(
  db: Kysely<Database>,
  condition: Condition,
  { least, most }: RowRange,
): Promise<Set<string>> {
  const { rows } = await sql<{ call_id: string }>`select distinct t.call_id from said_words w
    cross join said t where w.said_words match ${sqliteMatch(condition)} and w.rowid >= ${least} and w.rowid <= ${most}
    and t.id = w.rowid ${ofRole(sql`t`, condition)}`.execute(db);
  return new Set(rows.map(({ call_id }) => call_id));
}

type Candidates = { hits: { id: number; call_id: string }[]; next: SearchPlace | null };

/**
 * The place at which a search continues: below this id. `span` is the range of ids for the next statement (Postgres
 * only).
 */
type SearchPlace = { below: number | undefined; span: number };

const firstSpan = 2_000;

type Hits = { ids: number[]; next: SearchPlace | null };

/** FTS5 keeps its hits in the order of the ids, so only the newest hits are read. */
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
 * Postgres would read every hit of a frequent word before it sorts them. The search therefore examines growing ranges
 * of ids: a frequent word is found in the first ranges, and a rare word costs a few more statements.
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

/** The newest hits of a condition, at most so many. */
export async function newestHits(
  { db, kind }: Pick<Store, 'kind' | 'db'>,
  condition: Condition,
  most: number,
): Promise<number[]> {
  const found: number[] = [];
  let place: SearchPlace | null = { below: undefined, span: firstSpan };
  for (let statement = 0; statement < mostStatements && place !== null; statement++) {
    const { ids, next }: Hits = await (kind === 'sqlite'
      ? hitsOnSqlite(db, condition, place)
      : hitsOnPostgres(db, condition, place));
    found.push(...ids);
    if (found.length >= most) break;
    place = next;
  }
  return found.slice(0, most);
}

function ofRole(row: RawBuilder<unknown>, { role }: Condition): RawBuilder<unknown> {
  return role === undefined ? sql`` : sql`and ${row}.role = ${role}`;
}

/** Tests whether call `c` contains words that match the condition, from the row id `least` on. */
function inCall(kind: Store['kind'], condition: Condition, least?: number): RawBuilder<unknown> {
  const there =
    kind === 'sqlite'
      ? sql`select 1 from ${saidWith(condition, least)} and t.call_id = c.id`
      : sql`select 1 from said t where t.call_id = c.id and t.words @@ ${postgresQuery(condition)}
          ${ofRole(sql`t`, condition)} ${least === undefined ? sql`` : sql`and t.id >= ${least}`} offset 0`;
  return condition.isNot ? sql`and not exists (${there})` : sql`and exists (${there})`;
}

/**
 * Tests rows `t` in the id range of call `c` against the condition. FTS5 reads a range of ids in the time that its hits
 * take. If it were asked row by row, it would start from the beginning each time.
 */
function saidWith(condition: Condition, least?: number): RawBuilder<unknown> {
  const first = sql`(select min(id) from said where call_id = c.id)`;
  return sql`said_words w cross join said t where w.said_words match ${sqliteMatch(condition)}
    and w.rowid >= ${least === undefined ? first : sql`max(${least}, ${first})`}
    and w.rowid <= (select max(id) from said where call_id = c.id) and t.id = w.rowid ${ofRole(sql`t`, condition)}`;
}

export const saidColumns = sql.raw(
  ['call_id', 'leg_id', 'session_id', 'result_key', 'kind', 'role', 'start_s', 'end_s', 'text']
    .map((name) => `t.${name}`)
    .join(', '),
);

/** The first hits in each call. */
export async function hitsOf(
  { db, kind }: Pick<Store, 'kind' | 'db'>,
  conditions: readonly Condition[],
  callIds: readonly string[],
): Promise<Map<string, FoundHit[]>> {
  if (callIds.length === 0) return new Map();
  const asked = conditions
    .filter(({ isNot }) => !isNot)
    .map((condition) =>
      kind === 'sqlite'
        ? sql`select ${saidColumns} from calls c cross join ${saidWith(condition)}
            and t.call_id = c.id and c.id in (${sql.join(callIds)})`
        : sql`select ${saidColumns} from said t where t.call_id in (${sql.join(callIds)})
            and t.words @@ ${postgresQuery(condition)} ${ofRole(sql`t`, condition)}`,
    );
  const { rows } = await sql<SaidRow>`select * from (${sql.join(asked, sql` union `)}) as told
      order by call_id, case kind when 'turn' then 0 else 1 end, start_s limit ${mostHitsRead}`.execute(
    db,
  );
  const byCall = Map.groupBy(rows, ({ call_id }) => call_id);
  return new Map([...byCall].map(([id, hits]) => [id, hits.slice(0, hitsPerCall).map(hitOf)]));
}

export type SaidRow = {
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

export function hitOf(row: SaidRow): FoundHit {
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
