import { randomBytes } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { digestOf } from '../../lib/digest.ts';
import { newId } from '../../lib/ids.ts';
import type { PanelScope } from '../../protocol/panel.ts';
import type { PanelTokensTable } from '../../store/panel-tables.ts';
import type { Store } from '../../store/store.ts';
import type { PanelGrant } from './panel-grant.ts';
import { isSignedForm, readSigned } from './signed-token.ts';

type PanelTokensOptions = {
  store: Store;
  clock: Clock;
  /** The secret with which desktops sign tokens themselves. Undefined: none are accepted. */
  secret: string | undefined;
};

export type PanelTokenRow = Selectable<PanelTokensTable>;

type MintOrder = {
  scope: PanelScope;
  agent?: string | undefined;
  callId?: string | undefined;
  teams?: readonly string[] | undefined;
  label?: string | undefined;
  lifeS: number;
};

const tokenBytes = 32;
/** Text of any other form was never issued, so the store is not asked. */
const tokenForm = /^tlp_[A-Za-z0-9_-]{43}$/;
/** The list shows a token that is over for this long. */
const listedAfterMs = 7 * 24 * 3_600_000;
const maxListed = 1_000;

/** Tokens of the panel: those that were minted here, of which a digest is kept, and those that a desktop signed. */
export class PanelTokens {
  readonly #options: PanelTokensOptions;

  constructor(options: PanelTokensOptions) {
    this.#options = options;
  }

  /** True for text that has the form of a token, so that other text is no business of ours. */
  hasForm(token: string): boolean {
    return tokenForm.test(token) || (this.#options.secret !== undefined && isSignedForm(token));
  }

  async mint(order: MintOrder): Promise<{ id: string; token: string; expiresAt: number }> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const token = `tlp_${randomBytes(tokenBytes).toString('base64url')}`;
    const id = newId('pan', now);
    const expiresAt = now + order.lifeS * 1_000;
    await store.transaction(async (tx) => {
      await tx
        .deleteFrom('panel_tokens')
        .where('expires_at', '<', now - listedAfterMs)
        .execute();
      await tx
        .insertInto('panel_tokens')
        .values({
          id,
          digest: digestOf(token),
          scope: order.scope,
          agent: order.agent ?? null,
          call_id: order.callId ?? null,
          teams: order.teams === undefined ? null : JSON.stringify(order.teams),
          label: order.label ?? null,
          created_at: now,
          expires_at: expiresAt,
          revoked_at: null,
        })
        .execute();
    });
    return { id, token, expiresAt };
  }

  list(): Promise<PanelTokenRow[]> {
    return this.#options.store.db
      .selectFrom('panel_tokens')
      .selectAll()
      .orderBy('id', 'desc')
      .limit(maxListed)
      .execute();
  }

  /** Makes a token useless. Returns false if there is none with this id. */
  async revoke(id: string): Promise<boolean> {
    const row = await this.#options.store.db
      .updateTable('panel_tokens')
      .set((eb) => ({
        revoked_at: eb.fn.coalesce('revoked_at', eb.val(this.#options.clock.now())),
      }))
      .where('id', '=', id)
      .returning('id')
      .executeTakeFirst();
    return row !== undefined;
  }

  /** The grant of a token, or undefined if it opens nothing now. */
  async grantOf(token: string): Promise<PanelGrant | undefined> {
    const { store, clock, secret } = this.#options;
    if (!tokenForm.test(token))
      return secret === undefined ? undefined : readSigned(token, secret, clock.now());
    const row = await store.db
      .selectFrom('panel_tokens')
      .selectAll()
      .where('digest', '=', digestOf(token))
      .executeTakeFirst();
    if (row === undefined || row.revoked_at !== null || row.expires_at <= clock.now())
      return undefined;
    return {
      scope: row.scope,
      agent: row.agent ?? undefined,
      callId: row.call_id ?? undefined,
      ...(row.teams === null ? {} : { teams: JSON.parse(row.teams) as string[] }),
      expiresAt: row.expires_at,
      id: row.id,
    };
  }

  /** Those of the given tokens that were revoked. */
  async revokedOf(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.#options.store.db
      .selectFrom('panel_tokens')
      .select('id')
      .where('id', 'in', ids)
      .where('revoked_at', 'is', null)
      .execute();
    const good = new Set(rows.map(({ id }) => id));
    return new Set(ids.filter((id) => !good.has(id)));
  }
}
