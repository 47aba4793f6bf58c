import { createHash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';

/** A status callback, kept with its call. The same callback twice is one row; order is the carrier's own (F15). */
export async function keepStatus(
  store: Store,
  clock: Clock,
  told: { carrier: string; carrierCallId: string; status: Record<string, string> },
): Promise<void> {
  const { carrier, carrierCallId, status } = told;
  const text = JSON.stringify(Object.fromEntries(Object.entries(status).sort()));
  const id = createHash('sha256').update(`${carrier}\n${carrierCallId}\n${text}`).digest('hex');
  await store.db
    .insertInto('call_statuses')
    .values({ id, carrier, carrier_call_id: carrierCallId, received_at: clock.now(), status: text })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
