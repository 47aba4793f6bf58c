import type { Clock } from '../../../src/lib/clock.ts';
import { endpointOf, EndpointSetting, type Endpoint } from '../../../src/outbox/config.ts';
import type { QueuedEvent } from '../../../src/outbox/claim-rows.ts';
import { queuedOf, Sender, type CrmRows } from '../../../src/outbox/sender.ts';
import { eventExamples } from '../../../src/protocol/event-examples.ts';
import type { CallEvent } from '../../../src/protocol/events.ts';
import { LinkRows } from '../../../src/crm/link-rows.ts';
import { EarlierRows } from '../../../src/outbox/earlier-rows.ts';
import { TokenRows } from '../../../src/crm/token-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { TestClock } from '../clock/test-clock.ts';
import { randomOf } from '../faults/live-faults.ts';
import { Crash, faults, type CrmDouble, type CrmFault } from './doubles/double.ts';

/** The endpoint of a CRM double, without a limit of its rate. */
export function endpointOfDouble(double: CrmDouble): Endpoint {
  const endpoint = endpointOf(EndpointSetting.parse(double.setting));
  return { ...endpoint, limits: {} };
}

export function crmRowsOf(store: Store): CrmRows {
  return {
    links: new LinkRows(store),
    tokens: new TokenRows(store),
    earlier: new EarlierRows(store),
  };
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
    sequence: example.sequence + revision,
    call: { ...example.call, id: callId, from: number },
    data: {
      ...example.data,
      text: `Text of revision ${revision} (${callId})`,
      revision,
      wrap_up: { ...example.data.wrap_up, promises },
    },
  };
  return queuedOf(event);
}

/** The erasure of a call, as its row in the outbox. */
export function erasedCall(callId: string, reason: 'request' | 'retention'): QueuedEvent {
  const example = eventExamples['call.erased'];
  return queuedOf({
    ...example,
    id: `evt_${callId}_erased`,
    call: { ...example.call, id: callId },
    data: { ...example.data, reason },
  });
}

/** The row of an event, as the process that told it wrote it. */
export async function keepEvent(store: Store, item: QueuedEvent): Promise<void> {
  const { eventId: id, callId: call_id, sequence, type, body } = item;
  await store.db
    .insertInto('events')
    .values({ id, call_id, sequence, type, occurred_at: 1, speech_ended_at: null, body })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
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

const caller = { id: '51', phones: ['+44 20 7946 0958'], at: '2026-01-01T00:00:00Z' };
const stranger = { id: '52', phones: ['+1 207 946 0958'], at: '2026-02-01T00:00:00Z' };

/**
 * Random schedules of up to eight faults over the life of a call at one CRM: it ends, its wrap-up goes out, somebody
 * edits the wrap-up. Answers the first schedule after which the CRM does not hold one record with the right text and
 * contact and one task for each promise; undefined where there is none.
 */
export async function troubleOfSchedules(
  double: CrmDouble,
  { store, rounds, seed }: { store: Store; rounds: number; seed: number },
): Promise<string | undefined> {
  const clock = new TestClock(1);
  double.nowMs = () => clock.now();
  double.people = [caller, stranger];
  const random = randomOf(seed);
  await using sender = senderTo(double, clock, crmRowsOf(store));
  for (let round = 0; round < rounds; round++) {
    const callId = `call_s${seed}r${round}x`;
    const plan = randomPlan(random);
    const shown = plan.map((one) => one ?? '-').join(' ');
    const told = [
      endedCall(callId, '+442079460958', 'Card was stolen'),
      wrappedCall(callId, '+442079460958', { revision: 1, until: '2026-12-04', ids: ['p1', 'p2'] }),
      wrappedCall(callId, '+442079460958', { revision: 2, until: '2026-12-11', ids: ['p1', 'p2'] }),
    ];
    // The faults begin with the first request of one of the three events, and go on into those after it.
    const first = Math.floor(random() * told.length);
    for (const [place, item] of told.entries()) {
      await keepEvent(store, item);
      if (place === first) double.plan = [...plan];
      await deliverThrough(() => sender, item, clock);
    }
    double.plan = [];
    const trouble = troubleOf(double, callId);
    if (trouble !== undefined) return `${callId}, faults from event ${first}: ${shown}: ${trouble}`;
  }
  return undefined;
}

function troubleOf(double: CrmDouble, callId: string): string | undefined {
  const records = double.recordsOf(callId);
  const [record] = records;
  if (records.length !== 1 || record === undefined) return `${records.length} records`;
  if (record.contact !== '51') return `the contact ${record.contact}`;
  const wrapUp = double.wrapUpOf(callId) ?? '';
  if (wrapUp.split(`Text of revision 2 (${callId})`).length !== 2) return `the text ${wrapUp}`;
  const tasks = JSON.stringify(double.tasksOf(callId));
  const wanted = JSON.stringify(
    ['p1', 'p2'].map((id) => ({ title: `Promise ${id}`, until: '2026-12-11', contact: '51', isOpen: true })),
  ); // prettier-ignore
  return tasks === wanted ? undefined : `the tasks ${tasks}`;
}
