import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { playbookFrom, ruleSetOf } from '../../../src/assist/rule-set.ts';
import { testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { answering } from '../../support/crm/hostile-crm.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

const outboxAt = (url: string) => ({
  endpoints: [{ name: 'crm', preset: 'generic', url, token: 'generic-token-0123456789' }],
});

/** An API of one's own that knows one contact, as soon as it is let go. */
async function crmThatKnows(from: string) {
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<boolean>();
  const { promise: mayAnswer, resolve: letGo } = Promise.withResolvers<boolean>();
  const server = createServer((request, response) => {
    request.resume();
    asked(true);
    const items = request.url?.endsWith('/tickets')
      ? [{ id: 7, title: 'Broken kettle' }]
      : [{ id: 51, phones: [from], created_at: '', name: 'Laura Brindlemoor', company: 'Quillfeather Ltd' }]; // prettier-ignore
    void mayAnswer.then(() => response.end(JSON.stringify({ items })));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isAsked,
    letGo: () => letGo(true),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const vocabulariesOf = ({ sessions }: FakeSpeech): unknown[] =>
  [...sessions.values()].map(
    ({ request }) =>
      (request['realtime_processing'] as AnyJson)?.custom_vocabulary_config?.vocabulary,
  );

test('a call that begins is heard at once; when the CRM has answered, the contact is on the call and its names are listened for', async () => {
  await using store = await temporaryStore();
  await using speech = await FakeSpeech.start();
  await using crm = await crmThatKnows('+15550100123');
  const session = {
    realtime_processing: {
      custom_vocabulary: true,
      custom_vocabulary_config: { vocabulary: ['Trunkline'] },
    },
  };
  await using app = await testBridge({
    ...{ store, speechUrl: speech.url, outbox: outboxAt(crm.url), config: { session } },
  });
  const { stream } = await app.open({ from: '+15550100123' });
  // The CRM has not answered, and the sessions are open.
  await crm.isAsked;
  await until(() => speech.sessions.size > 0);
  expect(vocabulariesOf(speech)[0]).toEqual(['Trunkline']);
  expect((await app.callOf()).contact).toBeNull();
  crm.letGo();
  const call = await until(async () => {
    const found = await app.callOf();
    return found.contact === null ? undefined : found;
  });
  expect(call.contact).toEqual({
    crm: 'crm',
    id: '51',
    name: 'Laura Brindlemoor',
    company: 'Quillfeather Ltd',
    tickets: [{ id: '7', title: 'Broken kettle' }],
  });
  const names = ['Trunkline', 'Laura Brindlemoor', 'Brindlemoor', 'Quillfeather Ltd'];
  stream.take({ type: 'audio', track: 'inbound', payload: Buffer.alloc(160, 0xff) });
  await until(() => speech.sessions.size > 1);
  expect(vocabulariesOf(speech).at(-1)).toEqual(names);
  stream.end('stop');
  await app.ended(call.id);
  // No event tells of it.
  expect(JSON.stringify(await app.events(call.id))).not.toContain('Brindlemoor');
}, 30_000);

test('a CRM that never answers costs a call nothing but the name', async () => {
  await using store = await temporaryStore();
  await using speech = await FakeSpeech.start();
  await using crm = await answering('silent');
  await using app = await testBridge({ store, speechUrl: speech.url, outbox: outboxAt(crm.url) });
  const { stream } = await app.open({ from: '+15550100123' });
  await until(() => speech.sessions.size > 0);
  stream.end('stop');
  const call = await until(() => app.callOf());
  await app.ended(call.id);
  expect((await app.callOf()).contact).toBeNull();
}, 30_000);

test('the rare words of playbooks are listened for beside those of the call, in calls that they are for and in English', async () => {
  await using store = await temporaryStore();
  await using speech = await FakeSpeech.start();
  const rules = ruleSetOf([
    playbookFrom(
      'id: shop\nstatus: live\nscope: { direction: [inbound] }\nrules: [{ id: it, title: It, when: { phrase: { any: [the ombudsman] } }, then: [{ tag: t }] }]\n',
    ),
  ]);
  const playbooks = { current: rules, problems: [], load: () => Promise.resolve(false) };
  const heard = async (direction: 'inbound' | 'outbound', parameters: Record<string, string>) => {
    await using app = await testBridge({ ...{ store, speechUrl: speech.url, playbooks } });
    const before = speech.sessions.size;
    const { stream } = await app.open({ direction, parameters });
    await until(() => speech.sessions.size > before);
    stream.end('stop');
    await app.ended(stream.callId);
    return vocabulariesOf(speech)[before];
  };
  expect(await heard('inbound', { vocabulary: 'Oriane' })).toEqual(['Oriane', 'ombudsman']);
  expect(await heard('outbound', {})).toBeUndefined();
  expect(await heard('inbound', { language: 'es' })).toBeUndefined();
});
