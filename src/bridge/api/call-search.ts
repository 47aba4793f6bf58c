import type { ExpressionBuilder, Kysely, SelectQueryBuilder } from 'kysely';
import { z } from 'zod';
import { firstId } from '../../lib/ids.ts';
import { storableText } from '../../lib/storable.ts';
import { ApiCallState, CallSort } from '../../protocol/api.ts';
import { Role } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { digitsOf, leastDigits, numberRange, partyKey, tagKey } from '../events/call-keys.ts';
import { invalid } from './query.ts';

/** U+0000 and its like are in nothing that is stored, and Postgres takes the first in no text. */
const text = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .refine((given) => !/\p{Cc}/u.test(given), 'must have no control characters');

const dayMs = 24 * 3_600_000;
/** What an id has room for. */
const latestMs = 32 ** 10 - 1;

const edge = (daysOn: number) =>
  z.string().transform((given, context) => {
    // A plus sign that was not encoded arrives as a space.
    const asSent = given.trim().replace(' ', '+');
    const isDay = z.iso.date().safeParse(asSent).success;
    if (!isDay && !z.iso.datetime({ offset: true, local: true }).safeParse(asSent).success) {
      context.addIssue('must be a date of the form YYYY-MM-DD, or an ISO 8601 date-time');
      return z.NEVER;
    }
    // Without a zone it is UTC here, whatever the machine's zone is.
    const hasZone = isDay || /(?:Z|[+-]\d{2}:?\d{2})$/i.test(asSent);
    const ms = Date.parse(hasZone ? asSent : `${asSent}Z`) + (isDay ? daysOn * dayMs : 0);
    return Math.min(Math.max(0, ms), latestMs);
  });

export const CallListQuery = z.object({
  cursor: text(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  sort: CallSort.default('newest'),
  search: text(300).optional(),
  number: text(100)
    .refine((given) => !isTooShort(given), `must have at least ${leastDigits} digits`)
    .optional(),
  tag: text(100).optional(),
  from_date: edge(0).optional(),
  to_date: edge(1).optional(),
  state: ApiCallState.optional(),
  incomplete: z.enum(['true', 'false']).optional(),
  direction: z.enum(['inbound', 'outbound']).optional(),
  role: Role.optional(),
  carrier: text(100).optional(),
  // As it was stored, whatever the carrier put into it.
  carrier_call_id: z.string().max(300).transform(storableText).optional(),
});
type CallListQuery = z.output<typeof CallListQuery>;

/** Names that people know from other lists. */
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
  q: 'search',
  query: 'search',
  order: 'sort',
  page: 'cursor',
  offset: 'cursor',
  after_id: 'cursor',
};

type Ids = SelectQueryBuilder<Database, 'calls', { id: string; duration_ms: number }>;

/** The calls of one page in its order, and where the next one begins. */
export async function findCalls(
  db: Kysely<Database>,
  query: CallListQuery,
): Promise<{ ids: string[]; nextCursor: string | null }> {
  const select = db.selectFrom('calls').select(['id', 'duration_ms']);
  // One more than asked for tells whether there is a next page.
  const rows = await sorted(filtered(select, query), query)
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

function filtered(select: Ids, query: CallListQuery): Ids {
  const { state, incomplete, direction, role, carrier, carrier_call_id: carrierCallId } = query;
  const { search, number, tag, from_date: from, to_date: to } = query;
  let found = select;
  // An id begins with the time at which its call started.
  if (from !== undefined) found = found.where('id', '>=', firstId('call', from));
  if (to !== undefined) found = found.where('id', '<', firstId('call', to));
  if (state !== undefined) found = found.where('state', '=', state);
  if (incomplete !== undefined)
    found = found.where('incomplete', incomplete === 'true' ? 'is not' : 'is', null);
  if (direction !== undefined) found = found.where('direction', '=', direction);
  if (role !== undefined) found = found.where('said_by', 'in', saidWith(role));
  if (carrier !== undefined) found = found.where('carrier', '=', carrier);
  if (carrierCallId !== undefined) found = found.where('carrier_call_id', '=', carrierCallId);
  if (number !== undefined) found = found.where('id', 'in', (eb) => byParty(eb, number));
  if (tag !== undefined) found = found.where('id', 'in', (eb) => byTag(eb, tag));
  if (search !== undefined) found = found.where('id', 'in', (eb) => bySearch(eb, search));
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

type CallExpressions = ExpressionBuilder<Database, 'calls'>;

const keys = (eb: CallExpressions) => eb.selectFrom('call_keys').select('call_id as id');

function byTag(eb: CallExpressions, tag: string) {
  return keys(eb).where('kind', '=', 'tag').where('key', '=', tagKey(tag));
}

function byParty(eb: CallExpressions, party: string) {
  const digits = digitsOf(party);
  if (digits === undefined)
    return keys(eb)
      .where('kind', '=', 'address')
      .where('key', '=', partyKey(party)?.key ?? '');
  const { from, to, shorter } = numberRange(digits);
  const numbers = keys(eb).where('kind', '=', 'number');
  const longer = numbers.where('key', '>=', from).where('key', '<=', to);
  // Two ranges of the index one after the other: an `or` of both reads every number there is.
  return shorter.length === 0 ? longer : longer.union(numbers.where('key', 'in', shorter));
}

/** Whatever a person has at hand: a number, a tag, our id or the carrier's. */
function bySearch(eb: CallExpressions, search: string) {
  const ids = eb
    .selectFrom('calls as named')
    .select('named.id as id')
    .where((named) =>
      named.or([named('named.id', '=', search), named('named.carrier_call_id', '=', search)]),
    );
  const named = ids.union(byTag(eb, search));
  return isTooShort(search) ? named : named.union(byParty(eb, search));
}

function isTooShort(number: string): boolean {
  const digits = digitsOf(number);
  return digits !== undefined && digits.length < leastDigits;
}

/** What the row of a call says of who spoke, wherever this role is among them. */
function saidWith(role: Role): string[] {
  const [first = role, second = role] = Role.options.filter((other) => other !== role);
  return [[role], [role, first], [role, second], [role, first, second]].map((roles) =>
    roles.toSorted().join(' '),
  );
}
