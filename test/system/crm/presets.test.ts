import { describe, expect, test } from 'vitest';
import { doubles } from '../../support/crm/doubles/all.ts';
import type { CrmFault } from '../../support/crm/doubles/double.ts';
import { SalesforceDouble } from '../../support/crm/doubles/salesforce.ts';
import { GenericDouble } from '../../support/crm/doubles/generic.ts';
import { HubspotDouble } from '../../support/crm/doubles/hubspot.ts';
import {
  crmRowsOf,
  deliverThrough,
  endedCall,
  erasedCall,
  keepEvent,
  randomPlan,
  senderTo,
  troubleOfSchedules,
  wrappedCall,
} from '../../support/crm/crm-schedule.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { randomOf } from '../../support/faults/live-faults.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { eraseCall } from '../../../src/outbox/event-rows.ts';
import { presetNamed, presetNames } from '../../../src/crm/preset.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { endpointOf, EndpointSetting, typesOf } from '../../../src/outbox/config.ts';
import { Mapping } from '../../../src/outbox/mapping.ts';
import type { QueuedEvent } from '../../../src/outbox/claim-rows.ts';
import { OutboxTables } from '../../../src/outbox/tables.ts';
import { Sender } from '../../../src/outbox/sender.ts';

const caller = { id: '51', phones: ['+44 20 7946 0958'], at: '2026-01-01T00:00:00Z' };
const stranger = { id: '52', phones: ['+1 207 946 0958'], at: '2026-02-01T00:00:00Z' };
const number = '+442079460958';

test('each preset has a double', () => {
  expect(Object.keys(doubles).sort()).toEqual([...presetNames]);
});

test.each(presetNames)('%s is ready for every event that it gets by itself', async (name) => {
  const auth = { kind: 'client_credentials' as const, tokenUrl: '/token', clientId: 'a', clientSecret: 'b' }; // prettier-ignore
  const preset = presetNamed(name);
  const options = Object.fromEntries(
    Object.entries(preset.options).flatMap(([option, { required }]) =>
      required ? [[option, 'example']] : [],
    ),
  );
  const proof = preset.token === undefined ? { auth } : { token: 'a-token' };
  const url = 'https://crm.example.com';
  const setting = { name: 'crm', preset: name, url, options, ...proof };
  // As the start of the process does.
  await using mapping = new Mapping(endpointOf(EndpointSetting.parse(setting)), systemClock);
  expect(await mapping.check()).toEqual([]);
  const types = ['call.completed', 'call.wrapped', 'call.transcript.revised'];
  expect(() => EndpointSetting.parse({ ...setting, events: ['call.erased'] })).toThrow(
    `a preset takes ${types.join(' and ')} alone`,
  );
  const all = endpointOf(EndpointSetting.parse({ ...setting, events: 'all' }));
  const erased = preset.options['on_erase']?.default === 'delete' ? ['call.erased'] : [];
  expect(typesOf(all).toSorted()).toEqual([...types, ...erased].toSorted());
  // Whatever was chosen: who is to delete is told what was erased.
  const deletes = endpointOf(EndpointSetting.parse({ ...setting, events: ['call.completed'], options: { ...options, on_erase: 'delete' } })); // prettier-ignore
  expect(typesOf(deletes).toSorted()).toEqual(['call.completed', 'call.erased']);
  await using deleting = new Mapping(deletes, systemClock);
  expect(await deleting.check()).toEqual([]);
});

describe.each(presetNames)('%s', (name) => {
  const double = () => {
    const made = doubles[name]?.();
    if (!made) throw new Error(`no double of ${name}`);
    made.people = [caller, stranger];
    return made;
  };

  test('keeps one record of a call, with its text, under the contact of the number', async () => {
    await using store = await temporaryStore();
    const crm = double();
    const clock = new TestClock(1);
    await using sender = senderTo(crm, clock, crmRowsOf(store));
    await deliverThrough(() => sender, endedCall('call_1', number, 'Card was stolen'), clock);
    const [record, ...others] = crm.recordsOf('call_1');
    expect(others).toEqual([]);
    expect(record?.text).toContain('Card was stolen (call_1)');
    expect(record?.contact).toBe('51');
  });

  test('a replay changes the record that is there', async () => {
    await using store = await temporaryStore();
    const crm = double();
    const clock = new TestClock(1);
    await using sender = senderTo(crm, clock, crmRowsOf(store));
    for (let again = 0; again < 3; again++)
      await deliverThrough(() => sender, endedCall('call_1', number, 'Card was stolen'), clock);
    expect(crm.recordsOf('call_1')).toHaveLength(1);
  });

  test(
    'whatever goes wrong, the call has one record with the right text and contact',
    { timeout: 120_000 },
    async () => {
      await using store = await temporaryStore();
      const crm = double();
      const clock = new TestClock(1);
      crm.nowMs = () => clock.now();
      await using sender = senderTo(crm, clock, crmRowsOf(store));
      const random = randomOf(7);
      for (let round = 0; round < Number(process.env['CRM_ROUNDS'] ?? 40); round++) {
        const plan: (CrmFault | undefined)[] = randomPlan(random);
        const callId = `call_${round}`;
        crm.plan = [...plan];
        await deliverThrough(() => sender, endedCall(callId, number, 'Card was stolen'), clock);
        const shown = `${callId}: ${plan.map((one) => one ?? '-').join(' ')}`;
        const records = crm.recordsOf(callId);
        expect(records, shown).toHaveLength(1);
        expect(records[0]?.text, shown).toContain(`Card was stolen (${callId})`);
        expect(records[0]?.contact, shown).toBe('51');
      }
    },
  );
});

const makesAnew = presetNames.filter((name) => !['dynamics', 'generic'].includes(name));
test.each(makesAnew)('%s: a record that somebody deleted is made again, once', async (name) => {
  await using store = await temporaryStore();
  const crm = doubles[name]!();
  crm.people = [caller];
  const clock = new TestClock(1);
  await using sender = senderTo(crm, clock, crmRowsOf(store));
  const item = endedCall('call_1', number, 'Card was stolen');
  await deliverThrough(() => sender, item, clock);
  const [record] = crm.recordsOf('call_1');
  crm.remove(record?.id ?? '');
  await deliverThrough(() => sender, item, clock);
  expect(crm.recordsOf('call_1')).toHaveLength(1);
});

test.each(presetNames)('%s: an unknown number takes no contact', async (name) => {
  await using store = await temporaryStore();
  const crm = doubles[name]!();
  crm.people = [stranger];
  const clock = new TestClock(1);
  await using sender = senderTo(crm, clock, crmRowsOf(store));
  await deliverThrough(() => sender, endedCall('call_1', number, 'Card was stolen'), clock);
  // A note of Tryton belongs to a party: without one there is none.
  const kept = name === 'tryton' ? [] : [undefined];
  expect(crm.recordsOf('call_1').map(({ contact }) => contact)).toEqual(kept);
});

test.each(presetNames)(
  '%s: whatever goes wrong, a call that is wrapped up and edited has one record, and one task for each promise',
  { timeout: 120_000 },
  async (name) => {
    await using store = await temporaryStore();
    const double = doubles[name]!();
    expect(await troubleOfSchedules(double, { store, rounds: 20, seed: 11 })).toBeUndefined();
  },
);

test.each(presetNames)(
  '%s: a kill behind a step that was tried before writes the wrap-up once',
  async (name) => {
    await using store = await temporaryStore();
    const crm = doubles[name]!();
    crm.people = [{ id: '51', phones: ['+44 20 7946 0958'], at: '2026-01-01T00:00:00Z' }];
    const clock = new TestClock(1);
    crm.nowMs = () => clock.now();
    await using sender = senderTo(crm, clock, crmRowsOf(store));
    for (let before = 0; before < 8; before++) {
      const callId = `call_k${before}x`;
      const told = [
        endedCall(callId, '+442079460958', 'Card was stolen'),
        wrappedCall(callId, '+442079460958', { revision: 1, until: '2026-12-04', ids: ['p1'] }),
      ];
      for (const item of told) {
        await keepEvent(store, item);
        // The first attempt keeps what it has asked so far, the second one is killed behind its first request.
        if (item.type === 'call.wrapped') crm.plan = [...new Array<undefined>(before), 'busy', undefined, 'crash-before']; // prettier-ignore
        await deliverThrough(() => sender, item, clock);
        crm.plan = [];
      }
      expect(crm.wrapUpOf(callId)?.split('Text of revision 1').length).toBe(2);
    }
  },
);

test.each(presetNames)('%s: an edit opens no task that is done, and takes back the task of a promise that nobody made', async (name) => {
  await using store = await temporaryStore();
  const crm = doubles[name]!();
  crm.people = [caller];
  const clock = new TestClock(1);
  await using sender = senderTo(crm, clock, crmRowsOf(store));
  const tell = async (item: QueuedEvent): Promise<void> => {
    await keepEvent(store, item);
    await deliverThrough(() => sender, item, clock);
  };
  await tell(endedCall('call_1', number, 'Card was stolen'));
  await tell(wrappedCall('call_1', number, { revision: 1, until: '2026-12-04', ids: ['p1', 'p2'] }));
  crm.doTasks('call_1');
  await tell(wrappedCall('call_1', number, { revision: 2, until: '2026-12-04', ids: ['p1'] }));
  const task = { title: 'Promise p1', until: '2026-12-04', contact: '51', isOpen: false };
  expect(crm.tasksOf('call_1')).toEqual([task]);
  // The promise comes back, and so does its task.
  await tell(wrappedCall('call_1', number, { revision: 3, until: '2026-12-11', ids: ['p1', 'p2'] }));
  expect(crm.tasksOf('call_1')[1]).toMatchObject({ title: 'Promise p2', until: '2026-12-11', isOpen: true });
  // A call without a promise makes none.
  await tell(wrappedCall('call_2', number, { revision: 1, until: null, ids: [] }));
  expect(crm.tasksOf('call_2')).toEqual([]);
}); // prettier-ignore

test.each(presetNames)('%s: with on_erase: delete an erased call takes its record and its tasks with it, and one whose time is over leaves them', async (name) => {
  await using store = await temporaryStore();
  const crm = doubles[name]!();
  crm.people = [caller];
  const clock = new TestClock(1);
  const senderWith = (onErase: string) => {
    const setting = { ...crm.setting, options: { ...(crm.setting as { options?: object }).options, on_erase: onErase } };
    return new Sender({ ...endpointOf(EndpointSetting.parse(setting)), limits: {} }, clock, crm, crmRowsOf(store));
  };
  await using sender = senderWith('delete');
  for (const call of ['call_1', 'call_2', 'call_3'])
    for (const item of [endedCall(call, number, 'Card was stolen'), wrappedCall(call, number, { revision: 1, until: '2026-12-04', ids: ['p1', 'p2'] })]) {
      await keepEvent(store, item);
      await deliverThrough(() => sender, item, clock);
    }
  expect(crm.tasksOf('call_1')).toHaveLength(2);
  crm.plan = ['lost-after', undefined, 'busy'];
  await deliverThrough(() => sender, erasedCall('call_1', 'request'), clock);
  expect([crm.recordsOf('call_1'), crm.tasksOf('call_1')]).toEqual([[], []]);
  await deliverThrough(() => sender, erasedCall('call_2', 'retention'), clock);
  await using keeping = senderWith('keep');
  await deliverThrough(() => keeping, erasedCall('call_3', 'request'), clock);
  for (const call of ['call_2', 'call_3'])
    expect([crm.recordsOf(call).length, crm.tasksOf(call).length], call).toEqual([1, 2]);
  const links = crmRowsOf(store).links;
  expect([await links.of('crm', 'call_1'), await links.of('crm', 'call_2')]).toEqual([{ links: {}, unsure: [], answered: {} }, { links: {}, unsure: [], answered: {} }]);
}); // prettier-ignore

test('the record of a call that was wrapped up holds its outcome, its facts, its links and its transcript', async () => {
  await using store = await temporaryStore();
  const crm = new HubspotDouble();
  const clock = new TestClock(1);
  await using sender = senderTo(crm, clock, crmRowsOf(store));
  for (const item of [
    endedCall('call_1', number, 'Card was stolen'),
    wrappedCall('call_1', number, { revision: 1, until: null, ids: [] }),
  ]) {
    await keepEvent(store, item);
    await deliverThrough(() => sender, item, clock);
  }
  const lines = crm.recordsOf('call_1')[0]?.text.split('<br>');
  expect(lines?.map((line) => line.replace(/https:.*/, 'ADDRESS'))).toEqual([
    'Text of revision 1 (call_1)',
    '',
    'Outcome: resolved',
    'Mood of the customer: negative at first, neutral at the end',
    'Named in the call: Amount $89',
    'Call in Trunkline: ADDRESS',
    'Recording: ADDRESS',
    'Links open without a sign-in until Tuesday 10 February 2026.',
    '',
    'Transcript',
    '[0:00] Agent: Thank you for calling, how can I help?',
    '[0:04] Customer: I never got the refund.',
  ]);
});

test('a step for each entry remembers the record of each, and a list of nonsense is refused by name', async () => {
  await using store = await temporaryStore();
  const crm = new GenericDouble();
  const clock = new TestClock(1);
  const step = (each: string) => ({
    ...{ name: 'task', on: ['call.wrapped'], each, remember: { task: 'answer.body.id' } },
    request:
      '$lookup(links, "task_" & item.id) ? null : {"method": "POST", "path": "/tasks", "body": {"call": event.call.id, "what": item.what}}',
  });
  const senderWith = (each: string) =>
    new Sender(
      endpointOf(EndpointSetting.parse({
        ...{ name: 'crm', url: crm.setting.url, secrets: [], auth: { kind: 'bearer', token: crm.setting.token } },
        shape: { steps: [step(each)] },
      })),
      clock, crm, crmRowsOf(store),
    ); // prettier-ignore
  const item = wrappedCall('call_1', number, { revision: 1, until: null, ids: ['p1', 'p2'] });
  await using sender = senderWith('event.data.wrap_up.promises');
  for (let again = 0; again < 3; again++) await deliverThrough(() => sender, item, clock);
  expect(crm.tasksOf('call_1').map(({ title }) => title)).toEqual(['promise p1', 'promise p2']);
  for (const each of ['[1]', '[{"id": "A b"}]', '[1..40].{"id": "x" & $}', '"p1"']) {
    await using other = senderWith(each);
    await expect(
      deliverThrough(() => other, item, clock),
      each,
    ).rejects.toThrow('mapping step task');
  }
  expect(() => EndpointSetting.parse({ name: 'crm', url: crm.setting.url, shape: { steps: [{ ...step('[]'), on: ['call.wraped'] }] } })).toThrow('call.wraped is no type of event'); // prettier-ignore
});

test('a CRM that repeats a fetched token in its answer does not spread it', async () => {
  await using store = await temporaryStore();
  const crm = new SalesforceDouble();
  crm.repeatsProof = true;
  const clock = new TestClock(1);
  await using sender = senderTo(crm, clock, crmRowsOf(store));
  const item = endedCall('call_1', number, 'Card was stolen');
  const { signal } = new AbortController();
  const result = await sender.send(item, 60_000, clock.now(), signal);
  expect(result.verdict).toMatchObject({ kind: 'failed', status: 400 });
  expect(JSON.stringify(result)).toContain('********');
  expect(JSON.stringify(result)).not.toContain('access-token-of-the-crm');
});

test('an erased call leaves no link behind', async () => {
  await using store = await temporaryStore();
  const crm = new HubspotDouble();
  const clock = new TestClock(1);
  await using sender = senderTo(crm, clock, crmRowsOf(store));
  await deliverThrough(() => sender, endedCall('call_1', number, 'Card was stolen'), clock);
  const links = crmRowsOf(store).links;
  expect(Object.keys((await links.of('crm', 'call_1')).links)).toEqual(['record']);
  // An endpoint that deletes its record needs the id until it has done so.
  const deletes = endpointOf(EndpointSetting.parse({ ...crm.setting, options: { on_erase: 'delete' } })); // prettier-ignore
  const { endpoints } = new OutboxTables(store);
  await endpoints.saveEndpoints([deletes]);
  await store.transaction((tx) => eraseCall(tx, 'call_1', Date.now()));
  expect(Object.keys((await links.of('crm', 'call_1')).links)).toEqual(['record']);
  await endpoints.saveEndpoints([endpointOf(EndpointSetting.parse(crm.setting))]);
  await store.transaction((tx) => eraseCall(tx, 'call_1', Date.now()));
  expect((await links.of('crm', 'call_1')).links).toEqual({});
});

test('an error inside a 2xx is a refusal, told with the words of the CRM', async () => {
  await using store = await temporaryStore();
  const crm = new HubspotDouble();
  const clock = new TestClock(1);
  crm.refuseNext = true;
  await using sender = senderTo(crm, clock, crmRowsOf(store));
  const { verdict } = await sender.send(
    endedCall('call_1', number, 'Card was stolen'),
    60_000,
    clock.now(),
    new AbortController().signal,
  );
  expect(verdict).toMatchObject({
    kind: 'failed',
    scope: 'item',
    reason: 'HubSpot kept no record: Property values were not valid',
  });
});
