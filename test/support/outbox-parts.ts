import type { Transaction } from 'kysely';
import type { Database } from '../../src/store/store.ts';

/** Until the outbox is in the test, its rows go as it would let them go. */
export async function eraseCallEvents(tx: Transaction<Database>, callId: string): Promise<void> {
  await tx.deleteFrom('events').where('call_id', '=', callId).execute();
}
