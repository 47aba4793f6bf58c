import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal } from '../../../src/bridge/journal/journal.ts';
import { legTotals } from '../../../src/bridge/leg/metrics.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { metrics } from '../../../src/lib/metrics.ts';
import { quietLog, speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

const texts = (call: AnyJson): string[] => call.transcript.map((turn: AnyJson) => turn.text);

test('a service that is down for longer than the call: the call is finishing, then complete, with no gap', async () => {
  await using store = await temporaryStore();
  const held = await FakeSpeech.start();
  const port = Number(new URL(held.url).port);
  await held[Symbol.asyncDispose]();
  await using app = await testBridge({ store, speechUrl: held.url });
  const audio = seededAudio(8_000 * 6, 3);

  const { stream } = await app.open();
  await speak(stream, 'inbound', audio);
  stream.end('stop');
  await until(async () => (await app.callOf()).state === 'finishing');
  await using speech = await FakeSpeech.start({ port: port });
  const ended = await app.ended(stream.callId);

  const call = await app.callOf();
  expect(texts(call)).toEqual(wordsOf(audio));
  expect(ended.data).toMatchObject({ gap_count: 0, deadline: null });
  expect(call.legs[0].ledger).toMatchObject({ received: audio.length, acknowledged: audio.length });
  expect(speech.posts.length).toBe(1);
});

test('a service that never comes back: the time that passed is named, the missing audio is a gap before the end', async () => {
  await using store = await temporaryStore();
  const gone = await FakeSpeech.start();
  await gone[Symbol.asyncDispose]();
  await using app = await testBridge({
    store,
    speechUrl: gone.url,
    config: { finishWithinMs: 1_500, finalsWaitMs: 500 },
  });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(16_000, 1));
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(ended.data).toMatchObject({ deadline: 'finishWithin', gap_count: 1 });
  expect(ended.data.legs[0].ledger).toMatchObject({
    received: 16_000,
    acknowledged: 0,
    gaps: 16_000,
  });
  const events = await app.events(stream.callId);
  expect(events.map((event) => event.type)).toEqual([
    'call.started',
    'call.gap',
    'call.ended',
    'call.summary',
    'call.completed',
  ]);
  expect(events[1].data).toMatchObject({ cause: 'deadline', start: 0, end: 2, bytes: 16_000 });
});

test('a socket cut three times while the caller speaks loses and doubles no word', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const audio = seededAudio(8_000 * 10, 4);
  const { stream } = await app.open();
  for (let second = 0, cuts = 0; second < 10; second++) {
    await speak(stream, 'inbound', audio.subarray(second * 8_000, (second + 1) * 8_000));
    const session = await until(() => [...speech.sessions.values()][0]);
    if (second % 3 === 1) {
      speech.cutAll();
      cuts++;
    }
    await until(() => session.sockets === cuts + 1);
  }
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(texts(await app.callOf())).toEqual(wordsOf(audio));
  expect(ended.data.reconnects).toBe(3);
  expect(ended.data.legs[0].ledger).toMatchObject({
    received: audio.length,
    acknowledged: audio.length,
    gaps: 0,
  });
});

test('a session that is gone is followed by another of the same leg, on the same clock', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const audio = seededAudio(8_000 * 6, 5);
  const { stream } = await app.open();
  await speak(stream, 'inbound', audio.subarray(0, 24_000));
  await until(async () => (await app.callOf()).transcript.length === 3);
  speech.closeAll(4408);
  await speak(stream, 'inbound', audio.subarray(24_000));
  stream.end('stop');
  await app.ended(stream.callId);
  const call = await app.callOf();
  expect(speech.posts.length).toBe(2);
  expect(texts(call)).toEqual(wordsOf(audio));
  expect(call.transcript.map((turn: AnyJson) => turn.start)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(call.legs).toHaveLength(1);
});

test('every message twice is stored once', async () => {
  await using speech = await FakeSpeech.start();
  Object.assign(speech.script, { twice: true, sentiment: true });
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const audio = seededAudio(24_000, 6);
  const { stream } = await app.open();
  await speak(stream, 'inbound', audio);
  stream.end('stop');
  await app.ended(stream.callId);
  const types = (await app.events(stream.callId)).map((event) => event.type);
  expect(types.filter((type) => type === 'call.transcript')).toHaveLength(3);
  expect(types.filter((type) => type === 'call.sentiment')).toHaveLength(3);
});

test('messages that a lost socket swallowed are read from the record: finals, sentiment and entities, once each, each after its final', async () => {
  await using speech = await FakeSpeech.start();
  Object.assign(speech.script, { sentiment: true, entities: true });
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const audio = seededAudio(8_000 * 5, 12);
  const { stream } = await app.open();
  await speak(stream, 'inbound', audio.subarray(0, 16_000));
  await until(async () => (await app.callOf()).transcript.length === 2);
  // The third second's words are lost, the fourth's add-ons.
  speech.script.swallow = (type) => type !== 'audio_chunk';
  await speak(stream, 'inbound', audio.subarray(16_000, 24_000));
  await until(async () => (await app.callOf()).legs[0].ledger.acknowledged === 24_000);
  speech.script.swallow = (type) => type !== 'audio_chunk' && type !== 'transcript';
  await speak(stream, 'inbound', audio.subarray(24_000, 32_000));
  await until(async () => (await app.callOf()).transcript.length === 3);
  delete speech.script.swallow;
  speech.cutAll();
  await speak(stream, 'inbound', audio.subarray(32_000));
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(texts(await app.callOf())).toEqual(wordsOf(audio));
  const events = (await app.events(stream.callId)).filter(
    (event) => event.sequence < ended.sequence,
  );
  const idsOf = (type: string): string[] =>
    events
      .filter((event) => event.type === type)
      .toSorted((one, other) => startOf(one) - startOf(other))
      .map((event) => event.data.utterance_id);
  const all = idsOf('call.transcript');
  expect(new Set(all).size).toBe(5);
  for (const type of ['call.transcript', 'call.sentiment', 'call.entities'])
    expect([type, idsOf(type)]).toEqual([type, all]);
  for (const [at, { type, data }] of events.entries())
    if (type === 'call.sentiment' || type === 'call.entities')
      expect(
        events.findIndex(
          (other) =>
            other.type === 'call.transcript' && other.data.utterance_id === data.utterance_id,
        ),
      ).toBeLessThan(at);
});

const startOf = ({ data }: AnyJson): number => data.start ?? data.utterance.start;

test('an uneven ledger is an alarm: a warning with the call, a metric, a line in the log', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  let callId = '';
  let legId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', seededAudio(8_000, 13));
    await until(async () => (await app.callOf()).legs[0].ledger.acknowledged === 8_000);
    legId = (await app.callOf()).legs[0].id;
  }
  {
    // No run of ours has ever lost count: somebody edits the journal.
    const dir = join(store.dataDir, 'journal');
    await using journal = await openJournal({ dir, clock: systemClock, log: quietLog });
    const left = journal.recovered.get(legId)!;
    left.snapshot.ledger.counts.received += 160;
  }
  const before = legTotals.unbalanced;
  await using app = await testBridge({ store, speechUrl: speech.url });
  const ended = await app.ended(callId);
  expect(ended.data.legs[0].ledger).toMatchObject({
    received: 8_160,
    acknowledged: 8_000,
    gaps: 0,
  });
  expect((await app.callOf()).warnings).toMatchObject([{ code: 'LEDGER_UNBALANCED' }]);
  expect(legTotals.unbalanced).toBe(before + 1);
  expect(await metrics.metrics()).toContain(`trunkline_ledger_unbalanced_total ${before + 1}`);
});

test('finals that come after the hang-up come before call.ended', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.finalsDelayMs = 1_000;
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { finalsWaitMs: 20_000 },
  });
  const audio = seededAudio(24_000, 7);
  const { stream } = await app.open();
  await speak(stream, 'inbound', audio);
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(ended.data.deadline).toBeNull();
  const events = await app.events(stream.callId);
  expect(events.slice(-3).map((event) => event.type)).toEqual([
    'call.ended',
    'call.summary',
    'call.completed',
  ]);
});

test('finals that never come: the call ends by its deadline, and says so before its end', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.finalsDelayMs = Infinity;
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { finalsWaitMs: 700 },
  });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(20_000, 8));
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(ended.data).toMatchObject({ deadline: 'finals', gap_count: 1 });
  const gap = (await app.events(stream.callId)).find((event) => event.type === 'call.gap');
  expect(gap.data).toMatchObject({ cause: 'deadline', bytes: 0, end: 2.5 });
  expect(ended.data.legs[0].ledger).toMatchObject({
    received: 20_000,
    acknowledged: 20_000,
    gaps: 0,
  });
});

test('an add-on that fails is an event with its error, never silence', async () => {
  await using speech = await FakeSpeech.start();
  Object.assign(speech.script, { sentiment: true, failAddons: true });
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000, 9));
  await until(async () => (await app.callOf()).transcript.length === 1);
  await speak(stream, 'inbound', seededAudio(8_000, 10));
  stream.end('stop');
  await app.ended(stream.callId);
  const events = await app.events(stream.callId);
  const [finals, failed] = ['call.transcript', 'call.sentiment'].map((type) =>
    events.filter((event) => event.type === type),
  ) as [AnyJson[], AnyJson[]];
  const idsOf = (told: AnyJson[]): string[] => told.map((event) => event.data.utterance_id);
  expect(failed).toHaveLength(2);
  expect(idsOf(failed)).toEqual(idsOf(finals));
  expect(failed[0].data).toMatchObject({ results: [], error: { message: 'sentiment failed' } });
});

test('429 is waited out while the audio is journalled', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.create = (count) =>
    count < 3 ? { status: 429, headers: { 'retry-after': '1' } } : undefined;
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const audio = seededAudio(24_000, 10);
  const { stream } = await app.open();
  await speak(stream, 'inbound', audio);
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(texts(await app.callOf())).toEqual(wordsOf(audio));
  expect(ended.data.gap_count).toBe(0);
});

test('finals that go back in time keep their times and the order of their arrival', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(1_600, 11));
  await until(
    () => speech.sessions.size === 1 && [...speech.sessions.values()][0]!.bytes.length === 1_600,
  );
  const final = (id: string, start: number) => (session: { id: string }) => ({
    session_id: session.id,
    created_at: new Date().toISOString(),
    type: 'transcript',
    data: {
      id,
      is_final: true,
      utterance: {
        start,
        end: start + 1,
        confidence: 1,
        channel: 0,
        language: 'en',
        text: ` ${id}`,
        words: [],
      },
    },
  });
  speech.sendToAll(final('late', 5));
  speech.sendToAll(final('early', 1));
  await until(async () => (await app.callOf()).transcript.length === 2);
  stream.end('stop');
  await app.ended(stream.callId);
  const said = (await app.events(stream.callId)).filter(
    (event) => event.type === 'call.transcript',
  );
  expect(said.map((event) => event.data.text)).toEqual(['late', 'early']);
  expect(texts(await app.callOf())).toEqual(['early', 'late']);
});
