import { PostgresAdapter, sql, type RawBuilder, type Transaction } from 'kysely';
import type { CallEventType } from '../protocol/events.ts';
import type { Database, EventsTable } from '../store/schema.ts';

/*
 * The rows of events, in the transaction of the part that tells an event or erases a call.
 */

/** A larger event is not delivered: no receiver accepts it, and many of them at once would fill the memory. */
export const maxEventBytes = 1_048_576;

/**
 * Takes the next `count` sequence numbers of the call and returns the last one. The row stays locked until the
 * commit, so numbers have no holes and commit in order.
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
 * Inserts events of one call, and one delivery for every endpoint that wants the type. The lane is written first: it
 * is the lock. With `only`, no other endpoints get the events. It takes three statements for any number of events,
 * because the writer waits for this call during each of them.
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
  // SQL has no empty list, so the list always contains an empty name.
  const among = only === undefined ? sql`` : sql`and name in (${sql.join(['', ...only])})`;
  const since = Math.min(...events.map((event) => event.occurred_at));
  // A parked lane stays parked: later events wait behind the parked one.
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

/** True if an endpoint would get an event of this type. An event that nobody wants need not be stored. */
export async function isWanted(tx: Transaction<Database>, type: CallEventType): Promise<boolean> {
  const { rows } = await sql`
    select 1 from endpoints where active = 1 and types like ${`%|${type}|%`} limit 1`.execute(tx);
  return rows.length > 0;
}

/** The event is due now. A node whose clock is ahead of the database's must not delay its events. */
function dueAt(tx: Transaction<Database>, occurredAt: number): RawBuilder<number> {
  return tx.getExecutor().adapter instanceof PostgresAdapter
    ? sql<number>`least(cast(${occurredAt} as bigint), (extract(epoch from clock_timestamp()) * 1000)::bigint)`
    : sql<number>`cast(${occurredAt} as bigint)`;
}

/** Erases everything of the call except the number of its last event, so that no number is ever given twice. */
export async function eraseCall(
  tx: Transaction<Database>,
  callId: string,
  nowMs: number,
): Promise<void> {
  // Lanes are deleted first. An attempt in progress then finds its claim gone and writes nothing.
  await tx.deleteFrom('lanes').where('call_id', '=', callId).execute();
  await tx.deleteFrom('deliveries').where('call_id', '=', callId).execute();
  await tx.deleteFrom('events').where('call_id', '=', callId).execute();
  // An endpoint that is told of the erasure still needs the ids of the records that it deletes. They go with its answer.
  await sql`
    delete from crm_links where call_id = ${callId} and endpoint not in (
      select name from endpoints where active = 1 and types like '%|call.erased|%')`.execute(tx);
  await tx
    .updateTable('event_calls')
    .set({ erased_at: nowMs })
    .where('call_id', '=', callId)
    .execute();
}
