import { expect, test } from 'vitest';
import { speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { frameBytes, numberedFrame, seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

test('audio of a stream becomes transcripts in order, and the call ends once with its ledger balanced', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const audio = seededAudio(8_000 * 5, 1);

  const { stream } = await app.open();
  await speak(stream, 'inbound', audio);
  stream.end('stop');
  const ended = await app.ended(stream.callId);

  const call = await app.json(`/api/calls/${stream.callId}`);
  expect(call.transcript.map((turn: AnyJson) => turn.text)).toEqual(wordsOf(audio));
  expect(call.state).toBe('ended');
  expect(call.legs[0].ledger).toEqual({
    received: 40_000,
    acknowledged: 40_000,
    gaps: 0,
    paused: 0,
    filler: 0,
  });
  expect(ended.data.reason).toBe('stop');
  const events = await app.events(stream.callId);
  expect(events.map((event) => event.sequence)).toEqual(events.map((_, at) => at + 1));
  expect(events.map((event) => event.type)).toEqual([
    'call.started',
    ...Array<string>(5).fill('call.transcript'),
    'call.ended',
    'call.summary',
    'call.completed',
  ]);
  expect(events[1]).toMatchObject({
    leg: { role: 'customer', track: 'inbound', session_id: [...speech.sessions.keys()][0] },
    custom_metadata: {
      call_id: stream.callId,
      carrier: 'twilio',
      role: 'customer',
      crmCase: 'C-20417',
    },
    data: {
      start: 0,
      end: 0.8,
      utterance_id: expect.stringMatching(/^utt_/) as string,
      language: 'en',
    },
  });
  expect(events.at(-3).leg).toBeUndefined();
  expect(events.at(-3).custom_metadata.leg_id).toBeUndefined();
  const session = [...speech.sessions.values()][0]!;
  expect(session.bytes.equals(audio)).toBe(true);
  expect(session.request).toMatchObject({
    encoding: 'wav/ulaw',
    bit_depth: 8,
    sample_rate: 8_000,
    channels: 1,
    realtime_processing: { sentiment_analysis: true, named_entity_recognition: true },
    custom_metadata: events[1].custom_metadata,
  });
  expect(await until(() => app.bridge.calls.all.length === 0)).toBe(true);
});

test('a call is as long as its phone call, in every event and in the API, however late its last words come', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  speech.script.finalsDelayMs = 700;
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  const frames = Array.from({ length: 60 }, (_, at) => numberedFrame(at));
  await speak(stream, 'inbound', Buffer.concat(frames), frameBytes);
  const live = await until(async () => {
    const call = await app.callOf();
    return call.transcript.length === 2 ? call : undefined;
  });
  expect(live).toMatchObject({ state: 'live', hung_up_at: null, duration: null });
  stream.end('stop');
  const finishing = await until(async () => {
    const call = await app.callOf();
    return call.state === 'finishing' ? call : undefined;
  });
  const ended = await app.ended(stream.callId);
  const call = await app.callOf();

  const { hung_up_at, duration } = call;
  expect(duration).toBe(1.2);
  expect(finishing).toMatchObject({ hung_up_at, duration, ended_at: null });
  expect(Date.parse(call.ended_at) - Date.parse(hung_up_at)).toBeGreaterThan(690);
  expect(ended.data).toMatchObject({ hung_up_at, duration, ended_at: call.ended_at });
  const told = (await app.events(stream.callId)).map(({ type, call: of }) => [type, of.duration]);
  expect(told).toEqual([
    ['call.started', null],
    ['call.transcript', null],
    ['call.transcript', null],
    // Its words came after the hang-up.
    ['call.transcript', duration],
    ['call.ended', duration],
    ['call.summary', duration],
    ['call.completed', duration],
  ]);
});
