import type { Transaction } from 'kysely';
import { createHmac, randomBytes } from 'node:crypto';
import { digestOf } from '../../lib/digest.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { TokenClaim } from '../streams.ts';

type MintRequest = {
  carrier: string;
  carrierCallId?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
  madeOf?: string | undefined;
};

/**
 * Used and expired tokens are remembered this long. A late claim then gets the true reason for its refusal, and a
 * repeated request cannot make the token valid again.
 */
const rememberedMs = 24 * 3_600_000;

const tokenBytes = 24;
/** Tokens are 24 bytes as base64url. Text of any other form was never issued, so the store is not asked. */
const tokenForm = /^[A-Za-z0-9_-]{32}$/;

/**
 * Stream tokens: each is bound to one carrier and, if known, one call; it can be used once and expires soon. Only a
 * digest is stored. All times come from the database, so that nodes with different clocks agree.
 */
export class StreamTokens {
  readonly #store: Store;
  readonly #lifeMs: number;
  readonly #key: Buffer;

  constructor({ store, lifeMs, key }: { store: Store; lifeMs: number; key: Buffer }) {
    this.#store = store;
    this.#lifeMs = lifeMs;
    this.#key = key;
  }

  async mint(request: MintRequest): Promise<{ token: string; expiresAt: number }> {
    const token = this.#bytesOf(request).toString('base64url');
    const digest = digestOf(token);
    const now = await this.#store.databaseNow();
    return this.#store.transaction(async (tx) => {
      await this.#forgetOld(tx, now);
      await tx
        .insertInto('stream_tokens')
        .values({
          digest,
          carrier: request.carrier,
          carrier_call_id: request.carrierCallId ?? null,
          metadata: JSON.stringify(request.metadata ?? {}),
          expires_at: now + this.#lifeMs,
          used_at: null,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const { expires_at: expiresAt } = await tx
        .selectFrom('stream_tokens')
        .select('expires_at')
        .where('digest', '=', digest)
        .executeTakeFirstOrThrow();
      return { token, expiresAt };
    });
  }

  /**
   * The key is known only to this installation. Somebody who knows the text that a token is derived from cannot compute
   * the token.
   */
  #bytesOf({ madeOf, carrier }: MintRequest): Buffer {
    if (madeOf === undefined) return randomBytes(tokenBytes);
    const text = JSON.stringify([carrier, madeOf]);
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, tokenBytes);
  }

  /**
   * The database update itself decides the winner, so only one of two simultaneous claims succeeds. A refused claim
   * does not use up the token.
   */
  async claim(token: string, carrier: string, carrierCallId?: string): Promise<TokenClaim> {
    if (!tokenForm.test(token)) return unknown;
    const digest = digestOf(token);
    // The token is looked up first. Strangers can send thousands of guesses, and these must not queue for the single
    // writer ahead of the rows of running calls.
    if (!(await this.#isKnown(digest))) return unknown;
    const now = await this.#store.databaseNow();
    return this.#store.transaction(async (tx) => {
      const row = await tx
        .selectFrom('stream_tokens')
        .selectAll()
        .where('digest', '=', digest)
        .executeTakeFirst();
      if (row === undefined) return unknown;
      // The claim moves the metadata to the call. If the metadata stayed with the token, it would remain after the call
      // is erased.
      let update = tx
        .updateTable('stream_tokens')
        .set({ used_at: now, metadata: '{}' })
        .where('digest', '=', digest)
        .where('carrier', '=', carrier)
        .where('used_at', 'is', null)
        .where('expires_at', '>', now);
      if (carrierCallId !== undefined)
        update = update.where((where) =>
          where.or([
            where('carrier_call_id', 'is', null),
            where('carrier_call_id', '=', carrierCallId),
          ]),
        );
      const { numUpdatedRows } = await update.executeTakeFirst();
      if (numUpdatedRows === 1n)
        return {
          outcome: 'accepted',
          ...(row.carrier_call_id === null ? {} : { carrierCallId: row.carrier_call_id }),
          metadata: JSON.parse(row.metadata) as Record<string, unknown>,
        };
      if (row.carrier !== carrier) return { outcome: 'refused', reason: 'other-carrier' };
      if (row.used_at !== null) return { outcome: 'refused', reason: 'used' };
      if (row.expires_at <= now) return { outcome: 'refused', reason: 'expired' };
      // Either the token is bound to another call, or a simultaneous claim was faster.
      return {
        outcome: 'refused',
        reason: carrierCallId === undefined || row.carrier_call_id === null ? 'used' : 'other-call',
      };
    });
  }

  /** Stores a carrier's nonce as a token that is already used. Every process then refuses the nonce the second time. */
  async claimNonce(scheme: string, nonce: string, untilMs: number): Promise<boolean> {
    const digest = digestOf(`nonce ${scheme} ${nonce}`);
    const now = await this.#store.databaseNow();
    return this.#store.transaction(async (tx) => {
      await this.#forgetOld(tx, now);
      await tx
        .deleteFrom('stream_tokens')
        .where('digest', '=', digest)
        .where('expires_at', '<=', now)
        .execute();
      const { numInsertedOrUpdatedRows } = await tx
        .insertInto('stream_tokens')
        .values({
          digest,
          carrier: scheme,
          carrier_call_id: null,
          metadata: '{}',
          expires_at: untilMs,
          used_at: now,
        })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      return numInsertedOrUpdatedRows === 1n;
    });
  }

  /** Deletes old tokens, and the metadata of expired ones. */
  async sweep(): Promise<void> {
    const now = await this.#store.databaseNow();
    await this.#store.transaction((tx) => this.#forgetOld(tx, now));
  }

  async #isKnown(digest: string): Promise<boolean> {
    const row = await this.#store.db
      .selectFrom('stream_tokens')
      .select('digest')
      .where('digest', '=', digest)
      .executeTakeFirst();
    return row !== undefined;
  }

  async #forgetOld(tx: Transaction<Database>, now: number): Promise<void> {
    await tx
      .deleteFrom('stream_tokens')
      .where('expires_at', '<', now - rememberedMs)
      .execute();
    await tx
      .updateTable('stream_tokens')
      .set({ metadata: '{}' })
      .where('expires_at', '<', now)
      .where('metadata', '<>', '{}')
      .execute();
  }
}

/** Marks the tokens of an erased call as used and keeps only their digests. None of them can become valid again. */
export async function eraseTokens(
  tx: Transaction<Database>,
  carrier: string,
  carrierCallId: string,
  now: number,
): Promise<void> {
  await tx
    .updateTable('stream_tokens')
    .set((eb) => ({
      metadata: '{}',
      carrier_call_id: null,
      used_at: eb.fn.coalesce('used_at', eb.val(now)),
    }))
    .where('carrier', '=', carrier)
    .where('carrier_call_id', '=', carrierCallId)
    .execute();
}

const unknown: TokenClaim = { outcome: 'refused', reason: 'unknown' };
