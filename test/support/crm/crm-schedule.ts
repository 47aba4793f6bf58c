import type { Clock } from '../../../src/lib/clock.ts';
import { endpointOf, EndpointSetting, type Endpoint } from '../../../src/outbox/config.ts';
import type { QueuedEvent } from '../../../src/outbox/claim-rows.ts';
import { queuedOf, Sender, type CrmRows } from '../../../src/outbox/sender.ts';
import { eventExamples } from '../../../src/protocol/event-examples.ts';
import type { CallEvent } from '../../../src/protocol/events.ts';
import { LinkRows } from '../../../src/crm/link-rows.ts';
import { TokenRows } from '../../../src/crm/token-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import type { TestClock } from '../clock/test-clock.ts';
import { Crash, faults, type CrmDouble, type CrmFault } from './doubles/double.ts';

/** The endpoint of a CRM double, without a limit of its rate. */
export function endpointOfDouble(double: CrmDouble): Endpoint {
  const endpoint = endpointOf(EndpointSetting.parse(double.setting));
  return { ...endpoint, limits: {} };
}

export function crmRowsOf(store: Store): CrmRows {
  return { links: new LinkRows(store), tokens: new TokenRows(store) };
}

/** The end of a call, as its row in the outbox. */
export function endedCall(callId: string, number: string, summary: string): QueuedEvent {
  const example = eventExamples['call.completed'];
  const event = {
    ...example,
    id: `evt_${callId}`,
    call: { ...example.call, id: callId, from: number },
    data: { ...example.data, summary: { type: 'general', text: `${summary} (${callId})` } },
  };
  return queuedOf(event as CallEvent);
}

/** The record of a call with promises, as its row in the outbox. */
export function wrappedCall(
  callId: string,
  number: string,
  { revision, until, ids }: { revision: number; until: string | null; ids: readonly string[] },
): QueuedEvent {
  const example = eventExamples['call.wrapped'];
  const promises = ids.map((id) => ({ id, who: 'agent' as const, what: `promise ${id}`, until, utterance_ids: [] })); // prettier-ignore
  const event = {
    ...example,
    id: `evt_${callId}_${revision}`,
    call: { ...example.call, id: callId, from: number },
    data: { ...example.data, revision, wrap_up: { ...example.data.wrap_up, promises } },
  };
  return queuedOf(event);
}

export function randomPlan(random: () => number): (CrmFault | undefined)[] {
  const count = Math.floor(random() * 9);
  const plan: (CrmFault | undefined)[] = [];
  for (let index = 0; index < count; index++) {
    while (random() < 0.4) plan.push(undefined);
    plan.push(faults[Math.floor(random() * faults.length)]);
  }
  return plan;
}

/** No schedule needs more attempts: eight faults, and the waits for a search index that is updated late. */
const maxAttempts = 40;

/** Makes attempts like the outbox until the event is delivered. Returns their number. */
export async function deliverThrough(
  sender: () => Sender,
  item: QueuedEvent,
  clock: TestClock,
): Promise<number> {
  let { progress } = item;
  for (let attempts = 1; attempts <= maxAttempts; attempts++) {
    try {
      const result = await sender().send({ ...item, progress }, 60_000, clock.now(), new AbortController().signal); // prettier-ignore
      const { verdict } = result;
      if (verdict.kind === 'delivered') return attempts;
      if (verdict.kind === 'failed' && verdict.scope === 'item')
        throw new Error(`refused for good: ${verdict.reason}`);
      ({ progress } = result);
      await clock.pass(verdict.kind === 'failed' ? (verdict.retryAfterMs ?? 5_000) : 5_000);
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      // The next process knows what the database knows, once the dead process's claim has expired.
      await clock.pass(30_000);
    }
  }
  throw new Error(`not delivered after ${maxAttempts} attempts`);
}

export function senderTo(double: CrmDouble, clock: Clock, rows: CrmRows): Sender {
  return new Sender(endpointOfDouble(double), clock, double, rows);
}
