import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play } from '../../../src/player/play.ts';
import { CallEvent } from '../../../src/protocol/events.ts';
import { CallWrapUp } from '../../../src/protocol/wrap-up.ts';
import { startCall, type SpokenCall } from '../../support/bridge/spoken-call.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { secret } from '../../support/crm/outbox.ts';
import { startApp } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { storeCalls } from '../../support/store/many-calls.ts';
import { temporaryFolder } from '../../support/store/store.ts';

async function aboutALamp(call: SpokenCall): Promise<void> {
  await call.say('agent', 'Thank you for calling, how can I help you?', 1);
  await call.say('customer', 'My lamp arrived broken. The order number is 472916.', 3);
  await call.say('agent', "I've refunded eighty nine dollars to your card.", 6);
  await call.say('customer', 'Great, thank you.', 9);
  await call.say('agent', 'I will email you the receipt tomorrow.', 11);
  await call.say('customer', 'Goodbye.', 14);
}

const wrapped = async (call: SpokenCall): Promise<AnyJson[]> =>
  (await call.events()).filter(({ type }: AnyJson) => type === 'call.wrapped');
const read = async (call: SpokenCall): Promise<CallWrapUp> =>
  CallWrapUp.parse((await call.ask('GET', '/wrap-up')).body);

test('a wrap-up is a draft while people speak, waits after the call, and is told once if nobody edits it', async () => {
  await using call = await startCall({ wrapUpS: 1 });
  await aboutALamp(call);
  const draft = await until(async () => {
    const now = await read(call);
    return now.wrap_up.promises.length === 1 ? now : undefined;
  });
  expect(draft).toMatchObject({ state: 'draft', revision: 0, due_at: null });
  await call.end();
  const { transcript } = await call.json();
  const [event] = await until(async () => {
    const events = await wrapped(call);
    return events.length > 0 ? events : undefined;
  });
  CallEvent.parse(event);
  const { data } = event;
  expect(data).toMatchObject({ revision: 1, edits: [] });
  expect(data.text).toContain("Agent refunded $89 to the customer's card.");
  const idOf = (words: string): string =>
    transcript.find(({ text }: AnyJson) => text.includes(words)).utterance_id;
  expect(data.wrap_up).toMatchObject({
    reason: {
      text: 'Customer reported that their lamp arrived broken.',
      utterance_ids: [idOf('lamp')],
    },
    done: [
      { text: "Agent refunded $89 to the customer's card", utterance_ids: [idOf('refunded')] },
    ],
    outcome: { value: 'resolved' },
    disposition: null,
  });
  expect(data.wrap_up.promises).toEqual([
    {
      id: expect.stringMatching(/^p[0-9a-f]{12}$/),
      who: 'agent',
      what: 'email the customer the receipt',
      until: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
      utterance_ids: [idOf('receipt')],
    },
  ]);
  expect(data.wrap_up.facts).toContainEqual({
    kind: 'number',
    text: '472916',
    value: '472916',
    utterance_ids: [idOf('472916')],
  });
  expect(await read(call)).toMatchObject({ state: 'delivered', revision: 1 });
  expect(await wrapped(call)).toHaveLength(1);
});

test('an edit is told at once with who changed what, and an order that changes nothing is not told', async () => {
  await using call = await startCall({ wrapUpS: 3_600 });
  await aboutALamp(call);
  expect((await call.ask('PUT', '/wrap-up', { wrap_up: {} })).status).toBe(409);
  await call.end();
  const before = await read(call);
  expect(before).toMatchObject({ state: 'waiting', revision: 0 });
  const [promise] = before.wrap_up.promises;
  const order = {
    by: 'Dana',
    revision: 0,
    wrap_up: {
      outcome: { value: 'open' },
      disposition: 'Damaged in transit',
      promises: [promise, { who: 'customer', what: 'send photos', until: '2026-12-11' }],
    },
  };
  const { status, body } = await call.ask('PUT', '/wrap-up', order);
  expect(status).toBe(200);
  const [event, ...more] = await wrapped(call);
  expect(more).toEqual([]);
  expect(event.data).toMatchObject({ revision: 1, wrap_up: body.wrap_up });
  expect(event.data.edits.map(({ field, by }: AnyJson) => [field, by])).toEqual([
    ['outcome', 'Dana'],
    ['promises', 'Dana'],
    ['disposition', 'Dana'],
  ]);
  // Untouched fields keep their proof, and a promise its id.
  expect(event.data.wrap_up.done).toEqual(before.wrap_up.done);
  expect(event.data.wrap_up.promises[0]).toEqual(promise);
  expect(event.data.text).toContain('Customer will send photos by Friday, 11 December.');
  expect((await call.ask('PUT', '/wrap-up', { ...order, revision: 1 })).status).toBe(200);
  expect((await call.ask('PUT', '/wrap-up', order)).status).toBe(409);
  expect(await wrapped(call)).toHaveLength(1);
});

const dispositions = [
  { name: 'Delivery', means: 'A parcel or delivery is late, lost, or was not handed over.' },
  { name: 'Damaged goods', means: 'Something that the customer bought arrived broken.', examples: ['The vase came in pieces.'] }, // prettier-ignore
  { name: 'Billing', means: 'A question about a bill or a charge.' },
];

test('a disposition of the list is suggested and marked, chosen from the list alone, and told as the person chose it', async () => {
  await using call = await startCall({ wrapUpS: 3_600, dispositions });
  await aboutALamp(call);
  await call.end();
  const before = await read(call);
  expect(before.dispositions).toEqual(['Delivery', 'Damaged goods', 'Billing']);
  expect(before.wrap_up).toMatchObject({ disposition: 'Damaged goods', disposition_by: 'words' });
  const put = (wrap_up: object) => call.ask('PUT', '/wrap-up', { by: 'Dana', wrap_up });
  const strange = await put({ disposition: 'Broken' });
  expect(strange.status).toBe(400);
  expect(JSON.stringify(strange.body)).toContain('choose one of: Delivery, Damaged goods, Billing');
  expect((await put({ disposition: 'Billing', disposition_by: 'words' })).status).toBe(400);
  // A confirmed suggestion is a choice.
  expect((await put({ disposition: 'Damaged goods' })).body.wrap_up).toMatchObject({ disposition: 'Damaged goods', disposition_by: 'person' }); // prettier-ignore
  expect((await put({ disposition: 'Delivery' })).status).toBe(200);
  const told = await wrapped(call);
  expect(told.map(({ data }) => [data.wrap_up.disposition, data.wrap_up.disposition_by])).toEqual([
    ['Damaged goods', 'person'],
    ['Delivery', 'person'],
  ]);
  expect(told.at(-1)?.data.text).toContain('Disposition: Delivery.');
  const rows = await call.store.db.selectFrom('wrap_ups').select(['chosen']).execute();
  expect(rows).toEqual([{ chosen: 'Delivery' }]);
  expect((await put({ disposition: null })).body.wrap_up).not.toHaveProperty('disposition_by');
  expect(await call.store.db.selectFrom('wrap_ups').select('chosen').execute()).toEqual([{ chosen: null }]); // prettier-ignore
});

test('orders that make no sense are refused with the reason, and an erasure leaves nothing of the record', async () => {
  await using call = await startCall({ wrapUpS: 3_600 });
  await aboutALamp(call);
  await call.end();
  const refusal = async (wrap_up: unknown, more: object = {}): Promise<string> => {
    const { status, body } = await call.ask('PUT', '/wrap-up', { wrap_up, ...more });
    expect(status).toBe(400);
    return JSON.stringify(body);
  };
  expect(await refusal({ outcome: { value: 'done' } })).toContain('outcome');
  expect(await refusal({ promises: [{ who: 'boss', what: 'pay', until: null }] })).toContain('who');
  expect(await refusal({ promises: [{ who: 'agent', what: 'pay', until: 'soon' }] })).toContain('until'); // prettier-ignore
  expect(await refusal({ done: [{ text: 'x'.repeat(1_001) }] })).toContain('done');
  expect(await refusal({ done: Array.from({ length: 61 }, () => ({ text: 'x' })) })).toContain('done'); // prettier-ignore
  expect(await refusal({ reasons: null })).toContain('reasons');
  expect(await refusal({ reason: { text: 'It broke.', utterance_ids: ['utt_strange'] } })).toContain('utt_strange'); // prettier-ignore
  expect(await refusal(undefined)).toContain('wrap_up');
  expect(await wrapped(call)).toEqual([]);
  expect((await call.ask('DELETE', '')).status).toBe(204);
  expect((await call.ask('GET', '/wrap-up')).status).toBe(404);
  expect((await call.ask('PUT', '/wrap-up', { wrap_up: {} })).status).toBe(404);
  expect(await call.store.db.selectFrom('wrap_ups').selectAll().execute()).toEqual([]);
});

test('a redacted number is in no field of the record', async () => {
  await using call = await startCall({ wrapUpS: 0, redactEntities: ['PCI', 'NAME'] });
  await call.say('agent', 'What is the card number?', 1);
  await call.say('customer', 'My name is Laura Bennett and it is 4242 4242 4242 4242.', 3);
  await call.say('agent', "I've blocked the card 4242 4242 4242 4242.", 8);
  await call.say('customer', 'Thank you.', 11);
  await call.end();
  const [event] = await until(async () => {
    const events = await wrapped(call);
    return events.length > 0 ? events : undefined;
  });
  expect(event.data.wrap_up.done).toHaveLength(1);
  expect(JSON.stringify(event)).not.toMatch(/4242|Laura|Bennett/);
});

test('a record that cannot be told keeps no other one waiting, and is tried again later', async () => {
  await using call = await startCall({ wrapUpS: 1 });
  const [other] = await storeCalls(call.store, 1);
  const row = { call_id: other?.id ?? '', text: '', edits: '[]', revision: 0, due_at: 0, chosen: null, chosen_at: null }; // prettier-ignore
  await call.store.db
    .insertInto('wrap_ups')
    .values({ ...row, record: '{' })
    .execute();
  await aboutALamp(call);
  await call.end();
  await until(async () => (await wrapped(call)).length === 1);
  const stuck = await until(async () => {
    const now = await call.store.db
      .selectFrom('wrap_ups')
      .select('due_at')
      .where('call_id', '=', row.call_id)
      .executeTakeFirstOrThrow();
    return now.due_at !== 0 && now;
  });
  expect(stuck.due_at).toBeGreaterThan(Date.now());
});

test('of ten people who edit the same revision at once one is heard, and the record is told once', async () => {
  await using call = await startCall({ wrapUpS: 3_600 });
  await aboutALamp(call);
  await call.end();
  const orders = Array.from(
    { length: 10 },
    (_, place) =>
    call.ask('PUT', '/wrap-up', { revision: 0, by: `person ${place}`, wrap_up: { disposition: `choice ${place}` } }), // prettier-ignore
  );
  const statuses = (await Promise.all(orders)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
  // An edited record no longer waits, whatever its time was.
  expect(await call.store.db.selectFrom('wrap_ups').select(['due_at', 'revision']).execute()).toEqual([{ due_at: null, revision: 1 }]); // prettier-ignore
  expect(await wrapped(call)).toHaveLength(1);
});

test('a process killed before the record is told tells it once after its next start', async () => {
  await using speech = await FakeSpeech.start();
  await using folder = await temporaryFolder();
  await using crm = await startCrm([secret]);
  const typesAt = (): string[] => crm.requests.map(({ event }) => event.type);
  const env = (seconds: string) => ({
    TRUNKLINE_INSECURE: '1',
    TRUNKLINE_ROLES: 'bridge',
    TRUNKLINE_SPEECH_URL: speech.url,
    TRUNKLINE_WEBHOOK_URL: crm.url,
    TRUNKLINE_WEBHOOK_SECRET: secret,
    TRUNKLINE_WEBHOOK_EVENTS: 'call.completed,call.wrapped',
    TRUNKLINE_WEBHOOK_POLL_MS: '100',
    TRUNKLINE_WRAP_UP_S: seconds,
  });
  {
    await using app = await startApp({ dataDir: folder.path, env: env('4') });
    await play({
      to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
      player: twilioPlayer,
      call: playedCall(twilioPlayer.newIds()),
      audio: [{ leg: 'customer', bytes: seededAudio(8_000, 1) }],
      speed: 10,
    });
    await until(() => typesAt().includes('call.completed'));
    await app.end('SIGKILL');
  }
  expect(typesAt()).toEqual(['call.completed']);
  await using app = await startApp({ dataDir: folder.path, env: env('0') });
  await until(() => typesAt().includes('call.wrapped'), 20_000);
  const { items } = (await (await app.get('/api/calls')).json()) as AnyJson;
  const { items: events } = (await (
    await app.get(`/api/calls/${items[0].id}/events`)
  ).json()) as AnyJson;
  expect(events.filter(({ type }: AnyJson) => type === 'call.wrapped')).toHaveLength(1);
  expect(new Set(crm.requests.map(({ event }) => event.id)).size).toBe(2);
}, 60_000);
