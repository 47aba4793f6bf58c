import type { Transaction } from 'kysely';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';

/** A call is of one node at a time, under a number that rises when another takes it over. */
export type CallLease = { readonly node: string; readonly fence: number };

/** Another node has the call, or it is erased: nothing of it is to be written here any more. */
export class LeaseLost extends Error {}

/**
 * Holds the call's row until the transaction ends: whoever takes the call over waits for it, and whoever has lost it
 * finds no row. One process alone has a SQLite file, and nobody who could take anything.
 */
export async function holdLease(
  store: Pick<Store, 'kind'>,
  tx: Transaction<Database>,
  callId: string,
  lease: CallLease,
): Promise<void> {
  if (store.kind === 'sqlite') return;
  const row = await tx
    .selectFrom('calls')
    .select('id')
    .where('id', '=', callId)
    .where('node', '=', lease.node)
    .where('fence', '=', lease.fence)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new LeaseLost('the call is with another node, or erased');
}
