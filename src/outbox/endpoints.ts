import { createHash } from 'node:crypto';
import { sql, type Transaction } from 'kysely';
import { callEventTypes } from '../protocol/events.ts';
import type { Database } from '../store/schema.ts';
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
  // In the order of their names, and with one statement each: nodes that start at once meet on these rows.
  const sorted = [...endpoints].sort((a, b) => (a.name < b.name ? -1 : 1));
  await store.transaction(async (tx) => {
    for (const endpoint of sorted) await saveEndpoint(tx, endpoint);
    let others = tx.updateTable('endpoints').set({ active: 0 }).where('active', '=', 1);
    if (sorted.length > 0)
      others = others.where(
        'name',
        'not in',
        sorted.map((endpoint) => endpoint.name),
      );
    await others.execute();
  });
  return disabledEndpoints(store);
}

async function saveEndpoint(tx: Transaction<Database>, endpoint: Endpoint): Promise<void> {
  const unlessMoved = (column: 'disabled_at' | 'disabled_reason') =>
    sql`case when endpoints.fingerprint = excluded.fingerprint then ${sql.ref(`endpoints.${column}`)} end`;
  await tx
    .insertInto('endpoints')
    .values({
      name: endpoint.name,
      types: `|${(endpoint.events ?? callEventTypes).join('|')}|`,
      active: 1,
      fingerprint: createHash('sha256').update(endpoint.url).digest('hex'),
      disabled_at: null,
      disabled_reason: null,
    })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((eb) => ({
        types: eb.ref('excluded.types'),
        active: eb.ref('excluded.active'),
        fingerprint: eb.ref('excluded.fingerprint'),
        disabled_at: unlessMoved('disabled_at').$castTo<number | null>(),
        disabled_reason: unlessMoved('disabled_reason').$castTo<string | null>(),
      })),
    )
    .execute();
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
