import {
  PostgresAdapter,
  sql,
  type ExpressionBuilder,
  type Kysely,
  type RawBuilder,
  type Transaction,
} from 'kysely';
import { digestOf } from '../lib/digest.ts';
import { firstId, newId } from '../lib/ids.ts';
import type { CallEventType } from '../protocol/events.ts';
import type { Database, DeliveryState, EventsTable } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { typesOf, type Endpoint } from './config.ts';

/*
 * All SQL of the outbox. Its five tables:
 *
 *   event_calls   one row per call: the number of its last event; stays for ever, so that no number is given twice
 *   events        the envelopes, exactly as they are sent
 *   endpoints     the configured webhooks, as a transaction that enqueues sees them
 *   deliveries    one row per event and endpoint: waiting, delivered, parked or skipped
 *   lanes         one row per call and endpoint: the lock of its deliveries, their next attempt, their claim
 *
 * Nobody else writes to these tables, and nobody else removes rows from them.
 */

/** Which endpoints are switched off, by name, and why. */
export type DisabledEndpoints = Map<string, string>;

/** One call's queue at one endpoint: ours until the lease ends or another claim replaces this one. */
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

/** An event of more bytes is not delivered: no receiver takes it, and many of them at once would fill the memory. */
export const maxEventBytes = 1_048_576;
/** Bodies read of one lane at once; one more event may come on top. */
export const maxHeadsBytes = 1_048_576;

/** A place among the events in the order of their time. */
export type EventPlace = { occurredAt: number; id: string };
/** Before the first event. */
export const firstPlace: EventPlace = { occurredAt: -1, id: '' };

/** The work of one step of the purge. */
export type PurgeStep = { looked: number; removed: number; stayed: number; place: EventPlace };

/** A node that was cut off stores what happened meanwhile so much later at most, as far as a notice of it goes. */
const lateByMs = 3_600_000;
/** Undelivered events that the look for their calls reads at most. */
const maxUndeliveredLooked = 20_000;

/** The columns that are written about an attempt. */
export type AttemptRow = {
  at: number;
  endedAt: number;
  status: number | null;
  error: string | null;
  answer: string | null;
  history: string;
  /** Null where nothing was sent. */
  exchanges: string | null;
};

const undelivered = ['waiting', 'parked'] as const satisfies readonly DeliveryState[];

/** A lane as the key of a map. */
export function laneName(endpoint: string, callId: string): string {
  return `${endpoint} ${callId}`;
}

/** Which deliveries an operator asks for. */
type DeliveryFilter = {
  state?: DeliveryState | undefined;
  callId?: string | undefined;
  endpoint?: string | undefined;
  /** Only the event of each call that the others wait for. */
  heads?: boolean | undefined;
  /** The last delivery of the page before. */
  after?: { eventId: string; endpoint: string } | undefined;
};

type LaneCounts = {
  endpoint: string;
  parked: number;
  waiting: number;
  /** When the oldest event happened that waits; null when none does. */
  oldestAt: number | null;
};

/** The columns of a delivery, its event and its lane that every query for operators reads. */
const deliveryColumns = [
  'deliveries.endpoint', 'deliveries.event_id', 'deliveries.call_id', 'deliveries.sequence',
  'deliveries.type', 'deliveries.state', 'deliveries.attempts', 'deliveries.last_attempt_at',
  'deliveries.settled_at', 'deliveries.last_status', 'deliveries.last_error', 'deliveries.last_answer',
  'deliveries.history', 'events.occurred_at', 'lanes.next_attempt_at', 'lanes.parked_reason',
] as const; // prettier-ignore

export type DeliveryRow = Awaited<ReturnType<OutboxTables['list']>>[number];

/* ---- In the transaction of a part that tells an event, or erases a call ---- */

/**
 * The last of the call's next numbers, of which so many are taken. Its row stays locked until the commit: numbers have
 * no holes and commit in order.
 */
export async function takeSequences(
  tx: Transaction<Database>,
  callId: string,
  count: number,
): Promise<number> {
  const row = await tx
    .insertInto('event_calls')
    .values({ call_id: callId, last_sequence: count, erased_at: null })
    .onConflict((conflict) =>
      conflict
        .column('call_id')
        .doUpdateSet({ last_sequence: sql`event_calls.last_sequence + excluded.last_sequence` }),
    )
    .returning('last_sequence')
    .executeTakeFirstOrThrow();
  return row.last_sequence;
}

/**
 * Events of one call, and of each one delivery for every endpoint that wants its type. The lane comes first: it is the
 * lock. With `only` no other endpoints than these get them. However many they are, these are three statements: each is a turn of the event loop in which the writer waits
 * for this call and for nobody else.
 */
export async function insertEvents(
  tx: Transaction<Database>,
  events: readonly [EventsTable, ...EventsTable[]],
  only?: readonly string[],
): Promise<void> {
  const [{ call_id }] = events;
  await tx
    .insertInto('events')
    .values([...events])
    .execute();
  const types = new Set(events.map((event) => event.type));
  const wanted = sql.join(
    [...types].map((type) => sql`types like ${`%|${type}|%`}`),
    sql` or `,
  );
  // An empty list is written as one that no name is in.
  const among = only === undefined ? sql`` : sql`and name in (${sql.join(['', ...only])})`;
  const since = Math.min(...events.map((event) => event.occurred_at));
  // A parked lane stays parked: what comes after the parked event waits behind it.
  await sql`
    insert into lanes (endpoint, call_id, next_attempt_at, wakes, held_by_endpoint)
    select name, cast(${call_id} as text), ${dueAt(tx, since)}, 1, 0
    from endpoints where active = 1 and (${wanted}) ${among}
    on conflict (endpoint, call_id) do update set
      wakes = lanes.wakes + 1,
      next_attempt_at = case when lanes.parked_at is null
        then coalesce(lanes.next_attempt_at, excluded.next_attempt_at) end`.execute(tx);
  const told = sql.join(
    events.map(
      ({ id, sequence, type }) =>
        sql`(cast(${id} as text), cast(${sequence} as integer), cast(${type} as text))`,
    ),
  );
  await sql`
    with told (id, sequence, type) as (values ${told})
    insert into deliveries (endpoint, event_id, call_id, sequence, type, state, attempts)
    select endpoints.name, told.id, cast(${call_id} as text), told.sequence, told.type,
      case when lanes.parked_at is null then 'waiting' else 'parked' end, 0
    from told join endpoints on endpoints.active = 1 and endpoints.types like '%|' || told.type || '|%' ${among}
      join lanes on lanes.endpoint = endpoints.name and lanes.call_id = ${call_id}`.execute(tx);
}

/** True when an endpoint would get an event of this type: one that nobody wants need not be kept. */
export async function isWanted(tx: Transaction<Database>, type: CallEventType): Promise<boolean> {
  const { rows } = await sql`
    select 1 from endpoints where active = 1 and types like ${`%|${type}|%`} limit 1`.execute(tx);
  return rows.length > 0;
}

/** Due now. A node whose clock is ahead of the database's must not make its events wait. */
function dueAt(tx: Transaction<Database>, occurredAt: number): RawBuilder<number> {
  return tx.getExecutor().adapter instanceof PostgresAdapter
    ? sql<number>`least(cast(${occurredAt} as bigint), (extract(epoch from clock_timestamp()) * 1000)::bigint)`
    : sql<number>`cast(${occurredAt} as bigint)`;
}

/** The number of the last event stays, so that none is ever given twice. Nothing else of the call stays. */
export async function eraseCall(
  tx: Transaction<Database>,
  callId: string,
  nowMs: number,
): Promise<void> {
  // The lanes first: an attempt under way then finds its claim gone and writes nothing.
  await tx.deleteFrom('lanes').where('call_id', '=', callId).execute();
  await tx.deleteFrom('deliveries').where('call_id', '=', callId).execute();
  await tx.deleteFrom('events').where('call_id', '=', callId).execute();
  await tx
    .updateTable('event_calls')
    .set({ erased_at: nowMs })
    .where('call_id', '=', callId)
    .execute();
}

/**
 * Everything else. A write about a claimed lane is conditional on the claim's id, so that a process that slept
 * through its lease changes nothing when it wakes.
 */
export class OutboxTables {
  readonly #store: Store;
  readonly #skipLocked;
  readonly #share;
  /** Done before every reading of the clock. */
  beforeNow: () => Promise<void> = () => Promise.resolve();

  constructor(store: Store) {
    this.#store = store;
    // SQLite has one writer, so nobody can hold what a statement looks at.
    this.#skipLocked = store.kind === 'postgres' ? sql`for update skip locked` : sql``;
    this.#share = store.kind === 'postgres' ? sql`for share` : sql``;
  }

  /** The only clock that decides leases and schedules. */
  async now(): Promise<number> {
    await this.beforeNow();
    return this.#store.databaseNow();
  }

  /** The same inside a statement, where asking first would cost a question. Rounded down: never later than the next claim's now. */
  async #nowInSql(): Promise<RawBuilder<number>> {
    return this.#store.kind === 'postgres'
      ? sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`
      : sql<number>`cast(${await this.now()} as bigint)`;
  }

  /* ---- Endpoints ---- */

  /**
   * Writes the configured endpoints; others are no longer active. An address that changed is a new promise of the
   * operator: an endpoint that was switched off by a 410 is on again.
   */
  async saveEndpoints(endpoints: readonly Endpoint[]): Promise<DisabledEndpoints> {
    // In the order of their names, and with one statement each: nodes that start at once meet on these rows.
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
      .set({ disabled_at: await this.now(), disabled_reason: reason })
      .where('name', '=', name)
      .execute();
  }

  /** Its calls go on from the head of each, in order. False when no such endpoint is configured. */
  async enableEndpoint(name: string): Promise<boolean> {
    const { numUpdatedRows } = await this.#store.db
      .updateTable('endpoints')
      .set({ disabled_at: null, disabled_reason: null })
      .where('name', '=', name)
      .where('active', '=', 1)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /* ---- Claims and attempts ---- */

  /** Takes up to `limit` lanes that are due; with `anyTime` also lanes that wait (for a probe). */
  async claim(
    endpoint: string,
    limit: number,
    leaseMs: number,
    anyTime: boolean,
  ): Promise<Claim[]> {
    const now = await this.now();
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

  /** Longer leases for these claims; answers the lanes that are still held. */
  async renew(claims: readonly Claim[], leaseMs: number): Promise<Set<string>> {
    const now = await this.now();
    const { rows } = await sql<{ endpoint: string; call_id: string; claim_id: string }>`
      with held (endpoint, call_id, claim_id) as (values ${namesOf(claims)})
      update lanes set claim_until = cast(${now + leaseMs} as bigint) from held where ${isHeld}
      returning lanes.endpoint, lanes.call_id, lanes.claim_id`.execute(this.#store.db);
    return new Set(rows.map((row) => `${row.claim_id} ${row.call_id} ${row.endpoint}`));
  }

  /**
   * The events at the head of the lane, lowest sequence first: up to `limit`, and up to `maxHeadsBytes` of bodies.
   * `isAll`: no further event waits in the lane.
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
      if (row.body === null && row.bytes <= maxEventBytes) break; // read when these are done
      items.push({ ...row, body: row.body ?? '' });
    }
    return { items, isAll: rows.length < limit && items.length === rows.length };
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
    // A lane without earlier failures needs no change: one statement is the whole commit.
    if (claim.firstAttemptAt === null) return (await mark(this.#store.db)).numAffectedRows === 1n;
    return this.#store.transaction(async (tx) => {
      const held = await updateLane(tx, claim, sql`first_attempt_at = null, held_by_endpoint = 0`);
      if (held) await mark(tx);
      return held;
    });
  }

  /** Notes the failure and gives the lane back until its next attempt. */
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

  /** The head and everything after it wait for the operator. False when the claim was lost. */
  async park(
    claim: Claim,
    item: QueuedEvent,
    attempt: AttemptRow,
    reason: string,
  ): Promise<boolean> {
    const now = await this.now();
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
   * Parks calls whose first failed attempt was before that time and that nobody works on. At most `limit` at once;
   * answers the endpoint of each.
   */
  async parkOverdue(failingSince: number, reason: string, limit: number): Promise<string[]> {
    const now = await this.now();
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
        // Asked again in the update: another node may have claimed the lane in between.
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

  /** The head gives way to a marker with its sequence number, which is tried like any event. */
  async skip(
    claim: Claim,
    item: QueuedEvent,
    attempt: AttemptRow,
    marker: string,
  ): Promise<boolean> {
    const now = await this.now();
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

  /** Gives the lane back. True when more came meanwhile, or `more` says that some was left. */
  async release(claim: Claim, more: boolean): Promise<boolean> {
    // Due since now, by the database's clock: behind everybody who waits already.
    const due = await this.#nowInSql();
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

  /** At the end of this process's work: what these claims still hold is anybody's. */
  async giveBack(claims: readonly Claim[]): Promise<void> {
    await sql`
      with held (endpoint, call_id, claim_id) as (values ${namesOf(claims)})
      update lanes set claim_id = null, claim_until = null from held where ${isHeld}`.execute(
      this.#store.db,
    );
  }

  /** The endpoint answers again: what waited because of it is due. */
  async wakeHeld(endpoint: string): Promise<void> {
    const now = await this.now();
    await this.#store.db
      .updateTable('lanes')
      .set({ next_attempt_at: now })
      .where('endpoint', '=', endpoint)
      .where('held_by_endpoint', '=', 1)
      .where('next_attempt_at', '>', now)
      .execute();
  }

  /* ---- Upkeep ---- */

  /** For a database that one process owns: whoever held a claim is gone. */
  async freeAllClaims(): Promise<void> {
    await this.#store.db
      .updateTable('lanes')
      .set({ claim_id: null, claim_until: null })
      .where('claim_id', 'is not', null)
      .execute();
  }

  /** Makes lanes due that would wait for longer than any step of the schedule: their time is a wrong clock's. */
  async wakeBeyond(longestDelayMs: number): Promise<void> {
    const now = await this.now();
    await this.#store.db
      .updateTable('lanes')
      .set({ next_attempt_at: now })
      .where('next_attempt_at', '>', now + longestDelayMs)
      .execute();
  }

  /**
   * Makes lanes due that were never tried and yet wait: an event is due from its own time on, and a clock that was set
   * back since then has made that a time to come. True when there were any.
   */
  async wakeUntried(): Promise<boolean> {
    const now = await this.now();
    const { numUpdatedRows } = await this.#store.db
      .updateTable('lanes')
      .set({ next_attempt_at: now })
      .where('next_attempt_at', '>', now)
      .where('first_attempt_at', 'is', null)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /**
   * Moves every waiting time: the clock of this machine was set by that much, and is SQLite's. A lane that was never
   * tried is due now in any case: its event may be of the new clock already.
   */
  async shiftWaits(byMs: number): Promise<void> {
    const now = await this.#store.databaseNow();
    await sql`update lanes set next_attempt_at = case when first_attempt_at is null
        then min(next_attempt_at + ${byMs}, ${now}) else next_attempt_at + ${byMs} end,
      claim_until = claim_until + ${byMs}, first_attempt_at = first_attempt_at + ${byMs}
      where next_attempt_at is not null`.execute(this.#store.db);
  }

  async countLanes(): Promise<LaneCounts[]> {
    // The head of each waiting lane is found by its index: the cost goes by calls, not by their events.
    const headAt = sql<number | null>`(select events.occurred_at
      from deliveries join events on events.id = deliveries.event_id
      where deliveries.endpoint = lanes.endpoint and deliveries.call_id = lanes.call_id
        and deliveries.state = 'waiting' and lanes.next_attempt_at is not null
      order by deliveries.sequence limit 1)`;
    const rows = await this.#store.db
      .selectFrom('lanes')
      .select((eb) => [
        'endpoint',
        eb.fn.count('parked_at').as('parked'),
        eb.fn.count('next_attempt_at').as('waiting'),
        sql<number | null>`min(${headAt})`.as('oldestAt'),
      ])
      .where((eb) =>
        eb.or([eb('parked_at', 'is not', null), eb('next_attempt_at', 'is not', null)]),
      )
      .groupBy('endpoint')
      .execute();
    return rows.map((row) => ({
      endpoint: row.endpoint,
      parked: Number(row.parked),
      waiting: Number(row.waiting),
      oldestAt: row.oldestAt,
    }));
  }

  /**
   * One step of the purge: looks at up to `limit` events from before that time, oldest first, and removes them with
   * their deliveries; with `settledOnly` only those that no endpoint waits for. Events of a call that goes on stay,
   * however short the retention is: the page, and whoever asks for the call, reads them. The answer says where the next
   * step goes on: what stays is not looked at again and again.
   */
  async purge(
    beforeMs: number,
    settledOnly: boolean,
    limit: number,
    from: EventPlace = firstPlace,
  ): Promise<PurgeStep> {
    const undeliveredOf = sql`exists (select 1 from deliveries where deliveries.event_id = looked.id
      and deliveries.state in ('waiting', 'parked'))`;
    const { rows } = await sql<{
      id: string;
      call_id: string;
      occurred_at: number;
      stays: unknown;
    }>`
      with looked as (
        select id, call_id, occurred_at from events
        where occurred_at < ${beforeMs} and (occurred_at, id) > (${from.occurredAt}, ${from.id})
        order by occurred_at, id limit ${limit}
      )
      select id, call_id, occurred_at, (
        exists (select 1 from calls where calls.id = looked.call_id and calls.state <> 'ended')
        ${settledOnly ? sql`or ${undeliveredOf}` : sql``}) as stays
      from looked order by occurred_at, id`.execute(this.#store.db);
    const due = rows.filter(({ stays }) => stays !== true && stays !== 1);
    const last = rows.at(-1);
    return {
      looked: rows.length,
      removed: due.length === 0 ? 0 : await this.#remove(due),
      stayed: rows.length - due.length,
      place: last === undefined ? from : { occurredAt: last.occurred_at, id: last.id },
    };
  }

  /** Several nodes purge beside one another, and beside erasures: what another holds is left to it. */
  async #remove(events: readonly { id: string; call_id: string }[]): Promise<number> {
    return this.#store.transaction(async (tx) => {
      let going = events;
      if (this.#store.kind === 'postgres') {
        // In the order of `eraseCall`, so that neither waits for the other in a circle.
        const ofCalls = tx
          .selectFrom('lanes')
          .select(['endpoint', 'call_id'])
          .where('call_id', 'in', [...new Set(events.map((event) => event.call_id))]);
        const all = await ofCalls.execute();
        const locked = await ofCalls.forUpdate().skipLocked().execute();
        const ours = new Set(locked.map((lane) => laneName(lane.endpoint, lane.call_id)));
        const others = new Set(
          all
            .filter((lane) => !ours.has(laneName(lane.endpoint, lane.call_id)))
            .map((lane) => lane.call_id),
        );
        going = events.filter((event) => !others.has(event.call_id));
        if (going.length === 0) return 0;
        const free = await tx
          .selectFrom('events')
          .select(['id', 'call_id'])
          .where(
            'id',
            'in',
            going.map((event) => event.id),
          )
          .forUpdate()
          .skipLocked()
          .execute();
        going = free;
        if (going.length === 0) return 0;
      }
      const ids = going.map((event) => event.id);
      await tx.deleteFrom('deliveries').where('event_id', 'in', ids).execute();
      await tx.deleteFrom('events').where('id', 'in', ids).execute();
      await removeEmptyLanes(tx, going);
      return ids.length;
    });
  }

  /**
   * Removes up to `limit` deliveries whose event is gone: older versions purged events and left their deliveries
   * behind. Events go oldest first, so a delivery below the lowest event has none.
   */
  async purgeLeftovers(limit: number): Promise<number> {
    // Every id of an event is below `f`: without events no delivery has one.
    const { rows } = await sql<{ event_id: string; call_id: string }>`
      select event_id, call_id from deliveries
      where event_id < coalesce((select min(id) from events), 'f')
      order by event_id limit ${limit}`.execute(this.#store.db);
    if (rows.length === 0) return 0;
    await this.#store.transaction(async (tx) => {
      await tx
        .deleteFrom('deliveries')
        .where(
          'event_id',
          'in',
          rows.map((row) => row.event_id),
        )
        .execute();
      await removeEmptyLanes(tx, rows);
    });
    return rows.length;
  }

  /** Calls with undelivered events from before that time, among the oldest of these events. */
  async undeliveredCalls(beforeMs: number, limit: number): Promise<string[]> {
    // An event is stored soon after what it tells of: its id, which begins with that time, bounds the range.
    const { rows } = await sql<{ call_id: string }>`
      select distinct call_id from (
        select deliveries.call_id from deliveries join events on events.id = deliveries.event_id
        where deliveries.state in ('waiting', 'parked') and events.occurred_at < ${beforeMs}
          and deliveries.event_id < ${firstId('evt', Math.max(0, beforeMs + lateByMs))}
        order by deliveries.event_id limit ${maxUndeliveredLooked}
      ) as oldest limit ${limit}`.execute(this.#store.db);
    return rows.map((row) => row.call_id);
  }

  /** After a purge: nothing of it stays readable in the database's log. */
  async forgetDeleted(): Promise<void> {
    await this.#store.forgetDeleted();
  }

  /* ---- What operators see and do ---- */

  async list(filter: DeliveryFilter, limit: number) {
    const { state, callId, endpoint, heads, after } = filter;
    let rows = this.#deliveries();
    if (heads === true)
      rows = rows
        .where('deliveries.state', 'in', undelivered)
        .where((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom('deliveries as earlier')
                .select('earlier.event_id')
                .whereRef('earlier.endpoint', '=', 'deliveries.endpoint')
                .whereRef('earlier.call_id', '=', 'deliveries.call_id')
                .whereRef('earlier.sequence', '<', 'deliveries.sequence')
                .where('earlier.state', 'in', undelivered),
            ),
          ),
        );
    if (state !== undefined) rows = rows.where('deliveries.state', '=', state);
    if (callId !== undefined) rows = rows.where('deliveries.call_id', '=', callId);
    if (endpoint !== undefined) rows = rows.where('deliveries.endpoint', '=', endpoint);
    if (after !== undefined)
      // The first condition is the place in the index: an `or` alone is looked for from the newest on.
      rows = rows
        .where('deliveries.event_id', '<=', after.eventId)
        .where((eb) =>
          eb.or([
            eb('deliveries.event_id', '<', after.eventId),
            eb.and([
              eb('deliveries.event_id', '=', after.eventId),
              eb('deliveries.endpoint', '>', after.endpoint),
            ]),
          ]),
        );
    return rows
      .orderBy('deliveries.event_id', 'desc')
      .orderBy('deliveries.endpoint')
      .limit(limit)
      .execute();
  }

  /** The number of events of these calls that are not delivered, by endpoint and call. */
  async waitingOf(callIds: readonly string[]): Promise<Map<string, number>> {
    if (callIds.length === 0) return new Map();
    const rows = await this.#store.db
      .selectFrom('deliveries')
      .select((eb) => ['endpoint', 'call_id', eb.fn.countAll().as('waiting')])
      .where('call_id', 'in', [...callIds])
      .where('state', 'in', undelivered)
      .groupBy(['endpoint', 'call_id'])
      .execute();
    return new Map(
      rows.map((row) => [laneName(row.endpoint, row.call_id), Number(row.waiting)] as const),
    );
  }

  /** With what its last attempt sent, and the event itself. */
  async find(
    eventId: string,
    endpoint: string,
  ): Promise<(DeliveryRow & { exchanges: string | null; body: string }) | undefined> {
    return this.#deliveries()
      .select(['deliveries.exchanges', 'events.body'])
      .where('deliveries.event_id', '=', eventId)
      .where('deliveries.endpoint', '=', endpoint)
      .executeTakeFirst();
  }

  /**
   * A parked delivery and what is parked behind it go on, a waiting one is tried now, a delivered one is sent again.
   * Undefined when there is no such delivery.
   */
  async retry(eventId: string, endpoint: string): Promise<number | undefined> {
    const now = await this.now();
    return this.#store.transaction(async (tx) => {
      const row = await tx
        .selectFrom('deliveries')
        .select(['call_id', 'sequence', 'state'])
        .where('event_id', '=', eventId)
        .where('endpoint', '=', endpoint)
        .executeTakeFirst();
      if (!row) return undefined;
      await wakeLane(tx, row.call_id, endpoint, now);
      if (row.state === 'waiting') return 1;
      const set = tx
        .updateTable('deliveries')
        .set({ state: 'waiting', attempts: 0, progress: null })
        .where('endpoint', '=', endpoint);
      const result =
        row.state === 'parked'
          ? await set
              .where('call_id', '=', row.call_id)
              .where('state', '=', 'parked')
              .where('sequence', '>=', row.sequence)
              .executeTakeFirst()
          : await set.where('event_id', '=', eventId).executeTakeFirst();
      return Number(result.numUpdatedRows);
    });
  }

  /** Everything of the call from that sequence number on is sent again, in order. */
  async retryCall(callId: string, from: number, endpoint: string | undefined): Promise<number> {
    return this.#restart(callId, endpoint, (tx, lane) =>
      tx
        .updateTable('deliveries')
        .set({ state: 'waiting', attempts: 0, progress: null })
        .where('endpoint', '=', lane)
        .where('call_id', '=', callId)
        .where('sequence', '>=', from)
        .executeTakeFirst(),
    );
  }

  /** The parked head stays behind, what is parked after it goes. */
  async releaseCall(callId: string, endpoint: string | undefined): Promise<number> {
    return this.#restart(callId, endpoint, (tx, lane) =>
      tx
        .updateTable('deliveries')
        .set({ state: 'waiting' })
        .where('endpoint', '=', lane)
        .where('call_id', '=', callId)
        .where('state', '=', 'parked')
        .where('sequence', '>', (eb) =>
          eb
            .selectFrom('deliveries as heads')
            .select((head) => head.fn.min('heads.sequence').as('head'))
            .where('heads.endpoint', '=', lane)
            .where('heads.call_id', '=', callId)
            .where('heads.state', '=', 'parked'),
        )
        .executeTakeFirst(),
    );
  }

  async #restart(
    callId: string,
    endpoint: string | undefined,
    change: (tx: Transaction<Database>, lane: string) => Promise<{ numUpdatedRows: bigint }>,
  ): Promise<number> {
    // Asked before the transaction: inside it the question would take a second connection of the pool, and as many
    // requests as there are connections would wait for each other.
    const now = await this.now();
    return this.#store.transaction(async (tx) => {
      let lanes = tx.selectFrom('lanes').select('endpoint').where('call_id', '=', callId);
      if (endpoint !== undefined) lanes = lanes.where('endpoint', '=', endpoint);
      let total = 0;
      for (const lane of await lanes.execute()) {
        await wakeLane(tx, callId, lane.endpoint, now);
        total += Number((await change(tx, lane.endpoint)).numUpdatedRows);
      }
      return total;
    });
  }

  #deliveries() {
    return this.#store.db
      .selectFrom('deliveries')
      .innerJoin('events', 'events.id', 'deliveries.event_id')
      .leftJoin('lanes', (join) =>
        join
          .onRef('lanes.endpoint', '=', 'deliveries.endpoint')
          .onRef('lanes.call_id', '=', 'deliveries.call_id'),
      )
      .select(deliveryColumns);
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

/** By the key of its lane: the id of a claim has no index, which each turn of a lane would have to write. */
const isHeld = sql`lanes.endpoint = held.endpoint and lanes.call_id = held.call_id and lanes.claim_id = held.claim_id`;

function namesOf(claims: readonly Claim[]): RawBuilder<unknown> {
  return sql.join(
    claims.map(
      ({ endpoint, callId, claimId }) =>
        sql`(cast(${endpoint} as text), cast(${callId} as text), cast(${claimId} as text))`,
    ),
  );
}

/** A lane of a call without events has nothing left to order. */
async function removeEmptyLanes(
  tx: Transaction<Database>,
  of: readonly { call_id: string }[],
): Promise<void> {
  const callIds = [...new Set(of.map((row) => row.call_id))];
  await sql`delete from lanes where call_id in (${sql.join(callIds)})
    and claim_id is null and not exists (select 1 from events where events.call_id = lanes.call_id)`.execute(
    tx,
  );
}

/** True when the lane is still held by this claim, and was changed. */
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

/** The one place where calls are parked: their lanes have no next attempt, and their deliveries wait for an operator. */
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

/** The lane is due, whatever held it back. */
async function wakeLane(
  tx: Transaction<Database>,
  callId: string,
  endpoint: string,
  nowMs: number,
): Promise<void> {
  await sql`update lanes set next_attempt_at = cast(${nowMs} as bigint), wakes = wakes + 1, parked_at = null,
    parked_reason = null, first_attempt_at = null, held_by_endpoint = 0
    where call_id = ${callId} and endpoint = ${endpoint}`.execute(tx);
}

/* ---- Attempts as a delivery's row keeps them ---- */

export type PastAttempt = { at: number; ms: number; status: number | null; error: string | null };

/** The last time that a date can tell. */
const latestTimeMs = 8.64e15;

/** The attempts that a row tells of. A row that somebody damaged is delivered all the same, with one note of it. */
export function pastAttempts(history: string | null): PastAttempt[] {
  if (history === null) return [];
  try {
    const past = JSON.parse(history) as unknown;
    if (Array.isArray(past)) return past.filter(isAttempt);
  } catch {
    // Noted below, like any other text that is no list of attempts.
  }
  return [{ at: 0, ms: 0, status: null, error: 'earlier attempts are unreadable' }];
}

function isAttempt(value: unknown): value is PastAttempt {
  if (typeof value !== 'object' || value === null) return false;
  return 'at' in value && typeof value.at === 'number' && Math.abs(value.at) <= latestTimeMs;
}
