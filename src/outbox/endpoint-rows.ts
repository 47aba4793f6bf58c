import { sql, type Transaction } from 'kysely';
import { digestOf } from '../lib/digest.ts';
import type { Database } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { typesOf, type Endpoint } from './config.ts';
import type { OutboxTime } from './outbox-time.ts';

/** The endpoints that are switched off, by name, with the reason. */
export type DisabledEndpoints = Map<string, string>;

/** The configured webhooks, as transactions see them that enqueue events. */
export class EndpointRows {
  readonly #store: Store;
  readonly #time: OutboxTime;

  constructor(store: Store, time: OutboxTime) {
    this.#store = store;
    this.#time = time;
  }

  /**
   * Stores the configured endpoints; others become inactive. If an endpoint's address changed, the operator vouches
   * for it anew: an endpoint that was disabled by a 410 is enabled again.
   */
  async saveEndpoints(endpoints: readonly Endpoint[]): Promise<DisabledEndpoints> {
    // Sorted by name, one statement each: nodes that start at once lock these rows in the same order.
    const sorted = [...endpoints].sort((a, b) => (a.name < b.name ? -1 : 1));
    await this.#store.transaction(async (tx) => {
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
    return this.disabledEndpoints();
  }

  /** Stores one endpoint that was connected while the process ran. The others stay as they are. */
  async addEndpoint(endpoint: Endpoint): Promise<void> {
    await this.#store.transaction((tx) => saveEndpoint(tx, endpoint));
  }

  /** Removes an endpoint: no new event is stored for it. Events that wait for it stay until their retention is over. */
  async removeEndpoint(name: string): Promise<void> {
    await this.#store.db
      .updateTable('endpoints')
      .set({ active: 0 })
      .where('name', '=', name)
      .execute();
  }

  async activeEndpoints(): Promise<
    { name: string; disabledAt: number | null; reason: string | null }[]
  > {
    return this.#store.db
      .selectFrom('endpoints')
      .select(['name', 'disabled_at as disabledAt', 'disabled_reason as reason'])
      .where('active', '=', 1)
      .orderBy('name')
      .execute();
  }

  async disabledEndpoints(): Promise<DisabledEndpoints> {
    const active = await this.activeEndpoints();
    return new Map(
      active.filter((one) => one.disabledAt !== null).map((one) => [one.name, one.reason ?? '']),
    );
  }

  async disableEndpoint(name: string, reason: string): Promise<void> {
    await this.#store.db
      .updateTable('endpoints')
      .set({ disabled_at: await this.#time.now(), disabled_reason: reason })
      .where('name', '=', name)
      .execute();
  }

  /**
   * Enables an endpoint. Its calls continue from the first event of each, in order. Returns false if it is not
   * configured.
   */
  async enableEndpoint(name: string): Promise<boolean> {
    const { numUpdatedRows } = await this.#store.db
      .updateTable('endpoints')
      .set({ disabled_at: null, disabled_reason: null })
      .where('name', '=', name)
      .where('active', '=', 1)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }
}

async function saveEndpoint(tx: Transaction<Database>, endpoint: Endpoint): Promise<void> {
  const unlessMoved = (column: 'disabled_at' | 'disabled_reason') =>
    sql`case when endpoints.fingerprint = excluded.fingerprint then ${sql.ref(`endpoints.${column}`)} end`;
  await tx
    .insertInto('endpoints')
    .values({
      name: endpoint.name,
      types: `|${typesOf(endpoint).join('|')}|`,
      active: 1,
      fingerprint: digestOf(endpoint.url),
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
