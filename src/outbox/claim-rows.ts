import {
  sql,
  type ExpressionBuilder,
  type Kysely,
  type RawBuilder,
  type Transaction,
} from 'kysely';
import { newId } from '../lib/ids.ts';
import type { Database, DeliveryState } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { maxEventBytes } from './event-rows.ts';
import type { OutboxTime } from './outbox-time.ts';

/**
 * The queue of one call at one endpoint. It belongs to this process until the lease ends or another claim replaces
 * this one.
 */
export type Claim = {
  endpoint: string;
  callId: string;
  claimId: string;
  wakes: number;
  firstAttemptAt: number | null;
  /** On the database's clock. */
  claimedAt: number;
};

/** An event at the head of a claimed lane. */
export type QueuedEvent = {
  eventId: string;
  callId: string;
  sequence: number;
  type: string;
  attempts: number;
  history: string | null;
  progress: string | null;
  occurredAt: number;
  speechEndedAt: number | null;
  bytes: number;
  /** Empty when the event has more than `maxEventBytes`: such a body is not even read. */
  body: string;
};

/** The most bytes of event bodies read from one lane at once. The last event read may exceed it. */
export const maxHeadsBytes = 1_048_576;

/** The columns that are written about an attempt. */
export type AttemptRow = {
  at: number;
  endedAt: number;
  status: number | null;
  error: string | null;
  answer: string | null;
  history: string;
  /** Null if nothing was sent. */
  exchanges: string | null;
};

/**
 * Lanes that this process claims, and the results of their events. Every write depends on the claim's id: a process
 * that slept through its lease changes nothing when it wakes.
 */
export class ClaimRows {
  readonly #store: Store;
  readonly #time: OutboxTime;
  readonly #skipLocked;
  readonly #share;

  constructor(store: Store, time: OutboxTime) {
    this.#store = store;
    this.#time = time;
    // SQLite has a single writer, so no other process can lock the rows of a statement.
    this.#skipLocked = store.kind === 'postgres' ? sql`for update skip locked` : sql``;
    this.#share = store.kind === 'postgres' ? sql`for share` : sql``;
  }

  /** Claims up to `limit` lanes that are due. With `anyTime` it also claims lanes that still wait (for a probe). */
  async claim(
    endpoint: string,
    limit: number,
    leaseMs: number,
    anyTime: boolean,
  ): Promise<Claim[]> {
    const now = await this.#time.now();
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

  /** Extends the leases of these claims. Returns the lanes that are still held. */
  async renew(claims: readonly Claim[], leaseMs: number): Promise<Set<string>> {
    const now = await this.#time.now();
    const { rows } = await sql<{ endpoint: string; call_id: string; claim_id: string }>`
      with held (endpoint, call_id, claim_id) as (values ${namesOf(claims)})
      update lanes set claim_until = cast(${now + leaseMs} as bigint) from held where ${isHeld}
      returning lanes.endpoint, lanes.call_id, lanes.claim_id`.execute(this.#store.db);
    return new Set(rows.map((row) => `${row.claim_id} ${row.call_id} ${row.endpoint}`));
  }

  /**
   * The first events of the lane, lowest sequence first: up to `limit`, and up to `maxHeadsBytes` of bodies. `isAll`:
   * no further event waits in the lane.
   */
  async heads(claim: Claim, limit: number): Promise<{ items: QueuedEvent[]; isAll: boolean }> {
    const { rows } = await sql<Omit<QueuedEvent, 'body'> & { body: string | null }>`
      select event_id as "eventId", call_id as "callId", sequence, type, attempts, history, progress,
        occurred_at as "occurredAt", speech_ended_at as "speechEndedAt", bytes,
        case when bytes <= ${maxEventBytes} and total - bytes <= ${maxHeadsBytes} then body end as body
      from (
        select heads.*, sum(bytes) over (order by sequence) as total from (
          select deliveries.event_id, deliveries.call_id, deliveries.sequence, deliveries.type,
            deliveries.attempts, deliveries.history, deliveries.progress, events.occurred_at,
            events.speech_ended_at, events.body, octet_length(events.body) as bytes
          from deliveries join events on events.id = deliveries.event_id
          where deliveries.endpoint = ${claim.endpoint} and deliveries.call_id = ${claim.callId}
            and deliveries.state = 'waiting'
          order by deliveries.sequence limit ${limit}
        ) as heads
      ) as sized order by sequence`.execute(this.#store.db);
    const items: QueuedEvent[] = [];
    for (const row of rows) {
      if (row.body === null && row.bytes <= maxEventBytes) break; // the next read takes it
      items.push({ ...row, body: row.body ?? '' });
    }
    return { items, isAll: rows.length < limit && items.length === rows.length };
  }

  /**
   * Returns the lane's current count of wake-ups. Read it before `heads`: if events are added later, giving the lane
   * back then notices them.
   */
  async wakes(claim: Claim): Promise<number> {
    const row = await this.#store.db
      .selectFrom('lanes')
      .select('wakes')
      .where('endpoint', '=', claim.endpoint)
      .where('call_id', '=', claim.callId)
      .executeTakeFirst();
    return row?.wakes ?? 0;
  }

  /** Returns false if the claim was lost meanwhile. Then nothing was written. */
  async delivered(claim: Claim, item: QueuedEvent, attempt: AttemptRow): Promise<boolean> {
    const state: DeliveryState = item.type === 'call.skipped' ? 'skipped' : 'delivered';
    const mark = (db: Kysely<Database> | Transaction<Database>) =>
      sql`
      update deliveries set state = ${state}, attempts = attempts + 1, settled_at = ${attempt.endedAt},
        first_attempt_at = coalesce(first_attempt_at, ${attempt.at}), last_attempt_at = ${attempt.at},
        last_status = ${attempt.status}, last_error = null, last_answer = ${attempt.answer},
        history = ${attempt.history}, exchanges = ${attempt.exchanges}, progress = null
      where event_id = ${item.eventId} and endpoint = ${claim.endpoint} and exists (
        select 1 from lanes where endpoint = ${claim.endpoint} and call_id = ${claim.callId}
          and claim_id = ${claim.claimId} ${this.#share})`.execute(db);
    // A lane without earlier failures needs no change, so one statement is the whole commit.
    if (claim.firstAttemptAt === null) return (await mark(this.#store.db)).numAffectedRows === 1n;
    return this.#store.transaction(async (tx) => {
      const held = await updateLane(tx, claim, sql`first_attempt_at = null, held_by_endpoint = 0`);
      if (held) await mark(tx);
      return held;
    });
  }

  /** Stores the failure and gives the lane back until its next attempt. */
  async retryAt(
    claim: Claim,
    item: QueuedEvent,
    attempt: AttemptRow,
    next: { at: number; byEndpoint: boolean; progress: string | null },
  ): Promise<boolean> {
    return this.#store.transaction(async (tx) => {
      const held = await updateLane(
        tx,
        claim,
        sql`claim_id = null, claim_until = null, next_attempt_at = cast(${next.at} as bigint),
          first_attempt_at = coalesce(first_attempt_at, cast(${attempt.at} as bigint)),
          held_by_endpoint = cast(${next.byEndpoint ? 1 : 0} as integer)`,
      );
      if (held) await noteFailure(tx, claim, item, attempt, next.progress);
      return held;
    });
  }

  /** Parks the first event and everything after it until the operator acts. Returns false if the claim was lost. */
  async park(
    claim: Claim,
    item: QueuedEvent,
    attempt: AttemptRow,
    reason: string,
  ): Promise<boolean> {
    const now = await this.#time.now();
    return this.#store.transaction(async (tx) => {
      const parked = await parkLanes(tx, now, reason, (eb) =>
        eb.and([
          eb('endpoint', '=', claim.endpoint),
          eb('call_id', '=', claim.callId),
          eb('claim_id', '=', claim.claimId),
        ]),
      );
      if (parked.length === 0) return false;
      await noteFailure(tx, claim, item, attempt, item.progress);
      return true;
    });
  }

  /**
   * Parks calls whose first failed attempt was before `failingSince` and that nobody is delivering. Parks at most
   * `limit`; returns the endpoint of each.
   */
  async parkOverdue(failingSince: number, reason: string, limit: number): Promise<string[]> {
    const now = await this.#time.now();
    return this.#store.transaction(async (tx) => {
      const due = await tx
        .selectFrom('lanes')
        .select(['endpoint', 'call_id'])
        .where('first_attempt_at', '<', failingSince)
        .where('next_attempt_at', 'is not', null)
        .where('claim_id', 'is', null)
        .limit(limit)
        .execute();
      const parked: string[] = [];
      for (const lane of due) {
        // The update tests the condition again, because another node may have claimed the lane in between.
        const rows = await parkLanes(tx, now, reason, (eb) =>
          eb.and([
            eb('endpoint', '=', lane.endpoint),
            eb('call_id', '=', lane.call_id),
            eb('next_attempt_at', 'is not', null),
            eb('claim_id', 'is', null),
          ]),
        );
        parked.push(...rows.map((row) => row.endpoint));
      }
      return parked;
    });
  }

  /** Replaces the first event by a marker with the same sequence number. The marker is sent like any event. */
  async skip(
    claim: Claim,
    item: QueuedEvent,
    attempt: AttemptRow,
    marker: string,
  ): Promise<boolean> {
    const now = await this.#time.now();
    return this.#store.transaction(async (tx) => {
      const held = await updateLane(
        tx,
        claim,
        sql`claim_id = null, claim_until = null, next_attempt_at = cast(${now} as bigint),
          first_attempt_at = null, held_by_endpoint = 0`,
      );
      if (!held) return false;
      await noteFailure(tx, claim, item, attempt, marker);
      await tx
        .updateTable('deliveries')
        .set({ type: 'call.skipped' })
        .where('event_id', '=', item.eventId)
        .where('endpoint', '=', claim.endpoint)
        .execute();
      return true;
    });
  }

  /** Gives the lane back. Returns true if events were added meanwhile, or if `more` says that some are left. */
  async release(claim: Claim, more: boolean): Promise<boolean> {
    // The lane is due now by the database's clock, behind all lanes that already wait.
    const due = await this.#time.nowInSql();
    const row = await this.#store.db
      .updateTable('lanes')
      .set({
        claim_id: null,
        claim_until: null,
        next_attempt_at: more
          ? due
          : sql<number | null>`case when wakes > ${claim.wakes} then ${due} end`,
      })
      .where('endpoint', '=', claim.endpoint)
      .where('call_id', '=', claim.callId)
      .where('claim_id', '=', claim.claimId)
      .returning('next_attempt_at')
      .executeTakeFirst();
    return row !== undefined && row.next_attempt_at !== null;
  }

  /** The process stops. Lanes that these claims still hold become free. */
  async giveBack(claims: readonly Claim[]): Promise<void> {
    await sql`
      with held (endpoint, call_id, claim_id) as (values ${namesOf(claims)})
      update lanes set claim_id = null, claim_until = null from held where ${isHeld}`.execute(
      this.#store.db,
    );
  }

  /** The endpoint answers again. The lanes that waited for it are due now. */
  async wakeHeld(endpoint: string): Promise<void> {
    const now = await this.#time.now();
    await this.#store.db
      .updateTable('lanes')
      .set({ next_attempt_at: now })
      .where('endpoint', '=', endpoint)
      .where('held_by_endpoint', '=', 1)
      .where('next_attempt_at', '>', now)
      .execute();
  }
}

/**
 * The lane is found by its key: the id of a claim has no index, because each turn of a lane would have to write that
 * index.
 */
const isHeld = sql`lanes.endpoint = held.endpoint and lanes.call_id = held.call_id and lanes.claim_id = held.claim_id`;

function namesOf(claims: readonly Claim[]): RawBuilder<unknown> {
  return sql.join(
    claims.map(
      ({ endpoint, callId, claimId }) =>
        sql`(cast(${endpoint} as text), cast(${callId} as text), cast(${claimId} as text))`,
    ),
  );
}

/** Returns true if the lane was still held by this claim, and was changed. */
async function updateLane(
  tx: Transaction<Database>,
  claim: Claim,
  set: RawBuilder<unknown>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update lanes set ${set} where endpoint = ${claim.endpoint} and call_id = ${claim.callId}
      and claim_id = ${claim.claimId}`.execute(tx);
  return numAffectedRows === 1n;
}

/** The only function that parks calls. Their lanes have no next attempt, and their deliveries wait for an operator. */
async function parkLanes(
  tx: Transaction<Database>,
  nowMs: number,
  reason: string,
  which: (
    eb: ExpressionBuilder<Database, 'lanes'>,
  ) => ReturnType<ExpressionBuilder<Database, 'lanes'>['and']>,
): Promise<{ endpoint: string; call_id: string }[]> {
  const lanes = await tx
    .updateTable('lanes')
    .set({
      claim_id: null,
      claim_until: null,
      next_attempt_at: null,
      first_attempt_at: null,
      held_by_endpoint: 0,
      parked_at: nowMs,
      parked_reason: reason,
    })
    .where(which)
    .returning(['endpoint', 'call_id'])
    .execute();
  for (const lane of lanes)
    await tx
      .updateTable('deliveries')
      .set({ state: 'parked' })
      .where('endpoint', '=', lane.endpoint)
      .where('call_id', '=', lane.call_id)
      .where('state', '=', 'waiting')
      .execute();
  return lanes;
}

async function noteFailure(
  tx: Transaction<Database>,
  claim: Claim,
  item: QueuedEvent,
  attempt: AttemptRow,
  progress: string | null,
): Promise<void> {
  await sql`
    update deliveries set attempts = attempts + 1,
      first_attempt_at = coalesce(first_attempt_at, cast(${attempt.at} as bigint)),
      last_attempt_at = ${attempt.at}, last_status = ${attempt.status}, last_error = ${attempt.error},
      last_answer = ${attempt.answer}, history = ${attempt.history},
      exchanges = ${attempt.exchanges}, progress = ${progress}
    where event_id = ${item.eventId} and endpoint = ${claim.endpoint}`.execute(tx);
}
