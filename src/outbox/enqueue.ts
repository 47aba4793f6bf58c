import type { Transaction } from 'kysely';
import { newId } from '../lib/ids.ts';
import type { NewCallEvent } from '../protocol/events.ts';
import type { Database } from '../store/schema.ts';
import { insertEvent, takeSequence } from './tables.ts';

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
  const sequence = await takeSequence(tx, event.callId);
  const id = newId('evt');
  const stored = {
    id,
    callId: event.callId,
    sequence,
    type: event.type,
    occurredAt: event.occurredAt,
    body: envelope(id, sequence, event),
  };
  await insertEvent(tx, {
    id,
    call_id: stored.callId,
    sequence,
    type: stored.type,
    occurred_at: stored.occurredAt,
    body: stored.body,
  });
  return stored;
}

/** Written once: the signed bytes of every attempt are these bytes. */
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
