import { createLog } from '../../../src/lib/log.ts';
import { newWebhookSecret } from '../../../src/lib/webhook-signature.ts';
import { OutboxConfig } from '../../../src/outbox/config.ts';
import { enqueueEvent, type StoredEvent } from '../../../src/outbox/enqueue.ts';
import { startOutbox, type Outbox, type OutboxOptions } from '../../../src/outbox/outbox.ts';
import { eventExamples } from '../../../src/protocol/event-examples.ts';
import type { CallEventType, NewCallEvent } from '../../../src/protocol/events.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Issued } from './delivery-checker.ts';
import { digestOf } from './crm.ts';

export const secret = newWebhookSecret();
export const silent = createLog({ level: 'silent' });

type OutboxSettings = Partial<Omit<OutboxOptions, 'config'>> & { config?: Record<string, unknown> };

export async function outboxOn(
  store: Store,
  url: string,
  settings: OutboxSettings = {},
): Promise<Outbox> {
  const { config, ...rest } = settings;
  return startOutbox({
    store,
    log: silent,
    config: OutboxConfig.parse({ webhookUrl: url, webhookSecret: secret, pollMs: 100, ...config }),
    ...rest,
  });
}

/** An event of the given call, like the example of its type. */
export function eventOf(
  callId: string,
  type: CallEventType = 'call.transcript',
  occurredAt = Date.now(),
): NewCallEvent {
  const { call, leg, custom_metadata, data } = eventExamples[type];
  return {
    callId, type, occurredAt, call: { ...call, id: callId }, customMetadata: custom_metadata, data,
    ...(leg ? { leg } : {}),
  } as NewCallEvent; // prettier-ignore
}

export function issuedOf(event: StoredEvent): Issued {
  return {
    callId: event.callId,
    sequence: event.sequence,
    id: event.id,
    digest: digestOf(event.body),
  };
}

/** Stores one event in its own transaction. */
export async function enqueue(
  store: Store,
  callId: string,
  type?: CallEventType,
  occurredAt?: number,
): Promise<Issued> {
  return issuedOf(
    await store.transaction((tx) => enqueueEvent(tx, eventOf(callId, type, occurredAt))),
  );
}
