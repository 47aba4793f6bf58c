import { json, Router } from 'express';
import type { Clock } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import { enqueueEvent } from '../../outbox/enqueue.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { Problem } from '../../port/problem.ts';
import { TestEventRequest, type TestEvent } from '../../protocol/api.ts';
import { eventExamples } from '../../protocol/event-examples.ts';
import type { CallEventType, NewCallEvent } from '../../protocol/events.ts';
import { check } from '../../protocol/validation.ts';
import type { Store } from '../../store/store.ts';
import type { LiveFeed } from '../live-feed.ts';

/**
 * POST /api/test-events: an example takes the way of real events, so that a receiver is tried with all that is between
 * it and a call. It belongs to no call: no list, no page and no figure of calls knows of it.
 */
export function testEventsApi({
  store,
  outbox,
  feed,
  clock,
}: {
  store: Store;
  outbox: Pick<Outbox, 'wake' | 'wanting'>;
  feed: LiveFeed;
  clock: Clock;
}): Router {
  const router = Router();
  router.post('/api/test-events', json({ limit: '4kb' }), async (request, response) => {
    const parsed = check(TestEventRequest, request.body ?? {});
    if (!parsed.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
    const { type } = parsed.value;
    const event = exampleOf(type, newId('call'), clock.now());
    const stored = await store.transaction((tx) => enqueueEvent(tx, event));
    outbox.wake();
    feed.publish({ kind: 'event', event: stored });
    const body: TestEvent = {
      event_id: stored.id,
      call_id: stored.callId,
      endpoints: outbox.wanting(type),
    };
    response.status(202).json(body);
  });
  return router;
}

function exampleOf(type: CallEventType, callId: string, now: number): NewCallEvent {
  const { call, leg, custom_metadata: customMetadata, data } = eventExamples[type];
  return {
    callId,
    type,
    occurredAt: now,
    isTest: true,
    ...(leg ? { leg } : {}),
    call: { ...call, id: callId },
    customMetadata,
    data,
  } as NewCallEvent; // the data is that of the type, which an example by name does not show
}
