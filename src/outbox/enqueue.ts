import type { Transaction } from 'kysely';
import { newId } from '../lib/ids.ts';
import { envelopeVersion, type NewCallEvent } from '../protocol/events.ts';
import type { Database, EventsTable } from '../store/schema.ts';
import { insertEvents, takeSequences } from './event-rows.ts';

export type StoredEvent = {
  id: string;
  callId: string;
  sequence: number;
  type: NewCallEvent['type'];
  occurredAt: number;
  speechEndedAt: number | null;
  /** The envelope exactly as it is sent. */
  body: string;
};

/**
 * Stores an event in the caller's transaction, so that it is committed together with the state that it reports. Call
 * `outbox.wake()` after the commit.
 */
export async function enqueueEvent(
  tx: Transaction<Database>,
  event: NewCallEvent,
  /** Limits the receivers to these endpoints, if they want the event. */
  only?: readonly string[],
): Promise<StoredEvent> {
  return (await storeAll(tx, [event], only))[0];
}

/** Like `enqueueEvent`, for several events of one call, in their order. */
export async function enqueueEvents(
  tx: Transaction<Database>,
  events: readonly NewCallEvent[],
): Promise<StoredEvent[]> {
  const [first, ...others] = events;
  return first === undefined ? [] : storeAll(tx, [first, ...others]);
}

async function storeAll(
  tx: Transaction<Database>,
  events: readonly [NewCallEvent, ...NewCallEvent[]],
  only?: readonly string[],
): Promise<[StoredEvent, ...StoredEvent[]]> {
  const [first, ...others] = events;
  const last = await takeSequences(tx, first.callId, events.length);
  let sequence = last - events.length;
  const stored: [StoredEvent, ...StoredEvent[]] = [storedOf(first, ++sequence)];
  for (const event of others) stored.push(storedOf(event, ++sequence));
  const [row, ...rows] = stored;
  await insertEvents(tx, [rowOf(row), ...rows.map(rowOf)], only);
  return stored;
}

function storedOf(event: NewCallEvent, sequence: number): StoredEvent {
  const id = newId('evt');
  const { callId, type, occurredAt, speechEndedAt = null } = event;
  const body = envelope(id, sequence, event);
  return { id, callId, sequence, type, occurredAt, speechEndedAt, body };
}

function rowOf(event: StoredEvent): EventsTable {
  const { id, callId, sequence, type, occurredAt, speechEndedAt, body } = event;
  const times = { occurred_at: occurredAt, speech_ended_at: speechEndedAt };
  return { id, call_id: callId, sequence, type, ...times, body };
}

/** The text is made once, because every attempt signs and sends the same bytes. */
function envelope(id: string, sequence: number, event: NewCallEvent): string {
  return JSON.stringify({
    id,
    type: event.type,
    version: envelopeVersion,
    sequence,
    occurred_at: new Date(event.occurredAt).toISOString(),
    ...(event.isTest ? { test: true } : {}),
    call: event.call,
    ...(event.leg ? { leg: event.leg } : {}),
    custom_metadata: event.customMetadata,
    data: event.data,
  });
}
