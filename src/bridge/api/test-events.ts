import { json, Router } from 'express';
import type { Clock } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import { enqueueEvent } from '../../outbox/enqueue.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { Problem } from '../../port/problem.ts';
import { TestEventRequest, type TestEvent } from '../../protocol/api.ts';
import { eventExamples } from '../../protocol/event-examples.ts';
import type { CallEventData, CallEventType, NewCallEvent } from '../../protocol/events.ts';
import { check } from '../../protocol/validation.ts';
import type { Store } from '../../store/store.ts';
import type { CallLinks } from '../call-links.ts';
import type { LiveFeed } from '../live-feed.ts';

type TestEventsOptions = {
  store: Store;
  outbox: Pick<Outbox, 'wake' | 'wanting'>;
  feed: LiveFeed;
  links: CallLinks;
  clock: Clock;
};

/**
 * Serves `POST /api/test-events`. An example event is sent like a real one, so it tests everything between this bridge
 * and the receiver. It belongs to no call and appears in no list, page or statistic.
 */
export function testEventsApi({ store, outbox, feed, links, clock }: TestEventsOptions): Router {
  const router = Router();
  router.post('/api/test-events', json({ limit: '4kb' }), async (request, response) => {
    const parsed = check(TestEventRequest, request.body ?? {});
    if (!parsed.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
    const { type, endpoint } = parsed.value;
    const { endpoints, leftOut } = receiversOf(outbox.wanting(type), endpoint, type);
    const event = exampleOf(type, newId('call'), clock.now(), links);
    const stored = await store.transaction((tx) => enqueueEvent(tx, event, endpoints));
    outbox.wake();
    feed.publish({ kind: 'event', event: stored });
    const body: TestEvent = {
      event_id: stored.id,
      call_id: stored.callId,
      endpoints,
      left_out: leftOut,
    };
    response.status(202).json(body);
  });
  return router;
}

/**
 * Selects the endpoints that get the example. An endpoint with a mapping must be named explicitly: its requests do not
 * say that the call is invented.
 */
function receiversOf(
  wanting: ReturnType<Outbox['wanting']>,
  named: string | undefined,
  type: CallEventType,
): { endpoints: string[]; leftOut: string[] } {
  if (named !== undefined) {
    if (!wanting.some(({ name }) => name === named))
      throw new Problem(400, `no webhook named ${named} wants ${type}`);
    return { endpoints: [named], leftOut: [] };
  }
  const names = (isMapped: boolean): string[] =>
    wanting.filter((one) => one.isMapped === isMapped).map(({ name }) => name);
  return { endpoints: names(false), leftOut: names(true) };
}

/** The example event with a new id, the present time, and links of this installation. */
function exampleOf(
  type: CallEventType,
  callId: string,
  now: number,
  links: CallLinks,
): NewCallEvent {
  const example = eventExamples[type];
  const byMs = now - Date.parse(example.occurred_at);
  const { call, leg, custom_metadata, data } = movedInTime(example, byMs) as typeof example;
  return {
    callId,
    type,
    occurredAt: now,
    isTest: true,
    ...(leg ? { leg } : {}),
    call: { ...call, id: callId },
    customMetadata: {
      ...custom_metadata,
      ...('call_id' in custom_metadata ? { call_id: callId } : {}),
    },
    data: type === 'call.completed' ? { ...data, ...linksOf(links, callId, now) } : data,
  } as NewCallEvent; // the data fits the type, but TypeScript cannot see this for an example that is chosen by name
}

/** Moves every time in the value by `byMs`. */
function movedInTime(value: unknown, byMs: number): unknown {
  return JSON.parse(JSON.stringify(value), (_key, part: unknown) =>
    typeof part === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(part)
      ? new Date(Date.parse(part) + byMs).toISOString()
      : part,
  ) as unknown;
}

function linksOf(
  links: CallLinks,
  callId: string,
  now: number,
): Pick<CallEventData<'call.completed'>, 'page_url' | 'recording_url' | 'links_expire_at'> {
  const made = links.linksOf(callId, now);
  return {
    page_url: made?.page ?? null,
    recording_url: made?.recording ?? null,
    links_expire_at: made === undefined ? null : new Date(made.expiresAt).toISOString(),
  };
}
