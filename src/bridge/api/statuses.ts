import type { Clock } from '../../lib/clock.ts';
import { digestOf } from '../../lib/digest.ts';
import type { Store } from '../../store/store.ts';

/** Keeps a status callback with its call. Carriers repeat callbacks whose answer they missed: equal ones are one row. */
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

/** What an erased call is known by: neither the carrier's id nor anything else of the call can be read from it. */
export function digestOfCall(carrier: string, carrierCallId: string): string {
  return digestOf(`${carrier}\n${carrierCallId}`);
}

/** Callbacks come for minutes after a call, and again when an answer was lost: those of an erased call are dropped. */
async function isErased(store: Store, carrier: string, carrierCallId: string): Promise<boolean> {
  const erased = await store.db
    .selectFrom('erased_calls')
    .select('digest')
    .where('digest', '=', digestOfCall(carrier, carrierCallId))
    .executeTakeFirst();
  if (erased === undefined) return false;
  // The carrier's id may belong to a call that came later: its callbacks are kept.
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

/** Callbacks overtake each other on their way. They are shown in the order in which the carrier says that things happened. */
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
