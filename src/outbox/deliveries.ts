import { json, Router, type Request } from 'express';
import { z } from 'zod';
import { Problem } from '../port/problem.ts';
import {
  ApiCallDeliveryState,
  ApiDeliveryState,
  ReleaseCallRequest,
  RetryCallRequest,
  type ApiCallDelivery,
  type ApiDelivery,
  type ApiEndpoint,
} from '../protocol/delivery-reports.ts';
import { callEventTypes } from '../protocol/events.ts';
import { check } from '../protocol/validation.ts';
import type { DeliveryState } from '../store/schema.ts';
import type { Endpoint } from './config.ts';
import { exchangesFrom } from './exchanges.ts';
import { laneName } from './lane-name.ts';
import type { LaneFilter, LaneRow } from './lane-rows.ts';
import type { DeliveryRow } from './operator-rows.ts';
import { pastAttempts, type PastAttempt } from './past-attempts.ts';
import type { OutboxTables } from './tables.ts';

/** One page of deliveries that an operator asks for. */
type DeliveryListRequest = {
  state?: ApiDeliveryState | undefined;
  callId?: string | undefined;
  endpoint?: string | undefined;
  /** True lists one delivery per call: the event that the others wait for. */
  byCall?: boolean | undefined;
  cursor?: string | undefined;
  limit: number;
};

type DeliveryDetail = ApiDelivery & {
  history: (Omit<PastAttempt, 'at'> & { at: string })[];
};

/**
 * The id of a delivery, such as `evt_01J9....webhook`: event and endpoint, because one event goes to several
 * endpoints.
 */
function idOf(eventId: string, endpoint: string): string {
  return `${eventId}.${endpoint}`;
}

function partsOf(id: string): { eventId: string; endpoint: string } {
  const dot = id.indexOf('.');
  return dot < 0
    ? { eventId: id, endpoint: '' }
    : { eventId: id.slice(0, dot), endpoint: id.slice(dot + 1) };
}

/** The outbox as operators see it, and the actions that they can take. */
export class Deliveries {
  readonly #tables: OutboxTables;
  readonly #endpoints: () => readonly Pick<Endpoint, 'name' | 'url' | 'preset' | 'guarded'>[];
  readonly #changed: () => void;

  /** `changed` is called after every change, so that the dispatcher looks at once. */
  constructor(
    tables: OutboxTables,
    endpoints: () => readonly Pick<Endpoint, 'name' | 'url' | 'preset' | 'guarded'>[],
    changed: () => void,
  ) {
    this.#tables = tables;
    this.#endpoints = endpoints;
    this.#changed = changed;
  }

  async list(
    query: DeliveryListRequest,
  ): Promise<{ items: ApiDelivery[]; nextCursor: string | null }> {
    const filter = {
      state: query.state === undefined ? undefined : storedState(query.state),
      callId: query.callId,
      endpoint: query.endpoint,
      heads: query.byCall,
      after: query.cursor === undefined ? undefined : partsOf(query.cursor),
    };
    // One row more than the limit is read: it shows that there is a next page.
    const found = await this.#tables.operator.list(filter, query.limit + 1);
    const page = found.slice(0, query.limit);
    const last = page.at(-1);
    const waiting =
      query.byCall === true
        ? await this.#tables.operator.waitingOf([...new Set(page.map((row) => row.call_id))])
        : undefined;
    const behind = (row: DeliveryRow): Pick<ApiDelivery, 'behind'> =>
      waiting === undefined
        ? {}
        : { behind: Math.max(0, (waiting.get(laneName(row.endpoint, row.call_id)) ?? 1) - 1) };
    return {
      items: page.map((row) => ({ ...publicDelivery(row), ...behind(row) })),
      nextCursor: found.length > query.limit && last ? idOf(last.event_id, last.endpoint) : null,
    };
  }

  /** A row for each call and endpoint, newest calls first. */
  async calls(
    filter: LaneFilter,
    limit: number,
  ): Promise<{ items: ApiCallDelivery[]; nextCursor: string | null }> {
    const found = await this.#tables.lanes.list(filter, limit + 1);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      items: page.map(callDeliveryOf),
      nextCursor: found.length > limit && last ? idOf(last.callId, last.endpoint) : null,
    };
  }

  async find(id: string): Promise<DeliveryDetail | undefined> {
    const { eventId, endpoint } = partsOf(id);
    const row = await this.#tables.operator.find(eventId, endpoint);
    if (!row) return undefined;
    return {
      ...publicDelivery(row),
      history: pastAttempts(row.history).map((one) => ({
        ...one,
        at: new Date(one.at).toISOString(),
      })),
      exchanges: exchangesFrom(row.exchanges, row.body),
    };
  }

  /**
   * Retries a delivery: a parked one and those parked behind it continue; a waiting one is tried now; a delivered one
   * is sent again.
   */
  async retry(id: string): Promise<number | undefined> {
    const { eventId, endpoint } = partsOf(id);
    const changed = await this.#tables.operator.retry(eventId, endpoint);
    this.#changed();
    return changed;
  }

  /** Sends everything of the call from that sequence number on again, in order. */
  async retryCall(callId: string, from: number, endpoint?: string): Promise<number> {
    const changed = await this.#tables.operator.retryCall(callId, from, endpoint);
    this.#changed();
    return changed;
  }

  /** Delivers the events behind the parked first one, which stays parked. */
  async releaseCall(callId: string, endpoint?: string): Promise<number> {
    const changed = await this.#tables.operator.releaseCall(callId, endpoint);
    this.#changed();
    return changed;
  }

  async enable(endpoint: string): Promise<boolean> {
    const enabled = await this.#tables.endpoints.enableEndpoint(endpoint);
    this.#changed();
    return enabled;
  }

  async endpoints(): Promise<ApiEndpoint[]> {
    const active = await this.#tables.endpoints.activeEndpoints();
    const known = new Map(this.#endpoints().map((one) => [one.name, one]));
    return Promise.all(
      active.map(async (one) => {
        const health = await this.#tables.lanes.health(one.name);
        const { url, preset, guarded } = known.get(one.name) ?? {};
        const { lastFailure } = health;
        return {
          name: one.name,
          disabled_at: iso(one.disabledAt),
          reason: one.reason,
          // The path and the query may hold a key.
          host: url === undefined ? null : new URL(url).host,
          preset: preset ?? null,
          connected: guarded !== undefined,
          last_success_at: iso(health.lastSuccessAt),
          last_failure:
            lastFailure === null
              ? null
              : {
                  at: new Date(lastFailure.at).toISOString(),
                  status: lastFailure.status,
                  reason: lastFailure.reason,
                  call_id: lastFailure.callId,
                },
          waiting_calls: health.waiting,
          parked_calls: health.parked,
        };
      }),
    );
  }
}

/** The last failure of an endpoint that has taken no event since. */
export function failureSince({ last_failure: failure, last_success_at: success }: ApiEndpoint) {
  if (failure === null) return undefined;
  return success === null || failure.at > success ? failure : undefined;
}

function callDeliveryOf(row: LaneRow): ApiCallDelivery {
  const { head, nextAttemptAt } = row;
  return {
    call_id: row.callId,
    endpoint: row.endpoint,
    state: row.state,
    ...partiesIn(row.firstBody),
    counts: row.counts,
    head: head && {
      id: idOf(head.event_id, row.endpoint),
      type: head.type,
      sequence: head.sequence,
      attempts: head.attempts,
      status: head.status,
      reason: head.reason,
      next_attempt_at: iso(nextAttemptAt),
    },
    last_attempt_at: iso(row.lastAttemptAt),
    delivered_at: iso(row.deliveredAt),
  };
}

type PartyFacts = Pick<ApiCallDelivery, 'from' | 'to' | 'started_at' | 'test'>;

/** The parties, as an event of the call names them. An event that cannot be read names nobody. */
function partiesIn(body: string | null): PartyFacts {
  try {
    const { call, test } = JSON.parse(body ?? '{}') as {
      call?: { from?: string | null; to?: string | null; started_at?: string | null };
      test?: boolean;
    };
    const { from = null, to = null, started_at = null } = call ?? {};
    return { from, to, started_at, test: test === true };
  } catch {
    return { from: null, to: null, started_at: null, test: false };
  }
}

function publicDelivery(row: DeliveryRow): ApiDelivery {
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

function storedState(state: ApiDeliveryState): DeliveryState {
  return state === 'pending' ? 'waiting' : state;
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/* ---- The routes ---- */

const DeliveryListQuery = z.strictObject({
  state: ApiDeliveryState.optional(),
  call_id: z.string().max(200).optional(),
  by: z.enum(['call']).optional(),
  endpoint: z.string().max(200).optional(),
  cursor: z.string().max(300).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

const CallDeliveriesQuery = z.strictObject({
  state: ApiCallDeliveryState.optional(),
  endpoint: z.string().max(200).optional(),
  call_id: z.string().max(200).optional(),
  type: z.enum(callEventTypes).optional(),
  from_date: z.iso.datetime({ offset: true }).optional(),
  to_date: z.iso.datetime({ offset: true }).optional(),
  cursor: z.string().max(300).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

function laneFilterOf(query: z.infer<typeof CallDeliveriesQuery>): LaneFilter {
  const after = query.cursor === undefined ? undefined : partsOf(query.cursor);
  return {
    state: query.state,
    endpoint: query.endpoint,
    callId: query.call_id,
    type: query.type,
    sinceMs: query.from_date === undefined ? undefined : Date.parse(query.from_date),
    untilMs: query.to_date === undefined ? undefined : Date.parse(query.to_date),
    after: after && { callId: after.eventId, endpoint: after.endpoint },
  };
}

/** Routes under `/api/deliveries`, and the actions on a call's deliveries. */
export function deliveriesApi(deliveries: Deliveries): Router {
  const router = Router();
  router.get('/api/deliveries', async (request, response) => {
    const query = valid(DeliveryListQuery, request.query);
    const { items, nextCursor } = await deliveries.list({
      state: query.state,
      callId: query.call_id,
      endpoint: query.endpoint,
      byCall: query.by === 'call',
      cursor: query.cursor,
      limit: query.limit,
    });
    response.json({ items, next_cursor: nextCursor });
  });
  router.get('/api/deliveries/calls', async (request, response) => {
    const query = valid(CallDeliveriesQuery, request.query);
    const { items, nextCursor } = await deliveries.calls(laneFilterOf(query), query.limit);
    response.json({ items, next_cursor: nextCursor });
  });
  router.get('/api/deliveries/endpoints', async (_request, response) => {
    response.json({ items: await deliveries.endpoints(), next_cursor: null });
  });
  router.post('/api/deliveries/endpoints/:name/enable', async (request, response) => {
    if (!(await deliveries.enable(request.params.name))) throw new Problem(404, 'no such endpoint');
    response.status(202).json({ changed: 1 });
  });
  router.get('/api/deliveries/:id', async (request, response) => {
    response.json(found(await deliveries.find(request.params.id)));
  });
  router.post('/api/deliveries/:id/retry', async (request, response) => {
    response.status(202).json({ changed: found(await deliveries.retry(request.params.id)) });
  });
  router.post(
    '/api/calls/:id/deliveries/retry',
    json({ limit: '4kb' }),
    async (request, response) => {
      const body = valid(RetryCallRequest, bodyOf(request));
      const changed = await deliveries.retryCall(request.params.id, body.from, body.endpoint);
      response.status(202).json({ changed });
    },
  );
  router.post(
    '/api/calls/:id/deliveries/release',
    json({ limit: '4kb' }),
    async (request, response) => {
      const { endpoint } = valid(ReleaseCallRequest, bodyOf(request));
      const changed = await deliveries.releaseCall(request.params.id, endpoint);
      response.status(202).json({ changed });
    },
  );
  return router;
}

function bodyOf(request: Request): unknown {
  return request.body ?? {};
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Problem(404, 'no such delivery');
  return value;
}

function valid<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = check(schema, value);
  if (parsed.ok) return parsed.value;
  throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
}
