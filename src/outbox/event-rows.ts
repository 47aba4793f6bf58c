import { PostgresAdapter, sql, type RawBuilder, type Transaction } from 'kysely';
import type { CallEventType } from '../protocol/events.ts';
import type { Database, EventsTable } from '../store/schema.ts';

/*
 * The rows of events, in the transaction of the part that tells an event or erases a call.
 */

/** An event of more bytes is not delivered: no receiver takes it, and many of them at once would fill the memory. */
export const maxEventBytes = 1_048_576;

/**
 * The last of the call's next numbers, of which so many are taken. Its row stays locked until the commit: numbers have
 * no holes and commit in order.
 */
export async function takeSequences(
  tx: Transaction<Database>,
  callId: string,
  count: number,
): Promise<number> {
  const row = await tx
    .insertInto('event_calls')
    .values({ call_id: callId, last_sequence: count, erased_at: null })
    .onConflict((conflict) =>
      conflict
        .column('call_id')
        .doUpdateSet({ last_sequence: sql`event_calls.last_sequence + excluded.last_sequence` }),
    )
    .returning('last_sequence')
    .executeTakeFirstOrThrow();
  return row.last_sequence;
}

/**
 * Events of one call, and of each one delivery for every endpoint that wants its type. The lane comes first: it is the
 * lock. With `only` no other endpoints than these get them. However many they are, these are three statements: each is a turn of the event loop in which the writer waits
 * for this call and for nobody else.
 */
export async function insertEvents(
  tx: Transaction<Database>,
  events: readonly [EventsTable, ...EventsTable[]],
  only?: readonly string[],
): Promise<void> {
  const [{ call_id }] = events;
  await tx
    .insertInto('events')
    .values([...events])
    .execute();
  const types = new Set(events.map((event) => event.type));
  const wanted = sql.join(
    [...types].map((type) => sql`types like ${`%|${type}|%`}`),
    sql` or `,
  );
  // An empty list is written as one that no name is in.
  const among = only === undefined ? sql`` : sql`and name in (${sql.join(['', ...only])})`;
  const since = Math.min(...events.map((event) => event.occurred_at));
  // A parked lane stays parked: what comes after the parked event waits behind it.
  await sql`
    insert into lanes (endpoint, call_id, next_attempt_at, wakes, held_by_endpoint)
    select name, cast(${call_id} as text), ${dueAt(tx, since)}, 1, 0
    from endpoints where active = 1 and (${wanted}) ${among}
    on conflict (endpoint, call_id) do update set
      wakes = lanes.wakes + 1,
      next_attempt_at = case when lanes.parked_at is null
        then coalesce(lanes.next_attempt_at, excluded.next_attempt_at) end`.execute(tx);
  const told = sql.join(
    events.map(
      ({ id, sequence, type }) =>
        sql`(cast(${id} as text), cast(${sequence} as integer), cast(${type} as text))`,
    ),
  );
  await sql`
    with told (id, sequence, type) as (values ${told})
    insert into deliveries (endpoint, event_id, call_id, sequence, type, state, attempts)
    select endpoints.name, told.id, cast(${call_id} as text), told.sequence, told.type,
      case when lanes.parked_at is null then 'waiting' else 'parked' end, 0
    from told join endpoints on endpoints.active = 1 and endpoints.types like '%|' || told.type || '|%' ${among}
      join lanes on lanes.endpoint = endpoints.name and lanes.call_id = ${call_id}`.execute(tx);
}

/** True when an endpoint would get an event of this type: one that nobody wants need not be kept. */
export async function isWanted(tx: Transaction<Database>, type: CallEventType): Promise<boolean> {
  const { rows } = await sql`
    select 1 from endpoints where active = 1 and types like ${`%|${type}|%`} limit 1`.execute(tx);
  return rows.length > 0;
}

/** Due now. A node whose clock is ahead of the database's must not make its events wait. */
function dueAt(tx: Transaction<Database>, occurredAt: number): RawBuilder<number> {
  return tx.getExecutor().adapter instanceof PostgresAdapter
    ? sql<number>`least(cast(${occurredAt} as bigint), (extract(epoch from clock_timestamp()) * 1000)::bigint)`
    : sql<number>`cast(${occurredAt} as bigint)`;
}

/** The number of the last event stays, so that none is ever given twice. Nothing else of the call stays. */
export async function eraseCall(
  tx: Transaction<Database>,
  callId: string,
  nowMs: number,
): Promise<void> {
  // The lanes first: an attempt under way then finds its claim gone and writes nothing.
  await tx.deleteFrom('lanes').where('call_id', '=', callId).execute();
  await tx.deleteFrom('deliveries').where('call_id', '=', callId).execute();
  await tx.deleteFrom('events').where('call_id', '=', callId).execute();
  await tx.deleteFrom('crm_links').where('call_id', '=', callId).execute();
  await tx
    .updateTable('event_calls')
    .set({ erased_at: nowMs })
    .where('call_id', '=', callId)
    .execute();
}
