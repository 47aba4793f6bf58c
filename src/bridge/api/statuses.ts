import type { Clock } from '../../lib/clock.ts';
import { digestOf } from '../../lib/digest.ts';
import type { Store } from '../../store/store.ts';

/**
 * Stores a status callback with its call. Carriers repeat a callback when they miss our answer, so equal callbacks
 * become one row.
 */
export async function keepStatus(
  store: Store,
  clock: Clock,
  told: { carrier: string; carrierCallId: string; status: Record<string, string> },
): Promise<void> {
  const { carrier, carrierCallId, status } = told;
  if (await isErased(store, carrier, carrierCallId)) return;
  const text = JSON.stringify(Object.fromEntries(Object.entries(status).sort()));
  const id = digestOf(`${carrier}\n${carrierCallId}\n${text}`);
  await store.db
    .insertInto('call_statuses')
    .values({ id, carrier, carrier_call_id: carrierCallId, received_at: clock.now(), status: text })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * The digest by which an erased call is recognised. Neither the carrier's id nor anything else about the call can be
 * read from it.
 */
export function digestOfCall(carrier: string, carrierCallId: string): string {
  return digestOf(`${carrier}\n${carrierCallId}`);
}

/**
 * Callbacks arrive for minutes after a call, and again if our answer was lost. Callbacks of an erased call are dropped.
 */
async function isErased(store: Store, carrier: string, carrierCallId: string): Promise<boolean> {
  const erased = await store.db
    .selectFrom('erased_calls')
    .select('digest')
    .where('digest', '=', digestOfCall(carrier, carrierCallId))
    .executeTakeFirst();
  if (erased === undefined) return false;
  // The carrier may have reused the id for a later call. Callbacks of that later call are kept.
  const again = await store.db
    .selectFrom('calls')
    .select('id')
    .where('carrier', '=', carrier)
    .where('carrier_call_id', '=', carrierCallId)
    .limit(1)
    .executeTakeFirst();
  return again === undefined;
}

type Kept = { received_at: number; status: Record<string, unknown> };

/** Sorts callbacks by the times that the carrier gives, because callbacks can overtake each other on their way. */
export function inOrderOfTime<Status extends Kept>(statuses: readonly Status[]): Status[] {
  return statuses.toSorted(
    (one, other) =>
      happenedAt(one) - happenedAt(other) ||
      numberOf(one) - numberOf(other) ||
      one.received_at - other.received_at,
  );
}

function happenedAt({ received_at, status }: Kept): number {
  for (const field of ['Timestamp', 'occurred_at', 'timestamp']) {
    const value = status[field];
    const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
    if (!Number.isNaN(time)) return time;
  }
  return received_at;
}

function numberOf({ status }: Kept): number {
  const number = Number(status['SequenceNumber']);
  return Number.isSafeInteger(number) ? number : 0;
}
