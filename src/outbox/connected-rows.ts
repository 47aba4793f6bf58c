import { newId } from '../lib/ids.ts';
import type { Store } from '../store/store.ts';
import type { OutboxTime } from './outbox-time.ts';

/** An endpoint that was connected while the process ran, as it is stored. */
export type ConnectedRow = {
  name: string;
  preset: string | null;
  host: string;
  sealed: string;
  version: string;
  changedAt: number;
};

/** The endpoints that were connected while a process ran. All nodes of the database deliver to them. */
export class ConnectedRows {
  readonly #store: Store;
  readonly #time: OutboxTime;

  constructor(store: Store, time: OutboxTime) {
    this.#store = store;
    this.#time = time;
  }

  async list(): Promise<ConnectedRow[]> {
    return this.#store.db
      .selectFrom('connected_endpoints')
      .select(['name', 'preset', 'host', 'sealed', 'version', 'changed_at as changedAt'])
      .orderBy('name')
      .execute();
  }

  /** Stores it, or another one in place of one with the same name. Returns its version. */
  async put(row: Pick<ConnectedRow, 'name' | 'preset' | 'host' | 'sealed'>): Promise<string> {
    const changed = { version: newId('version'), changed_at: await this.#time.now() };
    await this.#store.db
      .insertInto('connected_endpoints')
      .values({ ...row, ...changed })
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet((eb) => ({
          preset: eb.ref('excluded.preset'),
          host: eb.ref('excluded.host'),
          sealed: eb.ref('excluded.sealed'),
          version: eb.ref('excluded.version'),
          changed_at: eb.ref('excluded.changed_at'),
        })),
      )
      .execute();
    return changed.version;
  }

  /** False if there was none. */
  async remove(name: string): Promise<boolean> {
    const { numDeletedRows } = await this.#store.db
      .deleteFrom('connected_endpoints')
      .where('name', '=', name)
      .executeTakeFirstOrThrow();
    return numDeletedRows > 0n;
  }
}
