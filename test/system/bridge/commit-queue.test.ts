import { expect, test } from 'vitest';
import { CommitQueue, type Draft } from '../../../src/bridge/events/commit-queue.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLog } from '../../support/recognition/recogniser.ts';
import { temporaryStore } from '../../support/store/store.ts';

const record = {
  id: '0197b0de-0000-7000-8000-000000000001',
  carrier: 'twilio',
  carrierCallId: 'CA-hearer',
  direction: undefined,
  from: undefined,
  to: undefined,
  startedAt: 0,
  metadata: {},
  overrides: {},
  continues: null,
};

function warned(code: string): Draft {
  const said = { type: 'call.warning', data: { code, message: 'of the test' } } as const;
  return { event: { said, occurredAt: 1 } };
}

test('a fault of a hearer costs neither what was stored nor what comes after it', async () => {
  await using store = await temporaryStore();
  const setAside: Draft[] = [];
  let told = 0;
  const queue = new CommitQueue({
    record,
    store,
    lease: { node: 'here', fence: 0 },
    onLeaseLost: () => undefined,
    clock: systemClock,
    log: silentLog,
    length: () => undefined,
    onCommitted() {
      told++;
      throw new TypeError('a hearer that fails');
    },
    onRefused: () => undefined,
    onSetAside: (draft) => setAside.push(draft),
  });
  expect(await queue.add(warned('FIRST'))).toBe(true);
  expect(await queue.add(warned('SECOND'))).toBe(true);
  const both = await Promise.all([queue.add(warned('THIRD')), queue.add(warned('FOURTH'))]);
  expect(both).toEqual([true, true]);
  const events = await store.db.selectFrom('events').select('type').execute();
  expect(events).toHaveLength(4);
  expect(told).toBeGreaterThan(1);
  expect(setAside).toEqual([]);
});

test('a fault in telling that a draft was set aside leaves the next one its turn', async () => {
  await using store = await temporaryStore();
  const queue = new CommitQueue({
    record,
    store,
    lease: { node: 'here', fence: 0 },
    onLeaseLost: () => undefined,
    clock: systemClock,
    log: silentLog,
    length: () => undefined,
    onCommitted: () => undefined,
    onRefused: () => undefined,
    onSetAside() {
      throw new Error('a hearer that fails');
    },
  });
  const impossible: Draft = { rows: () => Promise.reject(new TypeError('can never work')) };
  const [gone, stored] = await Promise.all([queue.add(impossible), queue.add(warned('NEXT'))]);
  expect([gone, stored]).toEqual([false, true]);
});
