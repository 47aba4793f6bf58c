import { expect, test } from 'vitest';
import {
  speak,
  streamStart,
  testBridge,
  TestControl,
  type AnyJson,
} from '../../support/bridge/test-bridge.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

const twoTracks = {
  tracks: [
    { name: 'inbound', channels: 1 as const },
    { name: 'outbound', channels: 1 as const },
  ],
};

test('a close without stop waits for its stream, and the call goes on in the same record', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { rejoinWaitMs: 10_000 },
  });
  const first = seededAudio(16_000, 1);
  const second = seededAudio(16_000, 2);

  const opened = await app.open();
  await speak(opened.stream, 'inbound', first);
  opened.stream.end('close');
  expect((await app.callOf()).state).toBe('live');
  const again = await app.open({ streamId: 'MZ2' });
  expect(again.stream.callId).toBe(opened.stream.callId);
  await speak(again.stream, 'inbound', second);
  const goesOnAt = Date.now();
  again.stream.end('stop');
  await app.ended(opened.stream.callId);
  const { hung_up_at } = await store.db
    .selectFrom('calls')
    .select('hung_up_at')
    .executeTakeFirstOrThrow();
  expect(hung_up_at).toBeGreaterThanOrEqual(goesOnAt);

  const call = await app.callOf();
  expect(speech.posts.length).toBe(1);
  expect(call.legs).toHaveLength(1);
  expect(call.legs[0].ledger).toMatchObject({ received: 32_000, acknowledged: 32_000 });
  const heard = [...speech.sessions.values()][0]!.bytes;
  expect(heard.subarray(0, 16_000).equals(first)).toBe(true);
  expect(heard.subarray(-16_000).equals(second)).toBe(true);
});

test('a hundred drops and redials of one call keep one record, one session and one rising sequence', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { rejoinWaitMs: 30_000 },
  });
  let callId = '';
  for (let redial = 0; redial < 100; redial++) {
    const { stream } = await app.open({ streamId: `MZ${redial}` });
    callId ||= stream.callId;
    expect(stream.callId).toBe(callId);
    await speak(stream, 'inbound', seededAudio(1_600, redial));
    stream.end(redial === 99 ? 'stop' : 'close');
  }
  await app.ended(callId);
  const call = await app.callOf();
  expect(call.legs[0].ledger).toMatchObject({ received: 160_000, acknowledged: 160_000 });
  expect(speech.posts.length).toBe(1);
  const events = await app.events(callId);
  expect(events.map((event) => event.sequence)).toEqual(events.map((_, at) => at + 1));
});

test('a close without stop ends the call after the wait, by its reason, once', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { rejoinWaitMs: 1_500 },
  });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000, 1));
  stream.end('close');
  const closedAt = Date.now();
  stream.end('error');
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(ended.data.reason).toBe('close');
  // The phone call was over when its stream closed: the wait is not part of it.
  const call = await app.callOf();
  const lastedS = (closedAt - Date.parse(call.started_at)) / 1_000;
  expect(ended.data.duration).toBeLessThanOrEqual(Math.max(1, lastedS));
  const { hung_up_at } = await store.db
    .selectFrom('calls')
    .select('hung_up_at')
    .executeTakeFirstOrThrow();
  expect(Date.parse(call.ended_at) - hung_up_at!).toBeGreaterThanOrEqual(1_490);
  const events = await app.events(stream.callId);
  expect(events.filter((event) => event.type === 'call.ended')).toHaveLength(1);
});

test('an idle stream ends its call without waiting for another', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { rejoinWaitMs: 600_000 },
  });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000, 1));
  stream.end('idle');
  expect((await app.ended(stream.callId)).data.reason).toBe('idle');
});

test('media after the stop is counted and ignored', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000, 1));
  stream.end('stop');
  await speak(stream, 'inbound', seededAudio(8_000, 2));
  await app.ended(stream.callId);
  expect((await app.callOf()).legs[0].ledger.received).toBe(8_000);
});

test('the same stream twice is recognised, also when both come at once', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const opened = await Promise.all(
    Array.from({ length: 5 }, () => app.bridge.openStream(streamStart(), new TestControl())),
  );
  expect(opened.map((one) => one.outcome).toSorted()).toEqual([
    ...Array<string>(4).fill('duplicate'),
    'opened',
  ]);
  await until(() => speech.posts.length === 1);
  const list = await app.json('/api/calls');
  expect(list.items).toHaveLength(1);
  expect(list.items[0].legs).toHaveLength(1);
});

test('a second stream on the same track is answered without a second session, and takes over when the first goes', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const first = await app.open();
  const second = await app.open({ streamId: 'MZ2' });
  const audio = seededAudio(8_000, 1);
  for (let at = 0; at < audio.length; at += 160) {
    first.stream.take({ type: 'audio', track: 'inbound', payload: audio.subarray(at, at + 160) });
    second.stream.take({ type: 'audio', track: 'inbound', payload: audio.subarray(at, at + 160) });
  }
  first.stream.end('close');
  await speak(second.stream, 'inbound', seededAudio(8_000, 2));
  second.stream.end('stop');
  await app.ended(first.stream.callId);
  const call = await app.callOf();
  expect(speech.posts.length).toBe(1);
  expect(call.legs[0].ledger.received).toBe(16_000);
  expect(call.counts['second-stream-audio']).toBe(50);
});

test('a second stream of the call with another track joins it as a second leg', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const first = await app.open();
  const second = await app.open({ streamId: 'MZ2', tracks: [{ name: 'outbound', channels: 1 }] });
  expect(second.stream.callId).toBe(first.stream.callId);
  await Promise.all([
    speak(first.stream, 'inbound', seededAudio(8_000, 1)),
    speak(second.stream, 'outbound', seededAudio(8_000, 2)),
  ]);
  first.stream.end('stop');
  expect((await app.callOf()).state).toBe('live');
  second.stream.end('stop');
  await app.ended(first.stream.callId);
  const call = await app.callOf();
  expect(call.legs.map((leg: AnyJson) => leg.role)).toEqual(['customer', 'agent']);
  expect(speech.posts.length).toBe(2);
});

test('a stream for an ended call begins a new record that names the one it continues', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const first = await app.open();
  first.stream.end('stop');
  const second = await app.open();
  expect(second.stream.callId).not.toBe(first.stream.callId);
  const events = await app.events(second.stream.callId);
  expect(events[0].data.continues).toBe(first.stream.callId);
  expect((await app.json(`/api/calls/${second.stream.callId}`)).continues).toBe(
    first.stream.callId,
  );
});

test('two tracks become a customer and an agent on one clock, whoever comes first', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open(twoTracks);
  const [customer, agent] = [seededAudio(24_000, 1), seededAudio(24_000, 2)];
  for (let at = 0; at < customer.length; at += 160) {
    stream.take({ type: 'audio', track: 'outbound', payload: agent.subarray(at, at + 160) });
    stream.take({ type: 'audio', track: 'inbound', payload: customer.subarray(at, at + 160) });
  }
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  const call = await app.callOf();
  const said = (role: string) =>
    call.transcript.filter((turn: AnyJson) => turn.role === role).map((turn: AnyJson) => turn.text);
  expect(said('customer')).toEqual(wordsOf(customer));
  expect(said('agent')).toEqual(wordsOf(agent));
  expect(call.transcript.map((turn: AnyJson) => turn.start)).toEqual([0, 0, 1, 1, 2, 2]);
  expect(ended.data.talk).toEqual({ customer: 2.4, agent: 2.4 });
  expect(ended.data.talk_ratio).toEqual({ customer: 0.5, agent: 0.5 });
  expect(ended.data.legs).toHaveLength(2);
});

test('audio that the carrier lost is silence of its length and a declared gap, outside the books', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000, 1));
  stream.take({
    type: 'lost',
    track: 'inbound',
    durationMs: 1_000,
    cause: 'sequence numbers 51 to 100 are missing',
  });
  await speak(stream, 'inbound', seededAudio(8_000, 2));
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  const events = await app.events(stream.callId);
  const gap = events.find((event) => event.type === 'call.gap');
  expect(gap.data).toMatchObject({ cause: 'carrier', start: 1, end: 2, duration: 1, bytes: 8_000 });
  expect(ended.data.gap_count).toBe(1);
  expect(ended.data.legs[0].ledger).toEqual({
    received: 16_000,
    acknowledged: 16_000,
    gaps: 0,
    paused: 0,
    filler: 8_000,
  });
  expect(
    [...speech.sessions.values()][0]!.bytes.subarray(8_000, 16_000).every((byte) => byte === 0xff),
  ).toBe(true);
});

test('audio that no session takes is refused by name, and a full node says so', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url, config: { maxLegs: 1 } });
  const odd = await app.bridge.openStream(streamStart({ sampleRate: 11_025 }), new TestControl());
  expect(odd).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('11025') });
  const many = await app.bridge.openStream(streamStart(twoTracks), new TestControl());
  expect(many).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('capacity') });
  expect(speech.posts.length).toBe(0);
  expect((await app.json('/api/calls')).items).toEqual([]);
});

test('every encoding and rate of the interface reaches its session as declared', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const expected = {
    mulaw: ['wav/ulaw', 8],
    alaw: ['wav/alaw', 8],
    pcm8: ['wav/pcm', 8],
    pcm16: ['wav/pcm', 16],
  } as const;
  for (const [encoding, [wire, bits]] of Object.entries(expected))
    for (const sampleRate of [8_000, 16_000, 48_000]) {
      const id = `CA-${encoding}-${sampleRate}`;
      await app.open({
        carrierCallId: id,
        streamId: id,
        encoding: encoding as 'mulaw',
        sampleRate,
      });
      const session = await until(() =>
        [...speech.sessions.values()].find(
          (one) => (one.request['custom_metadata'] as AnyJson).carrier_call_id === id,
        ),
      );
      expect(session.request).toMatchObject({
        encoding: wire,
        bit_depth: bits,
        sample_rate: sampleRate,
      });
    }
});

test('a carrier that changes the language is heard in it from the next frame on, after a restart too', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const config = { rejoinWaitMs: 30_000 };
  const [first, second, third] = [1, 2, 3].map((seed) => seededAudio(8_000, seed));
  const languages = (): unknown[] =>
    [...speech.sessions.values()].map(
      (session) => (session.request['language_config'] as AnyJson)?.languages,
    );
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', first!);
    await until(() => [...speech.sessions.values()][0]?.bytes.length === 8_000);
    stream.take({ type: 'language', code: 'es-US' });
    stream.take({ type: 'language', code: 'es-US' });
    await until(() => speech.sessions.size === 2);
    await until(() => [...speech.sessions.values()][0]?.state === 'done');
    await speak(stream, 'inbound', second!);
    // Audio that was heard and not acknowledged is heard again after the restart.
    await until(async () => (await app.callOf()).legs[0].ledger.acknowledged === 16_000);
    stream.end('drain');
  }
  expect(languages()[1]).toEqual(['es']);
  speech.closeAll(4401);
  for (const session of speech.sessions.values()) session.state = 'done';
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const { stream } = await app.open({ streamId: 'MZ2' });
  await speak(stream, 'inbound', third!);
  await until(() => speech.sessions.size === 3);
  expect(languages()[2]).toEqual(['es']);
  await until(() => [...speech.sessions.values()][2]?.bytes.length === 8_000);
  stream.end('stop');
  const ended = await app.ended(callId);
  expect(ended.data.legs[0].ledger).toMatchObject({ received: 24_000, acknowledged: 24_000 });
  const said = (await app.callOf()).transcript.map((turn: AnyJson) => turn.text);
  expect(said).toEqual([first!, second!, third!].flatMap((audio) => wordsOf(audio)));
});

test('a stream whose rate is none of the interface says at what rate it goes on', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open({
    encoding: 'pcm16',
    sampleRate: 16_000,
    resampledFromHz: 24_000,
  });
  stream.end('stop');
  await app.ended(stream.callId);
  expect((await app.callOf()).warnings).toMatchObject([
    { code: 'RESAMPLED', message: expect.stringContaining('24000 Hz') as string },
  ]);
});

test('when a carrier streamed last outlives the process, and a test call is no stream of the carrier', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    const { stream } = await app.open({ parameters: { test_call: 'built-in conversation' } });
    stream.end('stop');
    await app.ended(stream.callId);
    expect(await app.bridge.lastStreamAt('twilio')).toBeUndefined();
    const { stream: real } = await app.open({ carrierCallId: 'CA2', streamId: 'MZ2' });
    real.end('stop');
    await app.ended(real.callId);
  }
  await using app = await testBridge({ store, speechUrl: speech.url });
  expect(await app.bridge.lastStreamAt('twilio')).toBeGreaterThan(0);
  expect(await app.bridge.lastStreamAt('telnyx')).toBeUndefined();
});

test('a call whose socket broke comes back when every place is taken, and a further leg does not', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const config = { maxLegs: 1, rejoinWaitMs: 600_000 };
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(1_600, 1));
  stream.end('close');
  const reason = 'the disk is nearly full';
  Object.defineProperty(store, 'acceptsNewCalls', { value: () => ({ ok: false, reason }) });
  const full = await app.bridge.openStream(streamStart({ ...twoTracks, streamId: 'MZ3' }), new TestControl()); // prettier-ignore
  expect(full).toEqual({ outcome: 'refused', reason });
  const again = await app.open({ streamId: 'MZ2' });
  await speak(again.stream, 'inbound', seededAudio(1_600, 2));
  again.stream.end('stop');
  const { data } = await app.ended(stream.callId);
  expect(data.legs).toMatchObject([{ ledger: { received: 3_200 } }]);
});
