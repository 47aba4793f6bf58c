import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Store } from '../../store/store.ts';
import type { Database } from '../../store/schema.ts';
import { callsWithKeys, type CallListQuery } from '../api/call-search.ts';
import { passed } from './passed-calls.ts';
import type { Atom, Condition } from './search-query.ts';
import { boundOf, postgresQuery, sqliteMatch } from './word-match.ts';

/**
 * Number of hits of a word that the first statement examines, newest first. Later ones examine more, up to a limit
 * of the time of a statement.
 */
const firstHits = 400;
const mostHitsAtOnce = 4_000;
/**
 * Number of hits that a page examines, and of its statements. If the other filters reject all hits of a frequent word,
 * the next page continues the search.
 */
const hitsOfPage = 10_000;
const mostStatements = 25;
/** A filter that this many calls pass is compared with each hit here. Of a wider one, the database is asked. */
const fewCalls = 5_000;
/** Number of calls for which the first statement tests the other conditions. Where none passes, later ones test more. */
const firstCalls = 100;
const mostCallsAtOnce = 400;
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
  const passes = await passingCalls(store, ask.filters);
  const found = new Map<string, number>();
  let place: SearchPlace | null = { ...firstPlace, below: ask.below };
  let hits = 0;
  let callsAtOnce = firstCalls;
  for (let statement = 0; statement < mostStatements && place !== null; statement++) {
    const step: HitCalls = await hitCalls(store, driver, place, passes.few);
    place = step.next;
    hits += step.hits;
    const calls = step.calls.filter(({ call_id }) => !found.has(call_id) && passes.perhaps(call_id)); // prettier-ignore
    for (let at = 0; at < calls.length && found.size < limit;) {
      const some = calls.slice(at, at + callsAtOnce);
      at += some.length;
      const ids = some.map(({ call_id }) => call_id);
      const held = await othersHold(ask, driver, ids, ask.below);
      const passed = held.size === 0 ? held : await passes.certainly([...held]);
      for (const { call_id, id } of some)
        if (passed.has(call_id) && found.size < limit) found.set(call_id, id);
      if (passed.size === 0) callsAtOnce = Math.min(mostCallsAtOnce, callsAtOnce * 2);
    }
    if (found.size >= limit || hits >= hitsOfPage) break;
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

/** If no more calls than this may pass, Postgres reads their words, and not the hits of all other calls. */
const fewestCalls = 300;

type PassingCalls = {
  /** All calls that may pass, if they are very few. */
  few: readonly string[] | undefined;
  /** False if the call does not pass. Costs nothing. */
  perhaps: (callId: string) => boolean;
  certainly: (callIds: string[]) => Promise<Set<string>>;
};

/** Tells which calls pass the filters. */
async function passingCalls(
  { db }: Pick<Store, 'db'>,
  filters: SearchFilters,
): Promise<PassingCalls> {
  const isAny = Object.values(filters).every((value) => value === undefined);
  if (isAny)
    return {
      few: undefined,
      perhaps: () => true,
      certainly: (ids) => Promise.resolve(new Set(ids)),
    };
  const some = await callsWithKeys(db, filters, fewCalls);
  const known = some && new Set(some);
  return {
    few: some !== undefined && some.length <= fewestCalls ? some : undefined,
    perhaps: (id) => known?.has(id) ?? true,
    certainly: (ids) => passed(db, filters, ids),
  };
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
  const rest: Condition[] = [];
  for (const condition of others) {
    if (left.length === 0) return new Set();
    const having = spans && (await havingInSpan(store.db, condition, spans));
    if (having === undefined) rest.push(condition);
    else left = left.filter((id) => having.has(id) !== condition.isNot);
  }
  const asked = [...rest.map((condition) => inCall(store.kind, condition)), ...isShown];
  if (asked.length === 0 || left.length === 0) return new Set(left);
  const { rows } = await sql<{ id: string }>`select c.id from calls c
    where c.id in (${sql.join(left)}) ${sql.join(asked, sql` `)}`.execute(store.db);
  return new Set(rows.map(({ id }) => id));
}

/** If the rows of the calls have more hits than this, each call is asked for by itself. */
const mostHitsTogether = 8_000;

type RowRange = { least: number; most: number };

/** The rows in which all words of the calls lie. */
async function spansOf(
  db: Kysely<Database>,
  callIds: readonly string[],
): Promise<RowRange | undefined> {
  const { rows } = await sql<{ least: number | null; most: number | null }>`
    select min(id) as least, max(id) as most from said where call_id in (${sql.join(callIds)})`.execute(
    db,
  );
  const [{ least, most } = { least: null, most: null }] = rows;
  return least === null || most === null ? undefined : { least, most };
}

/**
 * The calls that have the words of a condition, by one look into the index for all of them. Undefined if there are too
 * many hits: calls of the same time lie beside each other, and those of a rare word do not.
 */
async function havingInSpan(
  db: Kysely<Database>,
  condition: Condition,
  { least, most }: RowRange,
): Promise<Set<string> | undefined> {
  const { rows: hits } = await sql<{
    count: number;
  }>`select count(*) as count from (select 1 from said_words
    where said_words match ${sqliteMatch(condition)} and rowid >= ${boundOf(least)} and rowid <= ${boundOf(most)}
    limit ${mostHitsTogether + 1})`.execute(db);
  if ((hits[0]?.count ?? 0) > mostHitsTogether) return undefined;
  const { rows } = await sql<{ call_id: string }>`select distinct t.call_id from said_words w
    cross join said t where w.said_words match ${sqliteMatch(condition)} and w.rowid >= ${boundOf(least)} and w.rowid <= ${boundOf(most)}
    and t.id = w.rowid ${ofRole(sql`t`, condition)}`.execute(db);
  return new Set(rows.map(({ call_id }) => call_id));
}

/**
 * The place at which a search continues: below this id, with so many hits in the next statement. `span` is the range of
 * ids for it (Postgres only).
 */
type SearchPlace = { below: number | undefined; span: number; most: number };

const firstPlace: SearchPlace = { below: undefined, span: 2_000, most: firstHits };

type HitCalls = {
  /** The calls of the hits, each with the id of its newest one, in the order of these. */
  calls: { call_id: string; id: number }[];
  hits: number;
  next: SearchPlace | null;
};

/** The calls of the next hits. A call with hits of another party alone is none. */
async function hitCalls(
  { db, kind }: Pick<Store, 'kind' | 'db'>,
  condition: Condition,
  place: SearchPlace,
  few: readonly string[] | undefined,
): Promise<HitCalls> {
  const calls = kind === 'postgres' ? few : undefined;
  const range = await rangeOf(db, kind, calls === undefined ? place : { ...place, span: Infinity });
  if (range === undefined) return { calls: [], hits: 0, next: null };
  const { role } = condition;
  const id = role === undefined ? sql`t.id` : sql`case when t.role = ${role} then t.id end`;
  const { rows } = await sql<{ call_id: string; id: number | null; least: number; hits: number }>`
    select t.call_id, max(${id}) as id, min(t.id) as least, count(*) as hits
    from ${rowsIn(kind, hitsIn(kind, condition, { ...range, calls }, place.most))}
    group by t.call_id order by max(t.id) desc`.execute(db);
  const hits = rows.reduce((sum, row) => sum + row.hits, 0);
  const found = rows
    .flatMap((row) => (row.id === null ? [] : [{ call_id: row.call_id, id: row.id }]))
    .toSorted((a, b) => b.id - a.id);
  return { calls: found, hits, next: nextPlace(kind, place, range, hits, Math.min(...rows.map(({ least }) => least))) }; // prettier-ignore
}

/**
 * A phrase of frequent words that seldom stand beside each other is found by reading row after row. If so many rows
 * were read, so many hits are enough.
 */
const manyRows = 350_000;
const enoughHits = 500;

/** The newest hits of a condition, at most so many. */
export async function newestHits(
  { db, kind }: Pick<Store, 'kind' | 'db'>,
  condition: Condition,
  most: number,
): Promise<number[]> {
  const found: number[] = [];
  let seen = 0;
  let place: SearchPlace | null = { ...firstPlace, most };
  for (let statement = 0; statement < mostStatements && place !== null; statement++) {
    const range = await rangeOf(db, kind, place);
    if (range === undefined) break;
    const { rows } = await sql<{ id: number }>`${hitsIn(kind, condition, range, place.most)}`.execute(db); // prettier-ignore
    found.push(...rows.map(({ id }) => id));
    if (found.length >= most) break;
    place = nextPlace(kind, place, range, rows.length, rows.at(-1)?.id ?? Infinity);
    seen += (range.top ?? 0) - range.bottom;
    if (found.length >= enoughHits && seen >= manyRows) break;
    if (place === null) break;
    const share = found.length / seen;
    const span = spanFor(most - found.length, share, place.span);
    const isEnoughSoon = share * manyRows >= enoughHits;
    place.span = isEnoughSoon ? Math.min(span, Math.max(manyRows - seen, firstPlace.span)) : span;
  }
  return found.slice(0, most);
}

/** Each statement reads the index anew: the next range should hold the rest of the hits, as often as they came so far. */
function spanFor(hits: number, share: number, span: number): number {
  const wanted = share === 0 ? Infinity : Math.ceil((1.2 * hits) / share);
  return Math.min(Math.max(span, wanted), span * 16);
}

/** Hits with ids in a range: from `bottom` on, and below `top`. */
type HitRange = { top: number | undefined; bottom: number; least: number; calls?: readonly string[] | undefined }; // prettier-ignore

/**
 * FTS5 keeps its hits in the order of the ids, so only the newest hits are read. Postgres would read every hit of a
 * frequent word before it sorts them: there the search examines growing ranges of ids. A frequent word is found in the
 * first ranges, and a rare word costs a few more statements.
 */
async function rangeOf(
  db: Kysely<Database>,
  kind: Store['kind'],
  { below, span }: SearchPlace,
): Promise<HitRange | undefined> {
  if (kind === 'sqlite') return { top: below, bottom: -Infinity, least: -Infinity };
  const { rows } = await sql<{ least: number | null; most: number | null }>`
    select (select id from said order by id limit 1) as least,
      (select id from said order by id desc limit 1) as most`.execute(db);
  const [{ least, most } = { least: null, most: null }] = rows;
  if (least === null || most === null) return undefined;
  const top = Math.min(below ?? Infinity, most + 1);
  return { top, bottom: Math.max(least, top - span), least };
}

function hitsIn(
  kind: Store['kind'],
  condition: Condition,
  { top, bottom, calls }: HitRange,
  most: number,
): RawBuilder<unknown> {
  return kind === 'sqlite'
    ? sql`select rowid as id from said_words where said_words match ${sqliteMatch(condition)}
        ${top === undefined ? sql`` : sql`and rowid < ${boundOf(top)}`} order by rowid desc limit ${most}`
    : sql`select id, call_id, role from said where words @@ ${postgresQuery(condition)}
        and id < ${top} ${calls === undefined ? sql`and id >= ${bottom}` : sql`and call_id = any(${calls})`}
        order by id desc limit ${most}`;
}

/** The rows `t` of hits. Postgres has read them already: a join might read the whole table again. */
function rowsIn(kind: Store['kind'], hits: RawBuilder<unknown>): RawBuilder<unknown> {
  return kind === 'sqlite'
    ? sql`(${hits}) h cross join said t where t.id = h.id`
    : sql`(${hits}) t`;
}

function nextPlace(
  kind: Store['kind'],
  { span, most }: SearchPlace,
  { bottom, least }: HitRange,
  hits: number,
  last: number,
): SearchPlace | null {
  const more = Math.max(most, Math.min(mostHitsAtOnce, most * 5));
  if (hits >= most) return { below: last, span, most: more };
  if (kind === 'sqlite' || bottom <= least) return null;
  return { below: bottom, span: span * 4, most: more };
}

function ofRole(row: RawBuilder<unknown>, { role }: Condition): RawBuilder<unknown> {
  return role === undefined ? sql`` : sql`and ${row}.role = ${role}`;
}

/** Tests whether call `c` contains words that match the condition, from the row id `least` on. */
function inCall(kind: Store['kind'], condition: Condition, least?: number): RawBuilder<unknown> {
  const there =
    kind === 'sqlite'
      ? sql`select 1 from ${saidWith(condition, least)} and t.call_id = c.id`
      : sql`select 1 from ${wordsOfCall(least)} t where t.words @@ ${postgresQuery(condition)} ${ofRole(sql`t`, condition)}`;
  return condition.isNot ? sql`and not exists (${there})` : sql`and exists (${there})`;
}

/**
 * The rows of call `c`, read before their words are tested: otherwise Postgres may read all hits of the word, once for
 * each call.
 */
function wordsOfCall(least: number | undefined): RawBuilder<unknown> {
  const from = least === undefined ? sql`` : sql`and id >= ${least}`;
  return sql`(select role, words from said where call_id = c.id ${from} offset 0)`;
}

/**
 * Tests rows `t` in the id range of call `c` against the condition. FTS5 reads a range of ids in the time that its hits
 * take. If it were asked row by row, it would start from the beginning each time.
 */
function saidWith(condition: Condition, least?: number): RawBuilder<unknown> {
  const first = sql`(select min(id) from said where call_id = c.id)`;
  return sql`said_words w cross join said t where w.said_words match ${sqliteMatch(condition)}
    and w.rowid >= ${least === undefined ? first : boundOf(sql`max(${least}, ${first})`)}
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
