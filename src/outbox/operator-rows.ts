import { sql, type Transaction } from 'kysely';
import type { Database, DeliveryState } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { laneName } from './lane-name.ts';
import type { OutboxTime } from './outbox-time.ts';

const undelivered = ['waiting', 'parked'] as const satisfies readonly DeliveryState[];

/** Selects the deliveries that an operator asks for. */
type DeliveryFilter = {
  state?: DeliveryState | undefined;
  callId?: string | undefined;
  endpoint?: string | undefined;
  /** True lists only the event of each call that the others wait for. */
  heads?: boolean | undefined;
  /** The last delivery of the previous page. */
  after?: { eventId: string; endpoint: string } | undefined;
};

/** The columns of a delivery, its event and its lane that every query for operators reads. */
const deliveryColumns = [
  'deliveries.endpoint', 'deliveries.event_id', 'deliveries.call_id', 'deliveries.sequence',
  'deliveries.type', 'deliveries.state', 'deliveries.attempts', 'deliveries.last_attempt_at',
  'deliveries.settled_at', 'deliveries.last_status', 'deliveries.last_error', 'deliveries.last_answer',
  'deliveries.history', 'events.occurred_at', 'lanes.next_attempt_at', 'lanes.parked_reason',
] as const; // prettier-ignore

export type DeliveryRow = Awaited<ReturnType<OperatorRows['list']>>[number];

/** Deliveries as operators see them, and what they do with them. */
export class OperatorRows {
  readonly #store: Store;
  readonly #time: OutboxTime;

  constructor(store: Store, time: OutboxTime) {
    this.#store = store;
    this.#time = time;
  }

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
      // The first condition locates the place in the index: with an `or` alone, the search would begin at the newest.
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

  /** The delivery with its last attempt's requests, and the event itself. */
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
   * Retries a delivery: a parked one and those parked behind it continue; a waiting one is tried now; a delivered one
   * is sent again. Undefined if there is no such delivery.
   */
  async retry(eventId: string, endpoint: string): Promise<number | undefined> {
    const now = await this.#time.now();
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

  /** Sends everything of the call from that sequence number on again, in order. */
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

  /** Delivers the events behind the parked first one, which stays parked. */
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
    // The time is read before the transaction. Inside it, the query would need a second connection of the pool, and
    // requests that together use all connections would wait for each other.
    const now = await this.#time.now();
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

/** Makes the lane due, whatever delayed it. */
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
