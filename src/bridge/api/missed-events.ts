import type { Kysely } from 'kysely';
import { newId } from '../../lib/ids.ts';
import type { Database } from '../../store/schema.ts';
import type { FeedEvent } from './live-feed.ts';

/** More than this was missed: loading anew is cheaper than catching up. */
const missedLimit = 5_000;

/** Events commit in another order than they got their ids by at most this much. */
const overlapMs = 2_000;

/** From the rows: the events of one call after the given one; all of them when it is not known. */
export async function eventsOfCall(
  db: Kysely<Database>,
  callId: string,
  lastId: string | undefined,
): Promise<{ outcome: 'all' | 'rest' | 'reset'; events: FeedEvent[] }> {
  const last =
    lastId === undefined
      ? undefined
      : await db
          .selectFrom('events')
          .select('sequence')
          .where('id', '=', lastId)
          .where('call_id', '=', callId)
          .executeTakeFirst();
  const rows = await db
    .selectFrom('events')
    .select(['id', 'call_id', 'sequence', 'type', 'body'])
    .where('call_id', '=', callId)
    .where('sequence', '>', last?.sequence ?? 0)
    .orderBy('sequence')
    .execute();
  const outcome = lastId === undefined ? 'all' : last === undefined ? 'reset' : 'rest';
  return { outcome, events: rows.map(feedEvent) };
}

/**
 * From the rows: the events of every call after the given one, by the time in the ids and a little before
 * it, so that none is missed; a watcher knows repetitions by their id. Undefined when there are too many.
 */
export async function eventsAfter(
  db: Kysely<Database>,
  lastId: string,
): Promise<FeedEvent[] | undefined> {
  const timeMs = timeOf(lastId);
  if (timeMs === undefined) return undefined;
  const rows = await db
    .selectFrom('events')
    .select(['id', 'call_id', 'sequence', 'type', 'body'])
    .where('id', '>', newId('evt', Math.max(0, timeMs - overlapMs)).slice(0, timeLength))
    .where('id', '<>', lastId)
    .orderBy('id')
    .limit(missedLimit + 1)
    .execute();
  return rows.length > missedLimit ? undefined : rows.map(feedEvent);
}

const timeLength = 'evt_'.length + 10;
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The milliseconds that an id of ours begins with. */
function timeOf(id: string): number | undefined {
  if (!/^evt_[0-9A-HJKMNP-TV-Z]{26}$/.test(id)) return undefined;
  let timeMs = 0;
  for (const digit of id.slice('evt_'.length, timeLength))
    timeMs = timeMs * 32 + alphabet.indexOf(digit);
  return timeMs;
}

function feedEvent(row: {
  id: string;
  call_id: string;
  sequence: number;
  type: string;
  body: string;
}): FeedEvent {
  return {
    id: row.id,
    callId: row.call_id,
    sequence: row.sequence,
    type: row.type,
    body: row.body,
  };
}
