import { sql, type Transaction } from 'kysely';
import { firstId } from '../lib/ids.ts';
import type { Database } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { laneName } from './lane-name.ts';
import type { OutboxTime } from './outbox-time.ts';

/** A place among the events in the order of their time. */
export type EventPlace = { occurredAt: number; id: string };
/** The place before the first event. */
export const firstPlace: EventPlace = { occurredAt: -1, id: '' };

/** The result of one purge step. */
export type PurgeStep = { looked: number; removed: number; stayed: number; place: EventPlace };

/** A node that was cut off stores its events at most this much later, as far as a notice can know. */
const lateByMs = 3_600_000;
/** At most this many undelivered events are read to find their calls. */
const maxUndeliveredLooked = 20_000;

type LaneCounts = {
  endpoint: string;
  parked: number;
  waiting: number;
  /** The time of the oldest waiting event; null if none waits. */
  oldestAt: number | null;
};

/** Waiting times after a clock was set, statistics, and the purge. */
export class UpkeepRows {
  readonly #store: Store;
  readonly #time: OutboxTime;

  constructor(store: Store, time: OutboxTime) {
    this.#store = store;
    this.#time = time;
  }

  /** For a database with one process: all claims are from dead processes. */
  async freeAllClaims(): Promise<void> {
    await this.#store.db
      .updateTable('lanes')
      .set({ claim_id: null, claim_until: null })
      .where('claim_id', 'is not', null)
      .execute();
  }

  /** Makes lanes due that would wait for longer than any step of the schedule: their time comes from a wrong clock. */
  async wakeBeyond(longestDelayMs: number): Promise<void> {
    const now = await this.#time.now();
    await this.#store.db
      .updateTable('lanes')
      .set({ next_attempt_at: now })
      .where('next_attempt_at', '>', now + longestDelayMs)
      .execute();
  }

  /**
   * Makes lanes due that wait without ever having been tried. An event is due at its own time; if the clock was set
   * back, that time lies in the future. Returns true if there were any.
   */
  async wakeUntried(): Promise<boolean> {
    const now = await this.#time.now();
    const { numUpdatedRows } = await this.#store.db
      .updateTable('lanes')
      .set({ next_attempt_at: now })
      .where('next_attempt_at', '>', now)
      .where('first_attempt_at', 'is', null)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /**
   * Moves every waiting time after SQLite's clock, that of this machine, was set by `byMs`. A lane that was never
   * tried becomes due now: its event may already have a time of the new clock.
   */
  async shiftWaits(byMs: number): Promise<void> {
    const now = await this.#store.databaseNow();
    await sql`update lanes set next_attempt_at = case when first_attempt_at is null
        then min(next_attempt_at + ${byMs}, ${now}) else next_attempt_at + ${byMs} end,
      claim_until = claim_until + ${byMs}, first_attempt_at = first_attempt_at + ${byMs}
      where next_attempt_at is not null`.execute(this.#store.db);
  }

  async countLanes(): Promise<LaneCounts[]> {
    // An index finds the first event of each waiting lane, so the cost depends on the calls and not on their events.
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
   * One step of the purge. Takes up to `limit` events from before that time, oldest first, and removes them with
   * their deliveries; with `settledOnly` only those that no endpoint waits for. Events of a running call stay,
   * however short the retention is, because the page reads them. The result says where the next step continues, so
   * that staying events are not examined again and again.
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

  /** Several nodes purge at the same time, and beside erasures. Rows that another one has locked are left to it. */
  async #remove(events: readonly { id: string; call_id: string }[]): Promise<number> {
    return this.#store.transaction(async (tx) => {
      let going = events;
      if (this.#store.kind === 'postgres') {
        // Deletes in the same order as `eraseCall`, so that they cannot deadlock.
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
   * Removes up to `limit` deliveries without an event: older versions purged events and kept their deliveries. Events
   * are removed oldest first, so a delivery below the lowest event has none.
   */
  async purgeLeftovers(limit: number): Promise<number> {
    // Every event id is below `f`, so without events this bound covers all deliveries.
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

  /** Calls with undelivered events from before that time. Only the oldest of these events are read. */
  async undeliveredCalls(beforeMs: number, limit: number): Promise<string[]> {
    // An event is stored soon after it happened. Its id begins with that time, which bounds the range.
    const { rows } = await sql<{ call_id: string }>`
      select distinct call_id from (
        select deliveries.call_id from deliveries join events on events.id = deliveries.event_id
        where deliveries.state in ('waiting', 'parked') and events.occurred_at < ${beforeMs}
          and deliveries.event_id < ${firstId('evt', Math.max(0, beforeMs + lateByMs))}
        order by deliveries.event_id limit ${maxUndeliveredLooked}
      ) as oldest limit ${limit}`.execute(this.#store.db);
    return rows.map((row) => row.call_id);
  }

  /** After a purge: no removed data stays readable in the database's log. */
  async forgetDeleted(): Promise<void> {
    await this.#store.forgetDeleted();
  }
}

/** The lane of a call without events has nothing left to order. */
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
