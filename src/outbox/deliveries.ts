import { sql, type Transaction } from 'kysely';
import type { ApiDelivery, ApiDeliveryState } from '../protocol/api.ts';
import type { Database } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { enableEndpoint } from './endpoints.ts';
import { pastAttempts, type PastAttempt } from './past.ts';

export type ListQuery = {
  state?: ApiDeliveryState | undefined;
  callId?: string | undefined;
  endpoint?: string | undefined;
  cursor?: string | undefined;
  limit: number;
};

export type DeliveryDetail = ApiDelivery & {
  history: (Omit<PastAttempt, 'at'> & { at: string })[];
};

/** `evt_01J9....webhook`: event and endpoint, since one event goes to several. */
function idOf(eventId: string, endpoint: string): string {
  return `${eventId}.${endpoint}`;
}

function partsOf(id: string): { eventId: string; endpoint: string } {
  const dot = id.indexOf('.');
  return dot < 0
    ? { eventId: id, endpoint: '' }
    : { eventId: id.slice(0, dot), endpoint: id.slice(dot + 1) };
}

/** What operators see of the outbox and may do with it. */
export class Deliveries {
  readonly #store: Store;
  readonly #changed: () => void;

  constructor(store: Store, changed: () => void) {
    this.#store = store;
    this.#changed = changed;
  }

  async list(query: ListQuery): Promise<{ items: ApiDelivery[]; nextCursor: string | null }> {
    let rows = this.#rows();
    if (query.state !== undefined)
      rows = rows.where('deliveries.state', '=', storedState(query.state));
    if (query.callId !== undefined) rows = rows.where('deliveries.call_id', '=', query.callId);
    if (query.endpoint !== undefined) rows = rows.where('deliveries.endpoint', '=', query.endpoint);
    if (query.cursor !== undefined) {
      const { eventId, endpoint } = partsOf(query.cursor);
      rows = rows.where((eb) =>
        eb.or([
          eb('deliveries.event_id', '<', eventId),
          eb.and([
            eb('deliveries.event_id', '=', eventId),
            eb('deliveries.endpoint', '>', endpoint),
          ]),
        ]),
      );
    }
    // One more than asked for tells whether there is a next page.
    const found = await rows
      .orderBy('deliveries.event_id', 'desc')
      .orderBy('deliveries.endpoint')
      .limit(query.limit + 1)
      .execute();
    const page = found.slice(0, query.limit);
    const last = page.at(-1);
    return {
      items: page.map(publicDelivery),
      nextCursor: found.length > query.limit && last ? idOf(last.event_id, last.endpoint) : null,
    };
  }

  async find(id: string): Promise<DeliveryDetail | undefined> {
    const { eventId, endpoint } = partsOf(id);
    const row = await this.#rows()
      .select('deliveries.history')
      .where('deliveries.event_id', '=', eventId)
      .where('deliveries.endpoint', '=', endpoint)
      .executeTakeFirst();
    if (!row) return undefined;
    return {
      ...publicDelivery(row),
      history: pastAttempts(row.history).map((one) => ({
        ...one,
        at: new Date(one.at).toISOString(),
      })),
    };
  }

  /** A parked one and what is parked behind it go on; a waiting one is tried now; a delivered one is sent again. */
  async retry(id: string): Promise<number | undefined> {
    const { eventId, endpoint } = partsOf(id);
    const changed = await this.#store.transaction(async (tx) => {
      const row = await tx
        .selectFrom('deliveries')
        .select(['call_id', 'sequence', 'state'])
        .where('event_id', '=', eventId)
        .where('endpoint', '=', endpoint)
        .executeTakeFirst();
      if (!row) return undefined;
      await this.#wakeLane(tx, row.call_id, endpoint);
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
    this.#changed();
    return changed;
  }

  /** Everything of the call from that sequence number on is sent again, in order. */
  async retryCall(callId: string, from: number, endpoint?: string): Promise<number> {
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
  async releaseCall(callId: string, endpoint?: string): Promise<number> {
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

  async enable(endpoint: string): Promise<boolean> {
    const enabled = await enableEndpoint(this.#store, endpoint);
    this.#changed();
    return enabled;
  }

  async endpoints(): Promise<
    { name: string; disabled_at: string | null; reason: string | null }[]
  > {
    const rows = await this.#store.db
      .selectFrom('endpoints')
      .selectAll()
      .where('active', '=', 1)
      .orderBy('name')
      .execute();
    return rows.map((row) => ({
      name: row.name,
      disabled_at: iso(row.disabled_at),
      reason: row.disabled_reason,
    }));
  }

  /** The number of the last event stays, so that none is ever given twice; nothing else does. */
  async eraseCall(tx: Transaction<Database>, callId: string): Promise<void> {
    // The lanes first: an attempt under way then finds its claim gone and writes nothing.
    await tx.deleteFrom('lanes').where('call_id', '=', callId).execute();
    await tx.deleteFrom('deliveries').where('call_id', '=', callId).execute();
    await tx.deleteFrom('events').where('call_id', '=', callId).execute();
    await tx
      .updateTable('event_calls')
      .set({ erased_at: Date.now() })
      .where('call_id', '=', callId)
      .execute();
  }

  async #restart(
    callId: string,
    endpoint: string | undefined,
    change: (tx: Transaction<Database>, lane: string) => Promise<{ numUpdatedRows: bigint }>,
  ): Promise<number> {
    const changed = await this.#store.transaction(async (tx) => {
      let lanes = tx.selectFrom('lanes').select('endpoint').where('call_id', '=', callId);
      if (endpoint !== undefined) lanes = lanes.where('endpoint', '=', endpoint);
      let total = 0;
      for (const lane of await lanes.execute()) {
        await this.#wakeLane(tx, callId, lane.endpoint);
        total += Number((await change(tx, lane.endpoint)).numUpdatedRows);
      }
      return total;
    });
    this.#changed();
    return changed;
  }

  async #wakeLane(tx: Transaction<Database>, callId: string, endpoint: string): Promise<void> {
    const now = await this.#store.databaseNow();
    await sql`update lanes set next_attempt_at = cast(${now} as bigint), wakes = wakes + 1, parked_at = null,
      parked_reason = null, first_attempt_at = null, held_by_endpoint = 0
      where call_id = ${callId} and endpoint = ${endpoint}`.execute(tx);
  }

  #rows() {
    return this.#store.db
      .selectFrom('deliveries')
      .innerJoin('events', 'events.id', 'deliveries.event_id')
      .leftJoin('lanes', (join) =>
        join.onRef('lanes.endpoint', '=', 'deliveries.endpoint').onRef('lanes.call_id', '=', 'deliveries.call_id'),
      )
      .select([
        'deliveries.endpoint', 'deliveries.event_id', 'deliveries.call_id', 'deliveries.sequence',
        'deliveries.type', 'deliveries.state', 'deliveries.attempts', 'deliveries.last_attempt_at',
        'deliveries.settled_at', 'deliveries.last_status', 'deliveries.last_error', 'deliveries.last_answer',
        'events.occurred_at', 'lanes.next_attempt_at', 'lanes.parked_reason',
      ]); // prettier-ignore
  }
}

type Row = {
  endpoint: string;
  event_id: string;
  call_id: string;
  sequence: number;
  type: string;
  state: 'waiting' | 'delivered' | 'parked' | 'skipped';
  attempts: number;
  last_attempt_at: number | null;
  settled_at: number | null;
  last_status: number | null;
  last_error: string | null;
  last_answer: string | null;
  occurred_at: number;
  next_attempt_at: number | null;
  parked_reason: string | null;
};

function publicDelivery(row: Row): ApiDelivery {
  return {
    id: idOf(row.event_id, row.endpoint),
    endpoint: row.endpoint,
    event_id: row.event_id,
    type: row.type,
    call_id: row.call_id,
    sequence: row.sequence,
    state: row.state === 'waiting' ? 'pending' : row.state,
    attempts: row.attempts,
    next_attempt_at: row.state === 'waiting' ? iso(row.next_attempt_at) : null,
    last_attempt_at: iso(row.last_attempt_at),
    status: row.last_status,
    reason: row.state === 'parked' ? (row.last_error ?? row.parked_reason) : row.last_error,
    answer: row.last_answer,
    created_at: new Date(row.occurred_at).toISOString(),
    delivered_at: iso(row.settled_at),
  };
}

function storedState(state: ApiDeliveryState): Row['state'] {
  return state === 'pending' ? 'waiting' : state;
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
