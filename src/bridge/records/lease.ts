import type { Transaction } from 'kysely';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';

/** A call belongs to one node at a time. Its fence number rises when another node takes it over. */
export type CallLease = { readonly node: string; readonly fence: number };

/** Thrown if another node has the call or the call is erased. Nothing of the call may be written here any more. */
export class LeaseLost extends Error {}

/**
 * Locks the call's row until the transaction ends. A node that takes the call over waits for it, and a node that has
 * lost the call finds no row. A SQLite file has only one process, so nobody can take a call.
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
