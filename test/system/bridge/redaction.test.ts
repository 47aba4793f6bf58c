import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { performTask } from '../../../src/language/perform.ts';
import type { LanguageRunner } from '../../../src/language/runner.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
} from '../../support/carriers/carrier-client.ts';
import { startCrm, type Crm } from '../../support/crm/crm.ts';
import { EventStreamReader } from '../../support/browser/event-stream.ts';
import { journalHolds } from '../../support/bridge/journal-bytes.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

type HeardSession = FakeSpeech['open'][number];

const number = '[CREDIT_CARD_1]';
const track = (session: HeardSession): string =>
  (session.request['custom_metadata'] as AnyJson).track;

function utterance(text: string, at: number) {
  const words = text.split(' ').map((word, place) => ({
    word: ` ${word}`,
    start: at + place / 10,
    end: at + place / 10 + 0.1,
    confidence: 1,
  }));
  const times = { start: at, end: at + words.length / 10 };
  return { ...times, confidence: 1, channel: 0, language: 'en', text: ` ${text}`, words };
}

/** A final, from every session of the track. */
function say(speech: FakeSpeech, on: string, text: string, at: number): void {
  const data = { id: `00_${at}`, is_final: true, utterance: utterance(text, at) };
  tell(speech, on, { type: 'transcript', data });
}

function saySentiment(speech: FakeSpeech, on: string, text: string, at: number): void {
  const spoken = utterance(text, at);
  const { start, end } = spoken;
  const results = [{ sentiment: 'negative', emotion: 'anger', text, start, end, channel: 0 }];
  const data = { utterance_id: `00_${at}`, utterance: spoken, results };
  tell(speech, on, { type: 'sentiment_analysis', error: null, data });
}

function tell(speech: FakeSpeech, on: string, message: object): void {
  speech.sendToAll((session) =>
    track(session) === on
      ? { session_id: session.id, created_at: new Date().toISOString(), ...message }
      : { type: 'nothing of yours' },
  );
}

const bothTracks = [
  { name: 'inbound', channels: 1 as const },
  { name: 'outbound', channels: 1 as const },
];

async function openCall(speech: FakeSpeech, app: Awaited<ReturnType<typeof testBridge>>) {
  const { stream } = await app.open({ tracks: bothTracks });
  for (const { name } of bothTracks) await speak(stream, name, seededAudio(1_600, 1));
  await until(() => speech.open.filter((session) => session.bytes.length === 1_600).length === 2);
  return stream;
}

const textsOf = (events: AnyJson[]): [string, string, string][] =>
  events
    .filter((event) => ['call.transcript', 'call.sentiment'].includes(event.type))
    .map((event) => [
      event.type.slice(5),
      event.leg.role,
      event.data.text ?? event.data.results[0].text,
    ]);

test('a card number cut over two finals is masked whole, with its sentiments, while the other speaker talks', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const config = { redactEntities: ['CREDIT_CARD'] };
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const stream = await openCall(speech, app);
  say(speech, 'inbound', 'my card is 4111 1111', 1);
  saySentiment(speech, 'inbound', 'my card is 4111 1111', 1);
  say(speech, 'outbound', 'and then', 2);
  say(speech, 'inbound', '1111 1111 thanks', 3);
  saySentiment(speech, 'inbound', '1111 1111 thanks', 3);
  await until(async () => (await app.callOf()).transcript.length === 3);
  stream.end('stop');
  await app.ended(stream.callId);
  const events = await app.events(stream.callId);
  expect(JSON.stringify([events, await app.callOf()])).not.toContain('1111');
  const shown = textsOf(events);
  // Each leg has a socket of its own: what the agent said came before or after, as the sockets had it.
  expect(shown.filter(([, role]) => role === 'customer')).toEqual([
    ['transcript', 'customer', `my card is ${number}`],
    ['sentiment', 'customer', `my card is ${number}`],
    ['transcript', 'customer', `${number} thanks`],
    ['sentiment', 'customer', `${number} thanks`],
  ]);
  expect(shown.filter(([, role]) => role === 'agent')).toEqual([
    ['transcript', 'agent', 'and then'],
  ]);
});

test('the live feed of a redacted call has its finals only: a number is no number yet while it is being said', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const config = { redactEntities: ['CREDIT_CARD', 'PHONE_NUMBER'] };
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  await using reader = await EventStreamReader.open(`${app.url}/api/live`);
  const stream = await openCall(speech, app);
  for (const text of ['call me on 555', 'call me on 555 010', 'call me on 555 010 0199'])
    tell(speech, 'inbound', {
      type: 'transcript',
      data: { id: '00_1', is_final: false, utterance: utterance(text, 1) },
    });
  say(speech, 'inbound', 'call me on 555 010 0199', 1);
  await reader.waitFor('call.transcript');
  stream.end('stop');
  await app.ended(stream.callId);
  await reader.waitFor('call.summary');
  expect(reader.of('partial')).toEqual([]);
  const [final] = reader.of('call.transcript');
  expect(final!.data.data.text).toBe('call me on [PHONE_NUMBER_1]');
  expect(JSON.stringify(reader.messages)).not.toContain('555 010');
});

test('a final that waits for the rest of a number leaves when the time is up, and the finals behind it follow', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const config = { redactEntities: ['CREDIT_CARD'] };
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const stream = await openCall(speech, app);
  const saidAtMs = performance.now();
  say(speech, 'inbound', 'the code is 4111 1111', 1);
  say(speech, 'outbound', 'one moment', 2);
  const events = await until(async () => {
    const list = textsOf(await app.events(stream.callId));
    return list.length === 2 && list;
  });
  expect(performance.now() - saidAtMs).toBeGreaterThan(2_900);
  expect(new Set(events.map(([, , text]) => text))).toEqual(
    new Set(['the code is 4111 1111', 'one moment']),
  );
  // A half that comes too late to save the first one is covered all the same.
  say(speech, 'inbound', '1111 1111 okay', 6);
  const later = await until(async () => textsOf(await app.events(stream.callId))[2]);
  expect(later[2]).toBe(`${number} okay`);
  stream.end('stop');
  await app.ended(stream.callId);
});

test('the end of a leg, and a pause, let go what waits', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const config = { redactEntities: ['CREDIT_CARD'] };
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const stream = await openCall(speech, app);
  say(speech, 'inbound', 'it begins 4111 1111', 1);
  await until(() => journalHolds(store.dataDir, 'it begins 4111 1111'));
  await app.get(`/api/calls/${stream.callId}/pause`, { method: 'POST' });
  const types = (await app.events(stream.callId)).map((event) => event.type);
  expect(types).toEqual(['call.started', 'call.transcript', 'call.paused']);
  say(speech, 'inbound', 'again 4222 2222', 5);
  await until(() => journalHolds(store.dataDir, 'again 4222 2222'));
  stream.end('stop');
  await app.ended(stream.callId);
  const shown = textsOf(await app.events(stream.callId));
  expect(shown.map(([, , text]) => text)).toEqual([
    'it begins [CREDIT_CARD_1]',
    'again [CREDIT_CARD_2]',
  ]);
});

test('kill -9 while the head of a card number waits: the next process has it, and the CRM gets the number masked whole', async () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  await using crm = await startCrm([secret]);
  await using speech = await FakeSpeech.start();
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const start = (): Promise<App> =>
    startApp({
      dataDir,
      env: {
        TRUNKLINE_SPEECH_URL: speech.url,
        TRUNKLINE_ROLES: 'bridge',
        TRUNKLINE_REDACT: 'CREDIT_CARD',
        TRUNKLINE_REJOIN_WAIT_MS: '600000',
        TRUNKLINE_QUIET_FILL_MS: '0',
        TRUNKLINE_WEBHOOK_URL: crm.url,
        TRUNKLINE_WEBHOOK_SECRET: secret,
      },
    });
  {
    await using app = await start();
    const carrier = await twilioCall(app);
    await until(() => speech.open.some((session) => session.bytes.length > 0));
    say(speech, 'inbound', 'my card is 4111 1111', 1);
    await until(() => journalHolds(dataDir, 'my card is 4111 1111'));
    await app.end('SIGKILL');
    carrier.socket.terminate();
  }
  expect(finalsOf(crm)).toEqual([]);
  await using app = await start();
  await until(() => speech.open.some((session) => session.sockets === 2));
  say(speech, 'inbound', '1111 1111 thanks', 3);
  await until(() => finalsOf(crm).length === 2, 60_000);
  expect(finalsOf(crm)).toEqual([`my card is ${number}`, `${number} thanks`]);
  expect(app.lines.join()).not.toContain('1111 1111');
}, 180_000);

test('a process that stops while entities of a redacted call wait to be joined leaves none of them out', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const options = { store, speechUrl: speech.url, config: { redactEntities: ['CREDIT_CARD'], rejoinWaitMs: 60_000 } }; // prettier-ignore
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  const { promise: reached, resolve: reach } = Promise.withResolvers<undefined>();
  const language: LanguageRunner = {
    async run(task, input) {
      if (task === 'entitiesOverFinals') {
        reach(undefined);
        await released;
      }
      return performTask(task, input);
    },
    warm: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const text = 'my order number is 472 916 please';
  const app = await testBridge({ ...options, language });
  const { callId } = await openCall(speech, app);
  say(speech, 'inbound', text, 1);
  const results = [{ entity_type: 'NUMERICAL_PII', text: '472 916', start: 19, end: 26 }];
  const data = { utterance_id: '00_1', utterance: utterance(text, 1), results };
  tell(speech, 'inbound', { type: 'named_entity_recognition', error: null, data });
  await reached;
  const stopped = app[Symbol.asyncDispose]();
  // Long enough for a stop that waits for nothing to have forgotten the entities.
  await sleep(300);
  release(undefined);
  await stopped;
  await using next = await testBridge(options);
  const told = await until(async () =>
    (await next.events(callId)).find(({ type }) => type === 'call.entities'),
  );
  expect(told.data.results[0].text).toBe('472 916');
});

async function twilioCall(app: App): Promise<CarrierClient> {
  const asked = await app.get('/api/streams', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ carrier: 'twilio' }),
  });
  const { url } = (await asked.json()) as { url: string };
  const carrier = await CarrierClient.open(url);
  carrier.send(twilioConnected, twilioStart({ tracks: ['inbound'] }));
  carrier.send(twilioMedia(2, seededAudio(160, 3)));
  return carrier;
}

function finalsOf(crm: Crm): unknown[] {
  return crm.requests
    .filter(({ event }) => event.type === 'call.transcript')
    .map(({ event }) => (event['data'] as AnyJson).text);
}

test('a redacted call in another language covers its numbers, and says how far that goes, once', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { redactEntities: ['CREDIT_CARD', 'EMAIL_ADDRESS'] },
  });
  const stream = await openCall(speech, app);
  const sayInSpanish = (text: string, at: number) => {
    const data = { id: `00_${at}`, is_final: true, utterance: { ...utterance(text, at), language: 'es' } }; // prettier-ignore
    tell(speech, 'inbound', { type: 'transcript', data });
  };
  sayInSpanish('mi correo es ana punto ruiz arroba gmail punto com gracias', 1);
  sayInSpanish('y la tarjeta es cuatro uno uno uno, dos dos dos dos gracias', 3);
  await until(async () => (await app.callOf()).transcript.length === 2);
  stream.end('stop');
  await app.ended(stream.callId);
  const { transcript, warnings } = await app.callOf();
  expect(transcript.map(({ text }: AnyJson) => text)).toEqual([
    'mi correo es [EMAIL_1] gracias',
    'y la tarjeta es [NUMERICAL_PII_1] gracias',
  ]);
  const message =
    'Spanish is spoken: mail addresses and rows of four digits or more are covered, unless the words show what they count; names are covered beside a title alone';
  expect(warnings).toMatchObject([{ code: 'REDACTION_BY_FIGURES', message }]);
  const told = (await app.events(stream.callId)).filter(({ type }) => type === 'call.warning');
  expect(told.map(({ data }) => data)).toEqual([{ code: 'REDACTION_BY_FIGURES', message }]);
});
