import { sql } from 'kysely';
import type { Store } from '../store/store.ts';

/** The sealed token of an endpoint, and when it ends. */
export type SealedToken = { sealed: string; expiresAt: number };

/** Tokens that were fetched, for all nodes: one of them refreshes at a time. */
export class TokenRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The token that was fetched with these settings; one of other settings is worth nothing. */
  async read(endpoint: string, settings: string): Promise<SealedToken | undefined> {
    const row = await this.#store.db
      .selectFrom('crm_tokens')
      .select(['sealed', 'expires_at'])
      .where('endpoint', '=', endpoint)
      .where('settings', '=', settings)
      .executeTakeFirst();
    if (row === undefined || row.sealed === null) return undefined;
    return { sealed: row.sealed, expiresAt: row.expires_at };
  }

  /** True when the caller alone may refresh until then. */
  async lock(endpoint: string, settings: string, nowMs: number, untilMs: number): Promise<boolean> {
    const { numAffectedRows } = await sql`
      insert into crm_tokens (endpoint, settings, sealed, expires_at, locked_until)
      values (${endpoint}, ${settings}, null, 0, ${untilMs})
      on conflict (endpoint) do update set
        locked_until = excluded.locked_until,
        sealed = case when crm_tokens.settings = excluded.settings then crm_tokens.sealed end,
        expires_at = case when crm_tokens.settings = excluded.settings then crm_tokens.expires_at else 0 end,
        settings = excluded.settings
      where crm_tokens.locked_until is null or crm_tokens.locked_until <= ${nowMs}`.execute(
      this.#store.db,
    );
    return numAffectedRows === 1n;
  }

  async write(endpoint: string, token: SealedToken): Promise<void> {
    await this.#store.db
      .updateTable('crm_tokens')
      .set({ sealed: token.sealed, expires_at: token.expiresAt, locked_until: null })
      .where('endpoint', '=', endpoint)
      .execute();
  }

  async unlock(endpoint: string): Promise<void> {
    await this.#store.db
      .updateTable('crm_tokens')
      .set({ locked_until: null })
      .where('endpoint', '=', endpoint)
      .execute();
  }

  /** One more request of this day; false when the day's budget is spent. */
  async take(endpoint: string, day: string, perDay: number): Promise<boolean> {
    const { rows } = await sql`
      insert into crm_usage (endpoint, day, requests) values (${endpoint}, ${day}, 1)
      on conflict (endpoint) do update set
        requests = case when crm_usage.day = excluded.day then crm_usage.requests + 1 else 1 end,
        day = excluded.day
      where crm_usage.day <> excluded.day or crm_usage.requests < ${perDay}
      returning requests`.execute(this.#store.db);
    return rows.length === 1;
  }
}
