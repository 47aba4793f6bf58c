import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
  twilioStop,
} from '../../support/carriers/carrier-client.ts';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { playCall } from '../../../src/player/play-call.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { secret as signingSecret } from '../../support/crm/outbox.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { bucketEnv, bucketMissing, startBucket } from '../../support/store/bucket.ts';
import { temporaryFolder } from '../../support/store/store.ts';
import { bytesOf, filesBelow } from '../../support/process/files-below.ts';

type ReadSecret = { digits: string; asked: string; said: readonly string[] };

/** Secrets as callers read them out: in one breath, in pieces, in pairs, with fillers and corrections, in figures and in words. */
const secrets: readonly ReadSecret[] = [
  { digits: '4242424242424242', asked: 'What is the card number?', said: ['four two four two', 'uh four two four two', 'four two four two', 'four two four two'] },
  { digits: '5555555555554444', asked: 'And the other card?', said: ['It is 5555 5555', '5555 4444.'] },
  { digits: '378282246310005', asked: 'Could you read me the card number?', said: ['Three seven eight two, eight two two four six three one, oh oh oh five.'] },
  { digits: '6011111111111117', asked: 'Which card are we charging?', said: ['sixty eleven eleven eleven', 'eleven eleven eleven seventeen'] },
  { digits: '4111111111111111', asked: 'The number of your card, please?', said: ['four one one one', 'one one one one one one one one', 'no wait, let me see', 'one one one one'] },
  { digits: '5105105105105100', asked: 'Go ahead with the card number.', said: ['Five one oh five, one oh five one, oh five one oh, five one oh oh.'] },
  { digits: '0429', asked: 'Expiry?', said: ['Oh four twenty nine.'] },
  { digits: '1127', asked: 'And the expiry date?', said: ['eleven', 'twenty seven'] },
  { digits: '0831', asked: 'Valid until?', said: ['It says oh eight slash thirty one.'] },
  { digits: '937', asked: 'And the three digits on the back?', said: ['Nine three seven.'] },
  { digits: '6284', asked: 'The security code?', said: ['six two', 'eight four'] },
  { digits: '715', asked: 'And the CVV?', said: ['It is seven one five.'] },
  { digits: '536728190', asked: 'Your social security number?', said: ['Five three six, seven two, eight one nine oh.'] },
  { digits: '418637592', asked: 'Your social?', said: ['four one eight', 'six three', 'seven five nine two'] },
  { digits: '629384715', asked: 'And your SSN?', said: ['My social is 629-38-4715.'] },
  { digits: '2125550147', asked: 'What is your phone number?', said: ['Two one two, five five five, oh one four seven.'] },
  { digits: '6175550193', asked: 'And another number to call you?', said: ['six one seven', 'five five five', 'oh one nine three'] },
  { digits: '4155550168', asked: 'And a mobile number?', said: ['You can call me at 415-555-0168.'] },
  { digits: '8085550126', asked: 'And at work?', said: ['My work phone is eight oh eight, five five five, oh one two six.'] },
  { digits: '0934772670702', asked: 'With cart?', said: ['My disease for five to zero, nine, three, four, seven, seven, two, six, seven, zero, seven, zero, two.'] },
  { digits: '3035550174', asked: 'What is the phone number of your wife?', said: ['It is three oh three five five five', 'zero one seven four.'] },
]; // prettier-ignore

const names = 'zero one two three four five six seven eight nine'.split(' ');
/** Four digits in a row of a longer secret are a part of it. */
const partDigits = 4;

/** Matches the digits in figures or in words, with marks, spaces and escapes between them. */
function patternOf(digits: string, mayBeFigures: boolean): RegExp {
  const between = '(?:[\\s,.\\-"\'\\\\/]|\\bum?h?\\b){0,4}';
  const each = Array.from(digits, (digit) => {
    const name = digit === '0' ? '(?:zero|oh)' : (names[Number(digit)] ?? '');
    return mayBeFigures ? `(?:${digit}|${name})` : name;
  });
  return new RegExp(`(?<![\\da-z])${each.join(between)}(?![\\da-z])`, 'i');
}

/** The secrets of which a text has all, or four digits in a row in words. Ids and times have short figures of their own. */
function leaksIn(text: string): string[] {
  return secrets
    .filter(({ digits }) => {
      const parts = Array.from({ length: Math.max(1, digits.length - partDigits + 1) }, (_, at) =>
        digits.slice(at, at + partDigits),
      );
      return (
        (digits.length > partDigits && patternOf(digits, true).test(text)) ||
        parts.some((part) => patternOf(part, false).test(text))
      );
    })
    .map(({ digits }) => digits);
}

function utterance(text: string, at: number) {
  const words = text.split(' ').map((word, place) => ({
    word: ` ${word}`,
    start: at + place / 50,
    end: at + place / 50 + 0.02,
    confidence: 1,
  }));
  const times = { start: at, end: at + words.length / 50 };
  return { ...times, confidence: 1, channel: 0, language: 'en', text: ` ${text}`, words };
}

/** Says the final with its add-ons on the leg, as a speech service tells them. */
function say(speech: FakeSpeech, track: 'inbound' | 'outbound', text: string, at: number): void {
  const said = utterance(text, at);
  const id = `00_${at}`;
  const { start, end } = said;
  const sentiment = { sentiment: 'negative', emotion: 'anger', text, start, end, channel: 0 };
  const entity = { entity_type: 'NUMERICAL_PII', text, start, end };
  const about = { utterance_id: id, utterance: said };
  const messages = [
    { type: 'transcript', data: { id, is_final: false, utterance: said } },
    { type: 'transcript', data: { id, is_final: true, utterance: said } },
    { type: 'sentiment_analysis', error: null, data: { ...about, results: [sentiment] } },
    { type: 'named_entity_recognition', error: null, data: { ...about, results: [entity] } },
  ];
  for (const message of messages)
    speech.sendToAll((session) =>
      (session.request['custom_metadata'] as AnyJson).track === track
        ? { session_id: session.id, created_at: new Date().toISOString(), ...message }
        : { type: 'nothing of yours' },
    );
}

/** A call of both tracks, with so many seconds of silence or of this audio on each: the times of words are bounded by the audio. */
async function twilioCall(
  app: App,
  speech: FakeSpeech,
  seconds: number,
  audio?: Record<'inbound' | 'outbound', Buffer>,
): Promise<CarrierClient> {
  const asked = await app.get('/api/streams', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ carrier: 'twilio' }),
  });
  const carrier = await CarrierClient.open(((await asked.json()) as { url: string }).url);
  carrier.send(twilioConnected, twilioStart({ tracks: ['inbound', 'outbound'] }));
  for (let second = 0; second < seconds; second++) {
    for (const [index, track] of (['inbound', 'outbound'] as const).entries()) {
      const sound =
        audio?.[track].subarray(second * 8_000, (second + 1) * 8_000) ?? Buffer.alloc(8_000, 0xff);
      carrier.send(twilioMedia(2 + 2 * second + index, sound, track));
    }
    // The call must be open before the rest comes: a stream whose call is being opened holds a minute.
    if (second === 1) await until(() => speech.open.filter(({ bytes }) => bytes.length > 0).length === 2); // prettier-ignore
  }
  const bytes = seconds * 8_000;
  await until(() => speech.open.filter((one) => one.bytes.length === bytes).length === 2, 60_000);
  return carrier;
}

/** A language model that keeps what it is asked, and answers with nonsense or never. */
async function listeningModel({ answers = true } = {}) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      asked.push(Buffer.concat(parts).toString());
      if (!answers) return;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ choices: [{ message: { content: 'no' } }] }));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    url: `http://127.0.0.1:${port}/v1`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

/** Reads an event stream until it is left. */
function feedOf(app: App, path: string, texts: string[]): AbortController {
  const left = new AbortController();
  void app
    .get(path, { signal: left.signal })
    .then(async ({ body }) => {
      for await (const part of body ?? []) texts.push(Buffer.from(part as Uint8Array).toString());
    })
    .catch(() => undefined); // left on purpose
  return left;
}

async function filesOf(folder: string): Promise<{ name: string; text: string }[]> {
  return Promise.all(
    (await filesBelow(folder)).map(async (path) => ({
      name: `file ${path}`,
      text: (await bytesOf(path)).toString('latin1'),
    })),
  );
}

test('the search for a secret finds it however it is written', () => {
  const ssn = secrets[12]!;
  for (const text of [
    'it is 536728190',
    'it is 536-72-8190.',
    'Five, three, six, seven. Two eight one nine zero',
    'the end is eight one nine oh',
  ])
    expect([text, leaksIn(text)]).toEqual([text, [ssn.digits]]);
  expect(leaksIn('my order number is 472916, I called three times')).toEqual([]);
});

test('of all secrets, with questions and digits that were misheard, none is in a webhook, a request to a CRM or a model, an answer, a log line or a file', async () => {
  await using crm = await startCrm([signingSecret]);
  await using speech = await FakeSpeech.start();
  speech.script.silenceHasNoWords = true;
  await using model = await listeningModel();
  await using folder = await temporaryFolder();
  const config = join(folder.path, 'config.yaml');
  const shape = { steps: [{ name: 'note', request: `{'path': '/notes', 'body': event}` }] };
  const endpoints = [
    { name: 'plain', url: crm.url, secrets: [signingSecret] },
    { name: 'mapped', url: `${crm.url}/mapped`, secrets: [signingSecret], shape },
  ];
  await writeFile(config, JSON.stringify({ outbox: { endpoints } }));
  const dataDir = join(folder.path, 'data');
  await using app = await startApp({
    dataDir,
    env: {
      TRUNKLINE_CONFIG: config,
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_ROLES: 'bridge,console',
      TRUNKLINE_REDACT: 'PCI,SSN,PHONE_NUMBER',
      TRUNKLINE_LLM_URL: model.url,
      TRUNKLINE_LLM_MODEL: 'listener',
      TRUNKLINE_LOG_LEVEL: 'trace',
      TRUNKLINE_QUIET_FILL_MS: '0',
    },
  });
  const feed: string[] = [];
  const all = feedOf(app, '/api/live', feed);
  const carrier = await twilioCall(app, speech, 100);
  const { items } = (await (await app.get('/api/calls')).json()) as { items: { id: string }[] };
  const callId = items[0]?.id ?? '';
  const own = feedOf(app, `/api/calls/${callId}/live`, feed);
  let at = 1;
  let finals = 0;
  const told = () => crm.requests.filter(({ event, path }) => event.type === 'call.transcript' && !path.includes('mapped')).length; // prettier-ignore
  for (const { asked: question, said } of secrets) {
    say(speech, 'outbound', question, at++);
    finals += 1;
    await until(() => told() >= finals, 30_000);
    for (const piece of said) say(speech, 'inbound', piece, at++);
    say(speech, 'inbound', 'That is it, I paid eighty nine dollars.', at++);
    finals += said.length + 1;
    await until(() => told() >= finals, 30_000);
  }
  carrier.send(twilioStop);
  await until(() => crm.requests.some(({ event }) => event.type === 'call.completed'), 60_000);
  const paths = [
    '/api/calls', `/api/calls/${callId}`, `/api/calls/${callId}/events`,
    ...['json', 'jsonl', 'txt', 'srt', 'vtt', 'csv'].map((format) => `/api/calls/${callId}/transcript?format=${format}`),
    ...['4242', 'four two four', '536728190', 'dollars'].map((words) => `/api/search?q=${encodeURIComponent(words)}`),
    ...['jsonl', 'csv', 'srt'].map((format) => `/api/search/export?q=dollars&format=${format}`),
    '/metrics',
  ]; // prettier-ignore
  const answers = await Promise.all(
    paths.map(async (path) => ({ name: path, text: await (await app.get(path)).text() })),
  );
  all.abort();
  own.abort();
  // A segment of the journal holds the sound and the words of a call until a moment after its end.
  const before = await until(async () => {
    const files = await filesOf(dataDir);
    return files.some(({ name, text }) => name.includes('.wal') && leaksIn(text).length > 0) ? undefined : files; // prettier-ignore
  }, 60_000);
  await app.end('SIGTERM');
  const after = await filesOf(dataDir);
  const everything = [
    ...crm.requests.map(({ path, body, event }) => ({ name: `${path} ${event.type}`, text: body.toString() })), // prettier-ignore
    ...model.asked.map((text) => ({ name: 'model', text })),
    { name: 'feed', text: feed.join('') },
    { name: 'log', text: app.lines.join('\n') },
    ...answers,
    ...before,
    ...after.map(({ name, text }) => ({ name: `${name} after the stop`, text })),
  ];
  // Each way out has the rest of the call: what is searched is what left.
  for (const way of ['/hook call.transcript', '/mapped', 'model', 'feed', `/api/calls/${callId}`, 'sqlite'])
    expect([way, everything.some(({ name, text }) => name.includes(way) && /\$89|eighty nine/.test(text))]).toEqual([way, true]); // prettier-ignore
  const leaks = everything.flatMap(({ name, text }) =>
    leaksIn(text).map((digits) => `${digits} in ${name}`),
  );
  expect([...new Set(leaks)]).toEqual([]);
}, 300_000);

test('with our own speech service and its recordings, a card that was spoken in pieces is in no answer, log line or file', async () => {
  await using crm = await startCrm([signingSecret]);
  await using app = await startApp({
    env: {
      TRUNKLINE_WEBHOOK_URL: crm.url,
      TRUNKLINE_WEBHOOK_SECRET: signingSecret,
      TRUNKLINE_REDACT: 'PCI',
      TRUNKLINE_LOG_LEVEL: 'trace',
    },
  });
  const digits = '4111111111111111';
  const four = ['four one one one', ...Array<string>(3).fill('one one one one')];
  const samples = joined([
    tones('my card is lost'),
    tones('my card is'),
    ...four.map((group) => tones(group)),
    tones('my order is lost please'),
  ]);
  await playCall({
    player: twilioPlayer,
    to: app.url.replace('http', 'ws'),
    api: { url: app.url },
    legs: [
      { leg: 'customer', samples, rateHz: 8_000 },
      { leg: 'agent', samples: new Int16Array(samples.length), rateHz: 8_000 },
    ],
    callId: 'CA77d0c1b2a3f44e5d8c9b0a1f2e3d4c5b',
  });
  await until(() => crm.requests.some(({ event }) => event.type === 'call.completed'), 60_000);
  const { items } = (await (await app.get('/api/calls')).json()) as { items: { id: string }[] };
  const callId = items[0]?.id ?? '';
  const answers = await Promise.all(
    [
      `/api/calls/${callId}`,
      `/api/calls/${callId}/events`,
      '/v2/live',
      '/v2/pre-recorded',
      '/api/search?q=one',
    ].map(
      // prettier-ignore
      async (path) => ({ name: path, text: await (await app.get(path)).text() }),
    ),
  );
  await app.end('SIGTERM');
  const everything = [
    ...crm.requests.map(({ body, event }) => ({
      name: event.type,
      text: body.toString(),
    })),
    { name: 'log', text: app.lines.join('\n') },
    ...answers,
    ...(await filesOf(app.dataDir)),
  ];
  const said = everything.filter(({ name }) => name === 'call.transcript').map(({ text }) => text);
  expect(said.join()).toContain('[CREDIT_CARD_1]');
  expect(said.join()).toContain('my order is lost please');
  const parts = [digits, '4111', '1111'].map((part) => patternOf(part, part === digits));
  expect(
    everything.filter(({ text }) => parts.some((part) => part.test(text))).map(({ name }) => name),
  ).toEqual([]);
}, 180_000);

function joined(parts: readonly Int16Array[]): Int16Array {
  const all = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const stores = [
  { where: 'on the disk', isBucket: false },
  { where: 'in a bucket', isBucket: true },
];
test.for(stores)(
  'kill -9 between the tone and the summary: the next process has the tone $where, and the call completes',
  { timeout: 240_000 },
  async ({ isBucket }, { skip }) => {
    skip(isBucket && bucketMissing !== undefined, bucketMissing);
    await using crm = await startCrm([signingSecret]);
    await using speech = await FakeSpeech.start();
    speech.script.silenceHasNoWords = true;
    await using folder = await temporaryFolder();
    await using bucket = isBucket ? await startBucket() : undefined;
    const dataDir = join(folder.path, 'data');
    await using model = await listeningModel({ answers: false });
    const env = {
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_REDACT: 'PCI',
      TRUNKLINE_WEBHOOK_URL: crm.url,
      TRUNKLINE_WEBHOOK_SECRET: signingSecret,
      TRUNKLINE_QUIET_FILL_MS: '0',
      ...(bucket ? { ...bucketEnv(bucket.url), TRUNKLINE_OBJECTS_TAIL_S: '1' } : {}),
    };
    const types = () => crm.requests.map(({ event }) => event.type);
    const audio = { inbound: seededAudio(80_000, 11), outbound: seededAudio(80_000, 12) };
    const secretOf = (leg: Buffer) => leg.subarray(3.1 * 8_000, 3.3 * 8_000);
    const inBucket = async (sound: Buffer): Promise<string[]> => {
      const found: string[] = [];
      for (const key of (await bucket?.keys()) ?? []) {
        const bytes = await bytesOf(bucket!.pathOf(key));
        if (bytes.includes(sound)) found.push(key);
      }
      return found;
    };
    let callId = '';
    {
      // The model never answers: between the tone and the commit of the summary there is time to kill.
      const slow = {
        TRUNKLINE_LLM_URL: model.url,
        TRUNKLINE_LLM_MODEL: 'listener',
        TRUNKLINE_LLM_TIMEOUT_MS: '60000',
        TRUNKLINE_SUMMARY_WAIT_MS: '100000',
      };
      await using app = await startApp({ dataDir, env: { ...env, ...slow } });
      const carrier = await twilioCall(app, speech, 10, audio);
      const { items } = (await (await app.get('/api/calls')).json()) as { items: { id: string }[] };
      callId = items[0]?.id ?? '';
      say(speech, 'inbound', 'My card is four two four two four two four two four two four two four two four two.', 3); // prettier-ignore
      await until(
        () => crm.requests.some(({ body }) => body.toString('utf8').includes('[CREDIT_CARD')),
        30_000,
      );
      // Audio of a running call is in the bucket as it came.
      if (bucket)
        for (const leg of Object.values(audio))
          await until(async () => (await inBucket(secretOf(leg))).length > 0, 30_000);
      carrier.send(twilioStop);
      await until(() => model.asked.length > 0, 60_000);
      await app.end('SIGKILL');
    }
    expect(types()).not.toContain('call.completed');
    await using app = await startApp({ dataDir, env });
    await until(() => types().includes('call.completed'), 60_000);
    expect(types().filter((type) => type === 'call.completed')).toHaveLength(1);
    if (bucket) {
      const areThere = (keys: string[], folder_: string) =>
        keys.filter((key) => key.startsWith(folder_)).length;
      await until(async () => areThere(await bucket.keys(), 'recordings/') === 2, 60_000);
      for (const leg of Object.values(audio)) {
        await until(async () => (await inBucket(secretOf(leg))).length === 0, 60_000);
        const rest = await inBucket(leg.subarray(6 * 8_000, 7 * 8_000));
        expect(areThere(rest, 'recordings/')).toBe(1);
      }
    }
    const wav = Buffer.from(await (await app.get(`/api/calls/${callId}/recording`)).arrayBuffer());
    const samplesAt = (second: number): number[] =>
      Array.from({ length: 800 }, (_, at) => wav.readInt16LE(44 + (second * 8_000 + at) * 4));
    const peakOf = (samples: number[]) => Math.max(...samples.map(Math.abs));
    // The tone is quieter than the noise of the call.
    expect([peakOf(samplesAt(1)) > 10_000, peakOf(samplesAt(8)) > 10_000]).toEqual([true, true]);
    expect(peakOf(samplesAt(3.2))).toBeLessThan(3_100);
  },
);
