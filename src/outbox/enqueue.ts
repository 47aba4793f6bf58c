import { PostgresAdapter, sql, type RawBuilder, type Transaction } from 'kysely';
import { newId } from '../lib/ids.ts';
import type { NewCallEvent } from '../protocol/events.ts';
import type { Database } from '../store/schema.ts';

export type StoredEvent = {
  id: string;
  callId: string;
  sequence: number;
  type: NewCallEvent['type'];
  occurredAt: number;
  /** The envelope exactly as it is sent. */
  body: string;
};

/**
 * Stores an event in the caller's transaction: committed together with the state it tells of, or not at all.
 * Call `outbox.wake()` after the commit.
 */
export async function enqueueEvent(
  tx: Transaction<Database>,
  event: NewCallEvent,
): Promise<StoredEvent> {
  // The row of the call stays locked until the commit: sequences have no holes and commit in order.
  const { last_sequence: sequence } = await tx
    .insertInto('event_calls')
    .values({ call_id: event.callId, last_sequence: 1, erased_at: null })
    .onConflict((conflict) =>
      conflict.column('call_id').doUpdateSet({ last_sequence: sql`event_calls.last_sequence + 1` }),
    )
    .returning('last_sequence')
    .executeTakeFirstOrThrow();
  const id = newId('evt');
  const stored = {
    id,
    callId: event.callId,
    sequence,
    type: event.type,
    occurredAt: event.occurredAt,
    body: envelope(id, sequence, event),
  };
  await tx
    .insertInto('events')
    .values({
      id,
      call_id: stored.callId,
      sequence,
      type: stored.type,
      occurred_at: stored.occurredAt,
      body: stored.body,
    })
    .execute();
  await fanOut(tx, stored);
  return stored;
}

function envelope(id: string, sequence: number, event: NewCallEvent): string {
  return JSON.stringify({
    id,
    type: event.type,
    sequence,
    occurred_at: new Date(event.occurredAt).toISOString(),
    call: event.call,
    ...(event.leg ? { leg: event.leg } : {}),
    custom_metadata: event.customMetadata,
    data: event.data,
  });
}

/** One row per endpoint that wants the type, and its lane woken; the lane first, it is the lock. */
async function fanOut(tx: Transaction<Database>, event: StoredEvent): Promise<void> {
  const wanted = `%|${event.type}|%`;
  await sql`
    insert into lanes (endpoint, call_id, next_attempt_at, wakes, held_by_endpoint)
    select name, cast(${event.callId} as text), ${dueAt(tx, event.occurredAt)}, 1, 0
    from endpoints where active = 1 and types like ${wanted}
    on conflict (endpoint, call_id) do update set
      wakes = lanes.wakes + 1,
      next_attempt_at = case when lanes.parked_at is null
        then coalesce(lanes.next_attempt_at, excluded.next_attempt_at) end`.execute(tx);
  await sql`
    insert into deliveries (endpoint, event_id, call_id, sequence, type, state, attempts)
    select endpoints.name, cast(${event.id} as text), cast(${event.callId} as text),
      cast(${event.sequence} as integer), cast(${event.type} as text),
      case when lanes.parked_at is null then 'waiting' else 'parked' end, 0
    from endpoints join lanes on lanes.endpoint = endpoints.name and lanes.call_id = ${event.callId}
    where endpoints.active = 1 and endpoints.types like ${wanted}`.execute(tx);
}

/** Due now. A node whose clock is ahead of the database's must not make its events wait. */
function dueAt(tx: Transaction<Database>, occurredAt: number): RawBuilder<number> {
  return tx.getExecutor().adapter instanceof PostgresAdapter
    ? sql<number>`least(cast(${occurredAt} as bigint), (extract(epoch from clock_timestamp()) * 1000)::bigint)`
    : sql<number>`cast(${occurredAt} as bigint)`;
}
