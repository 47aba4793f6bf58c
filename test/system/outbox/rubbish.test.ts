import { expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { enqueue, outboxOn, secret } from '../../support/crm/outbox.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

type Plant = (store: Store, callId: string) => Promise<unknown>;
const event =
  (set: Record<string, unknown>): Plant =>
  (store, callId) =>
    store.db
      .updateTable('events')
      .set(set)
      .where('call_id', '=', callId)
      .where('sequence', '=', 1)
      .execute();
const delivery =
  (set: Record<string, unknown>): Plant =>
  (store, callId) =>
    store.db
      .updateTable('deliveries')
      .set(set)
      .where('call_id', '=', callId)
      .where('sequence', '=', 1)
      .execute();
const lane =
  (set: Record<string, unknown>): Plant =>
  (store, callId) =>
    store.db.updateTable('lanes').set(set).where('call_id', '=', callId).execute();

/** One call each, whose first event or lane is what no program of ours would have written. */
const rubbish: Record<string, Plant> = {
  'a body that is no JSON': event({ body: '{"id": ' }),
  'a body of bytes': event({ body: Buffer.from([0xff, 0xfe, 0, 0x80]) }),
  'an empty body': event({ body: '' }),
  'a body that is null': event({ body: 'null' }),
  'an unknown type': event({ type: 'call.\u0000' }),
  'a time before all time': event({ occurred_at: -1e15 }),
  'a history that is no JSON': delivery({ history: '[{' }),
  'a history of another kind': delivery({ history: '5' }),
  'a history of impossible times': delivery({ history: '[{"at":1e300},{"at":"x"},null]' }),
  'progress that is no JSON': delivery({ progress: '}' }),
  'progress of another kind': delivery({ progress: '"x"' }),
  'a marker without content': delivery({ type: 'call.skipped', progress: '{}' }),
  'attempts without number': delivery({ attempts: -7 }),
  'a state of another program': delivery({ state: 'lost' }),
  'an event that is gone': (store, callId) =>
    store.db.deleteFrom('events').where('call_id', '=', callId).where('sequence', '=', 1).execute(),
  'deliveries that are gone': (store, callId) =>
    store.db.deleteFrom('deliveries').where('call_id', '=', callId).execute(),
  'a claim of nobody': lane({ claim_id: 'claim_of_nobody', claim_until: 9e15 }),
  'a time after all time': lane({ next_attempt_at: 9e15 }),
  'a time that is none': lane({ next_attempt_at: 'soon' }),
  'wakes without number': lane({ wakes: -1 }),
  'a first attempt in the future': lane({ first_attempt_at: 9e15 }),
};

test('rows of every kind of rubbish are delivered or parked, and hold nobody else up', async () => {
  await using store = await temporaryStore();
  await using crm = await startCrm([secret], ({ event }) => (event.id === '' ? 400 : 200));
  const shape = {
    steps: [{ name: 'note', request: '{"path": "/note", "body": event.data}' }],
  };
  const config = {
    refusedTries: 3,
    endpoints: [
      { name: 'skipping', url: crm.url, secrets: [secret], ordering: 'skip' },
      { name: 'mapped', url: crm.url, secrets: [secret], shape },
    ],
  };
  // The table of endpoints is what makes events wait.
  await (await outboxOn(store, crm.url, { config }))[Symbol.asyncDispose]();
  const calls = Object.keys(rubbish);
  for (const callId of [...calls, 'well'])
    for (let event = 0; event < 2; event++) await enqueue(store, callId);
  for (const [callId, plant] of Object.entries(rubbish)) await plant(store, callId);

  await using outbox = await outboxOn(store, crm.url, { config });
  let left: { endpoint: string; call_id: string }[] = [];
  const settled = async (): Promise<boolean> => {
    await store.db
      .updateTable('lanes')
      .set({ next_attempt_at: 0 })
      .where('next_attempt_at', '>', 0)
      .where('claim_id', 'is', null)
      .execute();
    outbox.wake();
    left = await store.db
      .selectFrom('lanes')
      .select(['endpoint', 'call_id'])
      .where('next_attempt_at', 'is not', null)
      .execute();
    return left.length === 0;
  };
  await until(settled).catch(() => undefined);
  expect(left).toEqual([]);
  const delivered = await store.db
    .selectFrom('deliveries')
    .select(['endpoint', 'sequence'])
    .where('call_id', '=', 'well')
    .where('state', '=', 'delivered')
    .execute();
  expect(delivered).toHaveLength(6);
  // Whatever was planted, the operator can look at it.
  for (const callId of calls) {
    const { items } = await outbox.deliveries.list({ callId, limit: 20 });
    for (const item of items) expect(await outbox.deliveries.find(item.id)).toBeDefined();
  }
  // Nothing is tried for ever: what is not delivered has had its three attempts and waits for somebody.
  const tried = Math.max(...[...requestsPerEvent(crm.requests).values()]);
  expect(tried).toBeLessThanOrEqual(3 * (config.endpoints.length + 1) + 3);
});

function requestsPerEvent(requests: { headers: Record<string, unknown> }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { headers } of requests) {
    const id = String(headers['webhook-id']);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}
