import { sql, type Kysely, type Transaction } from 'kysely';
import { newId } from '../lib/ids.ts';
import type { Database } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** One call's queue at one endpoint, ours until the lease ends or somebody else's claim replaces this one. */
export type Claim = {
  endpoint: string;
  callId: string;
  claimId: string;
  wakes: number;
  firstAttemptAt: number | null;
  /** On the database's clock. */
  claimedAt: number;
};

export type Item = {
  eventId: string;
  callId: string;
  sequence: number;
  type: string;
  attempts: number;
  history: string | null;
  progress: string | null;
  occurredAt: number;
  body: string;
};

/** What is written about an attempt. */
export type AttemptRow = {
  at: number;
  endedAt: number;
  status: number | null;
  error: string | null;
  answer: string | null;
  history: string;
};

type Db = Kysely<Database> | Transaction<Database>;

/**
 * The outbox's tables. Every write about a claimed lane is conditional on the claim's id, so that a
 * process that slept through its lease changes nothing when it wakes.
 */
export class Lanes {
  readonly #store: Store;
  readonly #skipLocked;
  readonly #share;

  constructor(store: Store) {
    this.#store = store;
    // SQLite has one writer, so nobody can hold what a statement looks at.
    this.#skipLocked = store.kind === 'postgres' ? sql`for update skip locked` : sql``;
    this.#share = store.kind === 'postgres' ? sql`for share` : sql``;
  }

  /** Takes up to `limit` lanes that are due; with `anyTime` also ones that wait (for a probe). */
  async claim(
    endpoint: string,
    limit: number,
    leaseMs: number,
    anyTime: boolean,
  ): Promise<Claim[]> {
    const now = await this.#store.databaseNow();
    const claimId = newId('claim');
    const due = anyTime ? sql`next_attempt_at is not null` : sql`next_attempt_at <= ${now}`;
    const { rows } = await sql<{ call_id: string; wakes: number; first_attempt_at: number | null }>`
      with due as materialized (
        select endpoint, call_id from lanes
        where endpoint = ${endpoint} and ${due} and (claim_until is null or claim_until <= ${now})
        order by next_attempt_at limit ${limit} ${this.#skipLocked}
      )
      update lanes set claim_id = ${claimId}, claim_until = ${now + leaseMs}
      from due where lanes.endpoint = due.endpoint and lanes.call_id = due.call_id
      returning lanes.call_id, lanes.wakes, lanes.first_attempt_at`.execute(this.#store.db);
    return rows.map((row) => ({
      endpoint,
      callId: row.call_id,
      claimId,
      wakes: row.wakes,
      firstAttemptAt: row.first_attempt_at,
      claimedAt: now,
    }));
  }

  /** Longer leases for the claims of these ids; answers the lanes that are still held. */
  async renew(claimIds: readonly string[], leaseMs: number): Promise<Set<string>> {
    const now = await this.#store.databaseNow();
    const rows = await this.#store.db
      .updateTable('lanes')
      .set({ claim_until: now + leaseMs })
      .where('claim_id', 'in', [...claimIds])
      .returning(['endpoint', 'call_id', 'claim_id'])
      .execute();
    return new Set(rows.map((row) => `${row.claim_id} ${row.call_id} ${row.endpoint}`));
  }

  /** The events at the head of the lane, lowest sequence first. */
  async heads(claim: Claim, limit: number): Promise<Item[]> {
    const rows = await this.#store.db
      .selectFrom('deliveries')
      .innerJoin('events', 'events.id', 'deliveries.event_id')
      .select([
        'deliveries.event_id as eventId',
        'deliveries.call_id as callId',
        'deliveries.sequence',
        'deliveries.type',
        'deliveries.attempts',
        'deliveries.history',
        'deliveries.progress',
        'events.occurred_at as occurredAt',
        'events.body',
      ])
      .where('deliveries.endpoint', '=', claim.endpoint)
      .where('deliveries.call_id', '=', claim.callId)
      .where('deliveries.state', '=', 'waiting')
      .orderBy('deliveries.sequence')
      .limit(limit)
      .execute();
    return rows;
  }

  /** The wake count as of now: read before `heads`, so that giving back sees what came in between. */
  async wakes(claim: Claim): Promise<number> {
    const row = await this.#store.db
      .selectFrom('lanes')
      .select('wakes')
      .where('endpoint', '=', claim.endpoint)
      .where('call_id', '=', claim.callId)
      .executeTakeFirst();
    return row?.wakes ?? 0;
  }

  /** False when the claim was lost meanwhile: then nothing was written. */
  async delivered(claim: Claim, item: Item, attempt: AttemptRow): Promise<boolean> {
    const state = item.type === 'call.skipped' ? 'skipped' : 'delivered';
    const mark = (db: Db) =>
      sql`
      update deliveries set state = ${state}, attempts = attempts + 1, settled_at = ${attempt.endedAt},
        first_attempt_at = coalesce(first_attempt_at, ${attempt.at}), last_attempt_at = ${attempt.at},
        last_status = ${attempt.status}, last_error = null, last_answer = ${attempt.answer},
        history = ${attempt.history}, progress = null
      where event_id = ${item.eventId} and endpoint = ${claim.endpoint} and exists (
        select 1 from lanes where endpoint = ${claim.endpoint} and call_id = ${claim.callId}
          and claim_id = ${claim.claimId} ${this.#share})`.execute(db);
    // A lane without earlier failures needs no change: one statement is the whole commit.
    if (claim.firstAttemptAt === null) return (await mark(this.#store.db)).numAffectedRows === 1n;
    return this.#store.transaction(async (tx) => {
      const held = await this.#update(
        tx,
        claim,
        sql`first_attempt_at = null, held_by_endpoint = 0`,
      );
      if (held) await mark(tx);
      return held;
    });
  }

  async retryAt(
    claim: Claim,
    item: Item,
    attempt: AttemptRow,
    next: { at: number; byEndpoint: boolean; progress: string | null },
  ): Promise<boolean> {
    return this.#store.transaction(async (tx) => {
      const held = await this.#update(
        tx,
        claim,
        sql`claim_id = null, claim_until = null, next_attempt_at = cast(${next.at} as bigint),
          first_attempt_at = coalesce(first_attempt_at, cast(${attempt.at} as bigint)),
          held_by_endpoint = cast(${next.byEndpoint ? 1 : 0} as integer)`,
      );
      if (held) await this.#noteFailure(tx, claim, item, attempt, next.progress);
      return held;
    });
  }

  /** The head and everything after it wait for the operator. */
  async park(claim: Claim, item: Item, attempt: AttemptRow, reason: string): Promise<boolean> {
    const now = await this.#store.databaseNow();
    return this.#store.transaction(async (tx) => {
      const held = await this.#update(
        tx,
        claim,
        sql`claim_id = null, claim_until = null, next_attempt_at = null, first_attempt_at = null,
          held_by_endpoint = 0, parked_at = cast(${now} as bigint), parked_reason = ${reason}`,
      );
      if (!held) return false;
      await this.#noteFailure(tx, claim, item, attempt, item.progress);
      await tx
        .updateTable('deliveries')
        .set({ state: 'parked' })
        .where('endpoint', '=', claim.endpoint)
        .where('call_id', '=', claim.callId)
        .where('state', '=', 'waiting')
        .execute();
      return true;
    });
  }

  /** The head gives way to a marker with its sequence number, which is tried like any event. */
  async skip(claim: Claim, item: Item, attempt: AttemptRow, marker: string): Promise<boolean> {
    const now = await this.#store.databaseNow();
    return this.#store.transaction(async (tx) => {
      const held = await this.#update(
        tx,
        claim,
        sql`claim_id = null, claim_until = null, next_attempt_at = cast(${now} as bigint),
          first_attempt_at = null, held_by_endpoint = 0`,
      );
      if (!held) return false;
      await this.#noteFailure(tx, claim, item, attempt, marker);
      await tx
        .updateTable('deliveries')
        .set({ type: 'call.skipped' })
        .where('event_id', '=', item.eventId)
        .where('endpoint', '=', claim.endpoint)
        .execute();
      return true;
    });
  }

  /** Gives the lane back. True when more came meanwhile, or `more` says that some was left. */
  async release(claim: Claim, more: boolean): Promise<boolean> {
    // Due since it was claimed: behind whoever has waited for longer, and before the clock of any node.
    const due = claim.claimedAt;
    const row = await this.#store.db
      .updateTable('lanes')
      .set({
        claim_id: null,
        claim_until: null,
        next_attempt_at: more
          ? due
          : sql<number | null>`case when wakes > ${claim.wakes} then cast(${due} as bigint) end`,
      })
      .where('endpoint', '=', claim.endpoint)
      .where('call_id', '=', claim.callId)
      .where('claim_id', '=', claim.claimId)
      .returning('next_attempt_at')
      .executeTakeFirst();
    return row !== undefined && row.next_attempt_at !== null;
  }

  /** At the end of this process's work: what it still holds is anybody's. */
  async giveBack(claimIds: readonly string[]): Promise<void> {
    await this.#store.db
      .updateTable('lanes')
      .set({ claim_id: null, claim_until: null })
      .where('claim_id', 'in', [...claimIds])
      .execute();
  }

  /** The endpoint answers again: what waited because of it is due. */
  async wakeHeld(endpoint: string): Promise<void> {
    const now = await this.#store.databaseNow();
    await this.#store.db
      .updateTable('lanes')
      .set({ next_attempt_at: now })
      .where('endpoint', '=', endpoint)
      .where('held_by_endpoint', '=', 1)
      .where('next_attempt_at', '>', now)
      .execute();
  }

  async #update(
    tx: Transaction<Database>,
    claim: Claim,
    set: ReturnType<typeof sql>,
  ): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update lanes set ${set} where endpoint = ${claim.endpoint} and call_id = ${claim.callId}
        and claim_id = ${claim.claimId}`.execute(tx);
    return numAffectedRows === 1n;
  }

  async #noteFailure(
    tx: Transaction<Database>,
    claim: Claim,
    item: Item,
    attempt: AttemptRow,
    progress: string | null,
  ): Promise<void> {
    await sql`
      update deliveries set attempts = attempts + 1,
        first_attempt_at = coalesce(first_attempt_at, cast(${attempt.at} as bigint)),
        last_attempt_at = ${attempt.at}, last_status = ${attempt.status}, last_error = ${attempt.error},
        last_answer = ${attempt.answer}, history = ${attempt.history}, progress = ${progress}
      where event_id = ${item.eventId} and endpoint = ${claim.endpoint}`.execute(tx);
  }
}
