import { createHash } from 'node:crypto';
import { callEventTypes } from '../protocol/events.ts';
import type { Store } from '../store/store.ts';
import type { Endpoint } from './config.ts';

/** Which endpoints are switched off, by name, and why. */
export type Disabled = Map<string, string>;

/**
 * The table of endpoints, as the transactions that enqueue see it. An address that changed is a new
 * promise of the operator: an endpoint switched off by a 410 is on again.
 */
export async function saveEndpoints(
  store: Store,
  endpoints: readonly Endpoint[],
): Promise<Disabled> {
  await store.transaction(async (tx) => {
    await tx.updateTable('endpoints').set({ active: 0 }).execute();
    for (const endpoint of endpoints) {
      const values = {
        types: `|${(endpoint.events ?? callEventTypes).join('|')}|`,
        active: 1,
        fingerprint: createHash('sha256').update(endpoint.url).digest('hex'),
      };
      const known = await tx
        .selectFrom('endpoints')
        .select('fingerprint')
        .where('name', '=', endpoint.name)
        .executeTakeFirst();
      const enabled = { disabled_at: null, disabled_reason: null };
      if (!known)
        await tx
          .insertInto('endpoints')
          .values({ name: endpoint.name, ...values, ...enabled })
          .execute();
      else
        await tx
          .updateTable('endpoints')
          .set(known.fingerprint === values.fingerprint ? values : { ...values, ...enabled })
          .where('name', '=', endpoint.name)
          .execute();
    }
  });
  return disabledEndpoints(store);
}

export async function disabledEndpoints(store: Store): Promise<Disabled> {
  const rows = await store.db
    .selectFrom('endpoints')
    .select(['name', 'disabled_reason'])
    .where('active', '=', 1)
    .where('disabled_at', 'is not', null)
    .execute();
  return new Map(rows.map((row) => [row.name, row.disabled_reason ?? '']));
}

export async function disableEndpoint(store: Store, name: string, reason: string): Promise<void> {
  await store.db
    .updateTable('endpoints')
    .set({ disabled_at: await store.databaseNow(), disabled_reason: reason })
    .where('name', '=', name)
    .execute();
}

/** From the head of each call, in order. */
export async function enableEndpoint(store: Store, name: string): Promise<boolean> {
  const { numUpdatedRows } = await store.db
    .updateTable('endpoints')
    .set({ disabled_at: null, disabled_reason: null })
    .where('name', '=', name)
    .where('active', '=', 1)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
