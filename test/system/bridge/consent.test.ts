import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CallStream } from '../../../src/bridge/streams.ts';
import type { Store } from '../../../src/store/store.ts';
import { withdraws } from '../../../src/bridge/call/consent.ts';
import { journalHolds } from '../../support/bridge/journal-bytes.ts';
import { speak, testBridge, type TestBridge } from '../../support/bridge/test-bridge.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

const config = { consentWithdrawKey: '9', recording: 'on', rejoinWaitMs: 30_000 };
const press = (stream: CallStream, digit: string, track = 'inbound'): void =>
  stream.take({ type: 'dtmf', digit, track });
const isPaused = async (app: TestBridge): Promise<boolean> =>
  ((await app.callOf()) as { paused: boolean }).paused;

const recordingOf = (store: Store, id: string): Promise<unknown> =>
  store.db.selectFrom('calls').select('has_recording').where('id', '=', id).executeTakeFirst();

test('a key press withdraws the consent: nothing more is heard, and the audio of the call goes at its end', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const before = seededAudio(8_000, 1);
  const after = seededAudio(8_000, 2);
  const { stream, control } = await app.open();
  await speak(stream, 'inbound', before);
  press(stream, '8');
  expect(await isPaused(app)).toBe(false);
  press(stream, '9');
  press(stream, '9');
  expect(await isPaused(app)).toBe(true);
  const resumed = await app.get(`/api/calls/${stream.callId}/resume`, { method: 'POST' });
  expect(resumed.status).toBe(409);
  expect(await resumed.text()).toContain('the consent was withdrawn');
  await speak(stream, 'inbound', after);
  expect(await journalHolds(store.dataDir, before.subarray(0, 160))).toBe(true);
  const [session] = [...speech.sessions.values()];
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  await until(() => app.bridge.calls.get(stream.callId) === undefined);

  expect(ended.data.legs[0].ledger).toMatchObject({
    received: 16_000,
    acknowledged: 8_000,
    paused: 8_000,
  });
  expect(session!.bytes.includes(after.subarray(0, 160))).toBe(false);
  // The log of all legs lets go of its bytes within a minute; the recording is gone at once.
  expect(await readdir(join(store.dataDir, 'journal', 'legs'))).toEqual([]);
  expect(await journalHolds(store.dataDir, after.subarray(0, 160))).toBe(false);
  expect((await app.get(`/api/calls/${stream.callId}/recording`)).status).toBe(404);
  expect(control.asked).toEqual(['pause']);
  const call = await app.callOf();
  expect(call.warnings).toMatchObject([{ code: 'CONSENT_WITHDRAWN' }]);
  expect(await recordingOf(store, stream.callId)).toEqual({ has_recording: 0 });
  const events = await app.events(stream.callId);
  expect(events.find((event) => event.type === 'call.paused').data.by).toBe('consent');
  expect(events.at(-1).type).toBe('call.completed');
  await until(async () => {
    const left = await store.db.selectFrom('erasures').select('session_id').execute();
    return left.length === 0;
  });
  expect(speech.sessions.size).toBe(0);
});

test('a call that an operator holds already is told of too, and nobody lets it go', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(1_600, 1));
  await app.get(`/api/calls/${stream.callId}/pause`, { method: 'POST' });
  press(stream, '9');
  const resumed = await app.get(`/api/calls/${stream.callId}/resume`, { method: 'POST' });
  expect(resumed.status).toBe(409);
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  const events = await app.events(stream.callId);
  const pauses = events.filter(({ type }) => /paused|resumed/.test(type as string));
  expect(pauses.map(({ type, data }) => [type, data.by])).toEqual([
    ['call.paused', 'operator'],
    ['call.paused', 'consent'],
  ]);
  expect(ended.data.legs[0].ledger).toMatchObject({ received: 1_600, acknowledged: 1_600 });
});

test('a key that the agent presses withdraws nothing, and neither does a key without the setting', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const { stream } = await app.open({
    tracks: [
      { name: 'inbound', channels: 1, role: 'customer' },
      { name: 'outbound', channels: 1, role: 'agent' },
    ],
  });
  await speak(stream, 'inbound', seededAudio(1_600, 1));
  await speak(stream, 'outbound', seededAudio(1_600, 2));
  press(stream, '9', 'outbound');
  expect(await isPaused(app)).toBe(false);
  stream.end('stop');
  await app.ended(stream.callId);
  await using other = await testBridge({
    store,
    speechUrl: speech.url,
    config: { ...config, consentWithdrawKey: undefined },
  });
  const { stream: second } = await other.open({ carrierCallId: 'CA2', streamId: 'MZ2' });
  press(second, '9');
  expect(((await other.callOf('CA2')) as { paused: boolean }).paused).toBe(false);
  second.end('stop');
  await other.ended(second.callId);
});

test('a withdrawn consent outlives the process: the call stays paused, and its audio goes', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const audio = seededAudio(8_000, 1);
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', audio);
    press(stream, '9');
    await until(async () => (await app.events(callId)).some(({ type }) => type === 'call.paused'));
    stream.end('close');
  }
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { ...config, rejoinWaitMs: 0 },
  });
  await app.ended(callId);
  await until(() => app.bridge.calls.get(callId) === undefined);
  expect(await journalHolds(store.dataDir, audio.subarray(0, 160))).toBe(false);
  expect(await recordingOf(store, callId)).toEqual({ has_recording: 0 });
});

test('a withdrawn consent takes back what "Transcribe again" has given to the speech service', async () => {
  await using speech = await FakeSpeech.start();
  const { recordings } = speech;
  recordings.script.isSlow = true;
  await using store = await temporaryStore();
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', seededAudio(8_000, 1));
    stream.end('stop');
    await app.ended(callId);
    await until(() => app.bridge.calls.get(callId) === undefined);
    const again = await app.get(`/api/calls/${callId}/transcribe`, { method: 'POST' });
    expect(again.status).toBe(202);
    await until(() => recordings.jobs.size === 1);
  }
  // As a kill between the end and the summary of a call whose consent was withdrawn leaves the row.
  await store.db
    .updateTable('calls')
    .set({ paused: 4, summary_due: 1 })
    .where('id', '=', callId)
    .execute();
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  await until(() => recordings.jobs.size === 0 && recordings.uploads.size === 0);
  await until(async () => {
    const passes = await store.db.selectFrom('second_passes').select('id').execute();
    return passes.length === 0;
  });
  expect(await recordingOf(store, callId)).toEqual({ has_recording: 0 });
  const told = (await app.events(callId)).map(({ type }) => type as string);
  expect(told).not.toContain('call.transcript.revised');
});

describe('words that withdraw the consent', () => {
  const phrases = ['do not record me', "don't record"];

  test.each([
    ['Please do not record me.', true],
    ['Please DO NOT, record... me!', true],
    ['I don’t record anything', true],
    ['do not record', false],
    ['do not record meetings', false],
    ['', false],
  ])('%s', (text, is) => {
    expect(withdraws(text, phrases)).toBe(is);
    expect(withdraws(text, [])).toBe(false);
    expect(withdraws(text, ['...'])).toBe(false);
  });
});
