import type { Kysely } from 'kysely';
import { firstId } from '../../lib/ids.ts';
import type { Database } from '../../store/schema.ts';
import type { FeedEvent } from '../live-feed.ts';

/** If more events than this were missed, reloading the page is cheaper than catching up. */
export const maxMissedEvents = 5_000;

/**
 * Events may be committed in another order than that of their ids; ids that are swapped differ by at most this time.
 */
const overlapMs = 2_000;

/** Reads the stored events of one call after the given event. If the given event is unknown, reads all of them. */
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

/** Reads the stored events of all calls after the given event, as `eventsSince` does. */
export async function eventsAfter(
  db: Kysely<Database>,
  lastId: string,
): Promise<FeedEvent[] | undefined> {
  const timeMs = timeOf(lastId);
  const events = timeMs === undefined ? undefined : await eventsSince(db, timeMs);
  return events?.filter(({ id }) => id !== lastId);
}

/**
 * Reads the stored events of all calls since a time. The query starts a little earlier, so that none is missed;
 * watchers recognise repeated events by their id. Returns undefined if there are too many.
 */
export async function eventsSince(
  db: Kysely<Database>,
  sinceMs: number,
): Promise<FeedEvent[] | undefined> {
  const rows = await db
    .selectFrom('events')
    .select(['id', 'call_id', 'sequence', 'type', 'body'])
    .where('id', '>', firstId('evt', Math.max(0, sinceMs - overlapMs)))
    .orderBy('id')
    .limit(maxMissedEvents + 1)
    .execute();
  return rows.length > maxMissedEvents ? undefined : rows.map(feedEvent);
}

const timeLength = 'evt_'.length + 10;
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The time in milliseconds at the beginning of one of our ids. */
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
