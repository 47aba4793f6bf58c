import { sql, type ExpressionBuilder, type Kysely, type SelectQueryBuilder } from 'kysely';
import { z } from 'zod';
import { firstId } from '../../lib/ids.ts';
import { storableText } from '../../lib/storable.ts';
import { ApiCallState, CallSort } from '../../protocol/api.ts';
import { Role } from '../../protocol/events.ts';
import { contentFilterShape } from '../../protocol/call-filters.ts';
import { textLine } from '../../protocol/values.ts';
import type { Database } from '../../store/schema.ts';
import {
  digitsOf,
  leastDigits,
  numberRange,
  partyKey,
  tagKey,
  type CallKey,
} from '../events/call-keys.ts';
import { invalid } from './query.ts';

const dayMs = 24 * 3_600_000;
/** The latest time that fits into an id. */
const latestMs = 32 ** 10 - 1;

const edge = (daysOn: number) =>
  z.string().transform((given, context) => {
    // A plus sign that was not URL-encoded arrives as a space.
    const asSent = given.trim().replace(' ', '+');
    const isDay = z.iso.date().safeParse(asSent).success;
    if (!isDay && !z.iso.datetime({ offset: true, local: true }).safeParse(asSent).success) {
      context.addIssue('must be a date of the form YYYY-MM-DD, or an ISO 8601 date-time');
      return z.NEVER;
    }
    // A time without a zone means UTC, whatever the machine's own zone is.
    const hasZone = isDay || /(?:Z|[+-]\d{2}:?\d{2})$/i.test(asSent);
    const ms = Date.parse(hasZone ? asSent : `${asSent}Z`) + (isDay ? daysOn * dayMs : 0);
    return Math.min(Math.max(0, ms), latestMs);
  });

export const CallListQuery = z.object({
  cursor: textLine(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  sort: CallSort.default('newest'),
  search: textLine(300).optional(),
  number: textLine(100)
    .refine((given) => !isTooShort(given), `must have at least ${leastDigits} digits`)
    .optional(),
  tag: textLine(100).optional(),
  agent: textLine(100).optional(),
  from_date: edge(0).optional(),
  to_date: edge(1).optional(),
  state: ApiCallState.optional(),
  incomplete: z.enum(['true', 'false']).optional(),
  direction: z.enum(['inbound', 'outbound']).optional(),
  role: Role.optional(),
  carrier: textLine(100).optional(),
  // The stored form of a carrier's call id is searched for, so ids with unusual characters are found too.
  carrier_call_id: z.string().max(300).transform(storableText).optional(),
  ...contentFilterShape,
});
/** Set by us: the agents whose calls may be seen by those who ask, and those of the team that they ask for. */
type AgentsMeant = {
  among?: readonly string[] | undefined;
  teamAgents?: readonly string[] | undefined;
};
export type CallListQuery = z.output<typeof CallListQuery> & AgentsMeant;

/** Maps filter names of other APIs to our names, for the hint in an error message. */
export const namesOfOthers: Record<string, string> = {
  from: 'from_date, or number for a party of the call',
  to: 'to_date, or number for a party of the call',
  since: 'from_date',
  after: 'from_date',
  after_date: 'from_date',
  until: 'to_date',
  before: 'to_date',
  before_date: 'to_date',
  date: 'from_date with to_date',
  phone: 'number',
  caller: 'number',
  agent_id: 'agent',
  q: 'search',
  query: 'search',
  order: 'sort',
  page: 'cursor',
  offset: 'cursor',
  after_id: 'cursor',
};

type Ids = SelectQueryBuilder<Database, 'calls', { id: string; duration_ms: number }>;

/** The calls of one page in the page's order, and the cursor of the next page. */
export async function findCalls(
  db: Kysely<Database>,
  query: CallListQuery,
): Promise<{ ids: string[]; nextCursor: string | null }> {
  const select = db.selectFrom('calls').select(['id', 'duration_ms']);
  let found = filtered(select, query);
  for (const keys of keysAsked(query)) {
    const few = await fewOf(db, keys);
    found = found.where((eb) =>
      few === undefined
        ? someOf(eb, keys)
        : few.length === 0
          ? sql<boolean>`1 = 0`
          : eb('calls.id', 'in', few),
    );
  }
  // One row more than the limit is read: it shows that there is a next page.
  const rows = await sorted(found, query)
    .limit(query.limit + 1)
    .execute();
  const shown = rows.slice(0, query.limit);
  const last = shown.at(-1);
  const isMore = rows.length > query.limit && last !== undefined;
  return {
    ids: shown.map(({ id }) => id),
    nextCursor: isMore ? (isByLength(query) ? `${last.duration_ms}.${last.id}` : last.id) : null,
  };
}

/** Selects the calls that pass every filter of the query. The database tests each filter on each call. */
export function passing(select: Ids, query: Omit<CallListQuery, 'sort' | 'cursor' | 'limit'>): Ids {
  return keysAsked(query).reduce(
    (found, keys) => found.where((eb) => someOf(eb, keys)),
    filtered(select, query),
  );
}

function filtered(select: Ids, query: Omit<CallListQuery, 'sort' | 'cursor' | 'limit'>): Ids {
  const { state, incomplete, direction, role, carrier, carrier_call_id: carrierCallId } = query;
  const { from_date: from, to_date: to } = query;
  let found = select;
  // An id begins with the start time of its call.
  if (from !== undefined) found = found.where('id', '>=', firstId('call', from));
  if (to !== undefined) found = found.where('id', '<', firstId('call', to));
  if (state !== undefined) found = found.where('state', '=', state);
  if (incomplete !== undefined)
    found = found.where('incomplete', incomplete === 'true' ? 'is not' : 'is', null);
  if (direction !== undefined) found = found.where('direction', '=', direction);
  if (role !== undefined) found = found.where('said_by', 'in', saidWith(role));
  if (carrier !== undefined) found = found.where('carrier', '=', carrier);
  if (carrierCallId !== undefined) found = found.where('carrier_call_id', '=', carrierCallId);
  const { min_duration: least, max_duration: most, undelivered } = query;
  if (least !== undefined) found = found.where('duration_ms', '>=', Math.round(least * 1_000));
  if (most !== undefined) found = found.where('duration_ms', '<=', Math.round(most * 1_000));
  if (undelivered !== undefined)
    found = found.where('id', undelivered === 'true' ? 'in' : 'not in', (eb) =>
      eb.selectFrom('lanes').select('call_id').where('parked_at', 'is not', null),
    );
  return found;
}

function sorted(select: Ids, query: CallListQuery): Ids {
  const { sort, cursor } = query;
  const [beyond, order] =
    sort === 'newest' || sort === 'longest' ? (['<', 'desc'] as const) : (['>', 'asc'] as const);
  if (!isByLength(query)) {
    const rest = cursor === undefined ? select : select.where('id', beyond, cursor);
    return rest.orderBy('id', order);
  }
  const ordered = select.orderBy('duration_ms', order).orderBy('id', order);
  if (cursor === undefined) return ordered;
  const [, length, id = ''] = /^(\d{1,15})\.(.+)$/.exec(cursor) ?? [];
  if (length === undefined)
    throw invalid(['cursor must be the next_cursor of a page with the same sort']);
  const ms = Number(length);
  return ordered
    .where('duration_ms', `${beyond}=`, ms)
    .where((eb) => eb.or([eb('duration_ms', beyond, ms), eb('id', beyond, id)]));
}

function isByLength({ sort }: Pick<CallListQuery, 'sort'>): boolean {
  return sort === 'longest' || sort === 'shortest';
}

/**
 * The keys that match one filter: keys within these ranges, and keys that are listed singly. An index answers each
 * range. One query that joins the ranges with `or` would read every key in the table.
 */
type KeysAsked = { keys: readonly KeyRange[]; named?: string };
type KeyRange =
  { kind: string; in: readonly string[] } | { kind: string; from: string; to: string };

function keysAsked({
  number,
  tag,
  agent,
  search,
  among,
  team,
  teamAgents = [],
  ...query
}: Omit<CallListQuery, 'sort' | 'cursor' | 'limit'>): KeysAsked[] {
  const asked: KeysAsked[] = [];
  // Somebody without an agent sees no call. No call has an empty key.
  if (among !== undefined) asked.push({ keys: [{ kind: 'agent', in: among.length === 0 ? [''] : among.map(tagKey) }] }); // prettier-ignore
  if (team !== undefined) asked.push({ keys: [{ kind: 'agent', in: teamAgents.length === 0 ? [''] : teamAgents.map(tagKey) }] }); // prettier-ignore
  for (const kind of ['mood', 'entity', 'disposition', 'rule'] as const) {
    const value = query[kind];
    if (value !== undefined) asked.push({ keys: [{ kind, in: [tagKey(value)] }] });
  }
  if (number !== undefined) asked.push({ keys: ofParty(number) });
  if (tag !== undefined) asked.push({ keys: ofTag(tag) });
  if (agent !== undefined) asked.push({ keys: [{ kind: 'agent', in: [tagKey(agent)] }] });
  // People search by whatever they have at hand: a telephone number, a tag, our call id or the carrier's.
  if (search !== undefined)
    asked.push({
      keys: [...ofTag(search), ...(isTooShort(search) ? [] : ofParty(search))],
      named: search,
    });
  return asked;
}

function ofTag(tag: string): KeyRange[] {
  return [{ kind: 'tag', in: [tagKey(tag)] }];
}

function ofParty(party: string): KeyRange[] {
  const digits = digitsOf(party);
  if (digits === undefined) return [{ kind: 'address', in: [partyKey(party)?.key ?? ''] }];
  const { from, to, shorter } = numberRange(digits);
  const longer = { kind: 'number', from, to };
  return shorter.length === 0 ? [longer] : [longer, { kind: 'number', in: shorter }];
}

/**
 * At most this many matching calls are collected by id for one filter. If there are more, testing the calls of the page
 * one by one is usually faster.
 */
const fewCalls = 1_000;

/**
 * The ids of the calls that have all keys which the query asks for. Undefined if it asks for none, or if more than
 * `most` calls have them.
 */
export async function callsWithKeys(
  db: Kysely<Database>,
  query: Omit<CallListQuery, 'sort' | 'cursor' | 'limit'>,
  most: number,
): Promise<string[] | undefined> {
  let found: Set<string> | undefined;
  for (const keys of keysAsked(query)) {
    const few = await fewOf(db, keys, most);
    if (few !== undefined) found = found?.intersection(new Set(few)) ?? new Set(few);
  }
  return found && [...found];
}

/** The ids of the calls that match, or undefined if there are too many. */
async function fewOf(
  db: Kysely<Database>,
  { keys, named }: KeysAsked,
  most = fewCalls,
): Promise<string[] | undefined> {
  const ids = new Set<string>();
  if (named !== undefined)
    for (const column of ['id', 'carrier_call_id'] as const) {
      const rows = await db.selectFrom('calls').select('id').where(column, '=', named).limit(most).execute(); // prettier-ignore
      for (const { id } of rows) ids.add(id);
    }
  for (const range of keys) {
    // The order makes Postgres use the index. Without it, Postgres may scan the table in the hope of an early match.
    const rows = await withKey(db.selectFrom('call_keys').select('call_id'), range)
      .orderBy('key')
      .limit(most)
      .execute();
    for (const { call_id } of rows) ids.add(call_id);
    if (rows.length === most) return undefined;
  }
  return ids.size >= most ? undefined : [...ids];
}

/** Expresses the filter as a condition that the database tests on each call. */
function someOf(eb: ExpressionBuilder<Database, 'calls'>, { keys, named }: KeysAsked) {
  const asked = keys.map((range) =>
    eb.exists(
      withKey(eb.selectFrom('call_keys').select('call_id'), range)
        .where(sql<boolean>`call_keys.call_id = calls.id`)
        // The limit keeps Postgres from turning the condition into one join, which would read every key before the
        // first call.
        .limit(1)
        .offset(0),
    ),
  );
  if (named === undefined) return eb.or(asked);
  return eb.or([...asked, eb('calls.id', '=', named), eb('calls.carrier_call_id', '=', named)]);
}

function withKey<O>(select: SelectQueryBuilder<Database, 'call_keys', O>, range: KeyRange) {
  const ofKind = select.where('kind', '=', range.kind as CallKey['kind']);
  return 'in' in range
    ? ofKind.where('key', 'in', range.in)
    : ofKind.where('key', '>=', range.from).where('key', '<=', range.to);
}

function isTooShort(number: string): boolean {
  const digits = digitsOf(number);
  return digits !== undefined && digits.length < leastDigits;
}

/** Lists every stored value of `said_by` that includes this role. */
function saidWith(role: Role): string[] {
  const [first = role, second = role] = Role.options.filter((other) => other !== role);
  return [[role], [role, first], [role, second], [role, first, second]].map((roles) =>
    roles.toSorted().join(' '),
  );
}
