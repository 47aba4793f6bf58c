import { sql, type RawBuilder } from 'kysely';
import type { Store } from '../store/store.ts';

/** The database's clock: the only one that decides leases and schedules. */
export class OutboxTime {
  readonly #store: Store;
  /** Runs before every reading of the clock. */
  beforeNow: () => Promise<void> = () => Promise.resolve();

  constructor(store: Store) {
    this.#store = store;
  }

  async now(): Promise<number> {
    await this.beforeNow();
    return this.#store.databaseNow();
  }

  /**
   * The clock as an expression inside a statement, which saves a query. It is rounded down, so it is never later than
   * the next claim's time.
   */
  async nowInSql(): Promise<RawBuilder<number>> {
    return this.#store.kind === 'postgres'
      ? sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`
      : sql<number>`cast(${await this.now()} as bigint)`;
  }
}
