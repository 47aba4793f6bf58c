import { sql } from 'kysely';
import { firstId } from '../lib/ids.ts';
import type { CallEventType } from '../protocol/events.ts';
import type { Store } from '../store/store.ts';
import { laneName } from './lane-name.ts';

/** The state of a call at an endpoint. `pending`: an event waits for its turn or for another attempt. */
export type LaneState = 'pending' | 'parked' | 'delivered';

/** Selects the lanes that an operator asks for. */
export type LaneFilter = {
  state?: LaneState | undefined;
  endpoint?: string | undefined;
  callId?: string | undefined;
  /** Only calls with an event of this type for the endpoint. */
  type?: CallEventType | undefined;
  /** Calls that began then or later, and before. */
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  /** The last lane of the previous page. */
  after?: { callId: string; endpoint: string } | undefined;
};

/** The event of a lane that the others wait for. */
type LaneHead = {
  event_id: string;
  type: string;
  sequence: number;
  attempts: number;
  status: number | null;
  reason: string | null;
};

/** A call at an endpoint: the number of its events in each state, and the one that the others wait for. */
export type LaneRow = {
  endpoint: string;
  callId: string;
  state: LaneState;
  nextAttemptAt: number | null;
  counts: { delivered: number; pending: number; parked: number; skipped: number };
  lastAttemptAt: number | null;
  deliveredAt: number | null;
  head: LaneHead | null;
  /** The envelope of the call's first event. It names the parties. Null if it was purged. */
  firstBody: string | null;
};

/** The last failure of an endpoint that no success of the same event followed. */
type EndpointFailure = {
  at: number;
  status: number | null;
  reason: string | null;
  callId: string;
};

/** The health of an endpoint, from the rows of its calls. */
export type EndpointHealth = {
  lastSuccessAt: number | null;
  lastFailure: EndpointFailure | null;
  waiting: number;
  parked: number;
};

/** The last success and failure are searched in this many lanes. A lane may hold many events. */
const lanesLooked = 20;

const undelivered = sql`('waiting', 'parked')`;

/** The calls of each endpoint as operators see them: read only. */
export class LaneRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Newest calls first. Ids of calls begin with the time, so days are a range of them. */
  async list(filter: LaneFilter, limit: number): Promise<LaneRow[]> {
    const { rows: lanes } = await sql<{
      endpoint: string;
      call_id: string;
      next_attempt_at: number | null;
    }>`
      select endpoint, call_id, next_attempt_at from lanes where ${conditionsOf(filter)}
      order by call_id desc, endpoint limit ${limit}`.execute(this.#store.db);
    if (lanes.length === 0) return [];
    const callIds = [...new Set(lanes.map((lane) => lane.call_id))];
    const [counts, heads, bodies] = await Promise.all([
      this.#counts(callIds),
      this.#heads(callIds),
      this.#firstBodies(callIds),
    ]);
    return lanes.map((lane) => {
      const name = laneName(lane.endpoint, lane.call_id);
      const states = counts.get(name) ?? [];
      const of = (state: string): number => states.find((one) => one.state === state)?.count ?? 0;
      const numbers = {
        delivered: of('delivered'),
        pending: of('waiting'),
        parked: of('parked'),
        skipped: of('skipped'),
      };
      return {
        endpoint: lane.endpoint,
        callId: lane.call_id,
        state: numbers.parked > 0 ? 'parked' : numbers.pending > 0 ? 'pending' : 'delivered',
        nextAttemptAt: lane.next_attempt_at,
        counts: numbers,
        lastAttemptAt: latest(states.map((one) => one.tried)),
        deliveredAt: latest(states.map((one) => one.settled)),
        head: heads.get(name) ?? null,
        firstBody: bodies.get(lane.call_id) ?? null,
      };
    });
  }

  /** Costs the same for a long backlog as for a short one: it reads the calls and not all of their events. */
  async health(endpoint: string): Promise<EndpointHealth> {
    const [counted, lastSuccessAt, lastFailure] = await Promise.all([
      this.#waiting(endpoint),
      this.#lastSuccess(endpoint),
      this.#lastFailure(endpoint),
    ]);
    return { ...counted, lastSuccessAt, lastFailure };
  }

  async #waiting(endpoint: string): Promise<{ waiting: number; parked: number }> {
    const row = await this.#store.db
      .selectFrom('lanes')
      .select((eb) => [
        eb.fn.count('parked_at').as('parked'),
        eb.fn.count('next_attempt_at').as('waiting'),
      ])
      .where('endpoint', '=', endpoint)
      .where((eb) =>
        eb.or([eb('parked_at', 'is not', null), eb('next_attempt_at', 'is not', null)]),
      )
      .executeTakeFirstOrThrow();
    return { waiting: Number(row.waiting), parked: Number(row.parked) };
  }

  /** Looks at the newest calls, and at the newest of those for which nothing waits any more. */
  async #lastSuccess(endpoint: string): Promise<number | null> {
    const newest = sql`select call_id from lanes where endpoint = ${endpoint}`;
    const { rows } = await sql<{ at: number | null }>`
      select max(settled_at) as at from deliveries
      where endpoint = ${endpoint} and state = 'delivered' and call_id in (
        select call_id from (${newest} order by call_id desc limit ${lanesLooked}) as recent
        union
        select call_id from (${newest} and next_attempt_at is null and parked_at is null
          order by call_id desc limit ${lanesLooked}) as settled)`.execute(this.#store.db);
    return rows[0]?.at ?? null;
  }

  async #lastFailure(endpoint: string): Promise<EndpointFailure | null> {
    const { rows } = await sql<EndpointFailure>`
      select last_attempt_at as at, last_status as status, last_error as reason, call_id as "callId"
      from deliveries
      where endpoint = ${endpoint} and state in ${undelivered} and attempts > 0 and call_id in (
        select call_id from (select call_id from lanes where endpoint = ${endpoint}
          and next_attempt_at is not null order by next_attempt_at limit ${lanesLooked}) as waits
        union
        select call_id from (select call_id from lanes where endpoint = ${endpoint}
          and parked_at is not null order by parked_at desc limit ${lanesLooked}) as parks)
      order by last_attempt_at desc limit 1`.execute(this.#store.db);
    return rows[0] ?? null;
  }

  async #counts(callIds: readonly string[]) {
    const { rows } = await sql<{
      endpoint: string;
      call_id: string;
      state: string;
      count: number | string;
      tried: number | null;
      settled: number | null;
    }>`
      select endpoint, call_id, state, count(*) as count, max(last_attempt_at) as tried,
        max(case when state = 'delivered' then settled_at end) as settled
      from deliveries where call_id in (${sql.join(callIds)})
      group by endpoint, call_id, state`.execute(this.#store.db);
    return Map.groupBy(
      rows.map((row) => ({ ...row, count: Number(row.count) })),
      (row) => laneName(row.endpoint, row.call_id),
    );
  }

  async #heads(callIds: readonly string[]): Promise<Map<string, LaneHead>> {
    const { rows } = await sql<
      LaneHead & { endpoint: string; call_id: string; parked_reason: string | null }
    >`
      select lanes.endpoint, lanes.call_id, lanes.parked_reason, heads.event_id, heads.type, heads.sequence,
        heads.attempts, heads.last_status as status, heads.last_error as reason
      from lanes join deliveries as heads on heads.endpoint = lanes.endpoint and heads.event_id = (
        select event_id from deliveries where deliveries.endpoint = lanes.endpoint
          and deliveries.call_id = lanes.call_id and state in ${undelivered} order by sequence limit 1)
      where lanes.call_id in (${sql.join(callIds)})`.execute(this.#store.db);
    return new Map(
      rows.map(({ endpoint, call_id, parked_reason, ...head }) => [
        laneName(endpoint, call_id),
        { ...head, reason: head.reason ?? parked_reason },
      ]),
    );
  }

  async #firstBodies(callIds: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.#store.db
      .selectFrom('events')
      .select(['call_id', 'body'])
      .where('call_id', 'in', [...callIds])
      .where('sequence', '=', 1)
      .execute();
    return new Map(rows.map((row) => [row.call_id, row.body]));
  }
}

function conditionsOf(filter: LaneFilter) {
  const { state, endpoint, callId, type, sinceMs, untilMs, after } = filter;
  const isIn = sql`lanes.endpoint = deliveries.endpoint and lanes.call_id = deliveries.call_id`;
  // Few events are parked, so their calls are found from them. Waiting ones are found by an index of their own.
  const parked = sql`(endpoint, call_id) in (select endpoint, call_id from deliveries where state = 'parked')`;
  const waits = sql`exists (select 1 from deliveries where ${isIn} and deliveries.state = 'waiting')`;
  const ofState = {
    parked,
    pending: sql`${waits} and not (${parked})`,
    delivered: sql`not ${waits} and not (${parked})`,
  };
  const conditions = [sql`1 = 1`];
  if (state !== undefined) conditions.push(ofState[state]);
  if (endpoint !== undefined) conditions.push(sql`endpoint = ${endpoint}`);
  if (callId !== undefined) conditions.push(sql`call_id = ${callId}`);
  if (type !== undefined)
    conditions.push(
      sql`exists (select 1 from deliveries where ${isIn} and deliveries.type = ${type})`,
    );
  if (sinceMs !== undefined) conditions.push(sql`call_id >= ${firstId('call', sinceMs)}`);
  if (untilMs !== undefined) conditions.push(sql`call_id < ${firstId('call', untilMs)}`);
  if (after !== undefined)
    // The first condition locates the place in the index.
    conditions.push(
      sql`call_id <= ${after.callId} and (call_id < ${after.callId} or endpoint > ${after.endpoint})`,
    );
  return sql.join(conditions, sql` and `);
}

function latest(times: readonly (number | null)[]): number | null {
  return times.reduce(
    (last, at) => (at !== null && (last === null || at > last) ? at : last),
    null,
  );
}
