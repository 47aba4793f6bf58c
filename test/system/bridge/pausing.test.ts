import { expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { metrics } from '../../../src/lib/metrics.ts';
import { speak, testBridge } from '../../support/bridge/test-bridge.ts';
import { journalHolds } from '../../support/bridge/journal-bytes.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

const post = { method: 'POST' };

test('paused bytes reach nobody, silence of their length does, and both turns are told', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const secret = Buffer.from('4111111111111111'.repeat(500));
  const open = seededAudio(8_000, 1);
  const before = await audioBytes();

  const { stream, control } = await app.open();
  await speak(stream, 'inbound', open);
  expect((await app.get(`/api/calls/${stream.callId}/pause`, post)).status).toBe(200);
  await speak(stream, 'inbound', secret);
  const answer = await (await app.get(`/api/calls/${stream.callId}/resume`, post)).json();
  expect(answer).toMatchObject({ id: stream.callId, paused: false });
  await speak(stream, 'inbound', seededAudio(8_000, 2));
  stream.end('stop');
  const ended = await app.ended(stream.callId);

  expect(control.asked).toEqual(['pause', 'resume']);
  expect(await journalHolds(store.dataDir, open.subarray(0, 160))).toBe(true);
  expect(await journalHolds(store.dataDir, secret.subarray(0, 160))).toBe(false);
  const { bytes } = [...speech.sessions.values()][0]!;
  expect(bytes.length).toBe(24_000);
  expect(bytes.subarray(8_000, 16_000).every((byte) => byte === 0xff)).toBe(true);
  expect(ended.data.legs[0].ledger).toMatchObject({
    received: 24_000,
    acknowledged: 16_000,
    paused: 8_000,
  });
  expect(ended.data.legs[0].duration).toBe(3);
  expect(await audioBytes()).toEqual({
    received: before.received! + 24_000,
    acknowledged: before.acknowledged! + 16_000,
    gaps: before.gaps!,
    paused: before.paused! + 8_000,
    filler: before.filler! + 8_000,
  });
  const events = await app.events(stream.callId);
  expect(events.find((event) => event.type === 'call.paused').data.by).toBe('operator');
  expect(events.find((event) => event.type === 'call.resumed').data).toMatchObject({
    by: 'operator',
  });
});

/** The ledger of all legs of this process, as the metrics show it. */
async function audioBytes(): Promise<Record<string, number>> {
  const text = await metrics.metrics();
  const lines = text.matchAll(/^trunkline_leg_audio_bytes_total\{part="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...lines].map(([, part, bytes]) => [part!, Number(bytes)]));
}

test('a call stays paused while either side holds it, and says so once', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000, 1));
  stream.take({ type: 'paused' });
  await app.get(`/api/calls/${stream.callId}/pause`, post);
  stream.take({ type: 'resumed', discardedMs: 0 });
  await speak(stream, 'inbound', seededAudio(8_000, 2));
  await app.get(`/api/calls/${stream.callId}/resume`, post);
  await speak(stream, 'inbound', seededAudio(8_000, 3));
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(ended.data.legs[0].ledger).toMatchObject({
    received: 24_000,
    acknowledged: 16_000,
    paused: 8_000,
  });
  const turns = (await app.events(stream.callId)).filter((event) =>
    /paused|resumed/.test(event.type),
  );
  expect(turns.map((event) => [event.type, event.data.by])).toEqual([
    ['call.paused', 'carrier'],
    ['call.resumed', 'operator'],
  ]);
});

test('a pause outlives the stream and the process, and the stream that comes back starts paused', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const config = { rejoinWaitMs: 30_000 };
  const secret = seededAudio(8_000, 9);
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', seededAudio(8_000, 1));
    await app.get(`/api/calls/${callId}/pause`, post);
    await speak(stream, 'inbound', secret);
    stream.end('close');
  }
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const opened = await app.bridge.openStream(
    (await import('../../support/bridge/test-bridge.ts')).streamStart({ streamId: 'MZ2' }),
    { pause: () => undefined, resume: () => undefined, disconnect: () => undefined },
  );
  if (opened.outcome !== 'opened') throw new Error(opened.outcome);
  expect(opened.startPaused).toBe(true);
  await speak(opened.stream, 'inbound', secret);
  await app.get(`/api/calls/${callId}/resume`, post);
  await speak(opened.stream, 'inbound', seededAudio(8_000, 2));
  opened.stream.end('stop');
  const ended = await app.ended(callId);
  expect(ended.data.legs[0].ledger).toMatchObject({
    received: 32_000,
    acknowledged: 16_000,
    paused: 16_000,
  });
  for (const session of speech.sessions.values())
    expect(session.bytes.includes(secret.subarray(0, 400))).toBe(false);
  expect(await journalHolds(store.dataDir, secret.subarray(0, 160))).toBe(false);
});

test('a call that is over can be neither paused nor resumed', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  stream.end('stop');
  await app.ended(stream.callId);
  expect((await app.get(`/api/calls/${stream.callId}/pause`, post)).status).toBe(409);
  expect((await app.get('/api/calls/call_none/resume', post)).status).toBe(404);
});

test('digits are masked: an event says that a key was pressed, never which', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { dtmfEvents: true },
  });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(1_600, 1));
  for (const digit of '7391') stream.take({ type: 'dtmf', digit, track: 'inbound' });
  stream.end('stop');
  await app.ended(stream.callId);
  const events = await app.events(stream.callId);
  const keys = events.filter((event) => event.type === 'call.dtmf');
  expect(keys.map((event) => event.data)).toEqual(Array(4).fill({ at: 0.2, digit: '*' }));
  expect(JSON.stringify(await app.callOf())).not.toContain('7391');
});

test('key presses are no events unless they are asked for', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  stream.take({ type: 'dtmf', digit: '5', track: 'inbound' });
  stream.end('stop');
  await app.ended(stream.callId);
  expect((await app.events(stream.callId)).map((event) => event.type)).toEqual([
    'call.started',
    'call.ended',
    'call.summary',
    'call.completed',
  ]);
  expect(await until(async () => (await app.callOf()).counts.dtmf)).toBe(1);
});

test('audio that the carrier discarded during its pause is as long as the carrier says, not as our clock', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const clock = new TestClock(1);
  await using app = await testBridge({ store, speechUrl: speech.url, clock });
  const { stream } = await app.open();
  stream.take({ type: 'audio', track: 'inbound', payload: seededAudio(8_000, 1) });
  stream.take({ type: 'paused' });
  await clock.pass(1_170);
  stream.take({ type: 'resumed', discardedMs: 1_000 });
  stream.take({ type: 'audio', track: 'inbound', payload: seededAudio(8_000, 2) });
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(ended.data.legs[0].ledger).toMatchObject({ received: 16_000, filler: 8_000 });
});

test('a leg whose carrier sent nothing for a while by its own clock has silence of that length', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const clock = new TestClock(1);
  await using app = await testBridge({ store, speechUrl: speech.url, clock });
  const { stream } = await app.open();
  stream.take({ type: 'audio', track: 'inbound', payload: seededAudio(8_000, 1) });
  await clock.pass(1_700);
  stream.take({ type: 'quiet', track: 'inbound', durationMs: 500 });
  stream.take({ type: 'audio', track: 'inbound', payload: seededAudio(8_000, 2) });
  // A carrier that sets its clock by an hour was not quiet for an hour.
  stream.take({ type: 'quiet', track: 'inbound', durationMs: 3_600_000 });
  stream.take({ type: 'audio', track: 'inbound', payload: seededAudio(8_000, 3) });
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  const { filler } = ended.data.legs[0].ledger;
  expect(filler).toBeGreaterThanOrEqual(4_000);
  expect(filler).toBeLessThan(4_000 + 8_000);
});

test('twenty minutes without a frame are ten of silence and ten of a gap, by the carrier’s clock and after a pause', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  // Stands still but for what the test adds, while its timers run: gaps are exact however busy the machine is.
  const nowMs = { at: systemClock.monotonicMs() };
  const clock: Clock = { ...systemClock, monotonicMs: () => nowMs.at };
  await using app = await testBridge({ store, speechUrl: speech.url, clock });
  const { stream } = await app.open();
  const frame = seededAudio(8_000, 1);
  const hole = 1_200_000;
  stream.take({ type: 'audio', track: 'inbound', payload: frame });
  nowMs.at += hole;
  stream.take({ type: 'quiet', track: 'inbound', durationMs: hole });
  stream.take({ type: 'audio', track: 'inbound', payload: frame });
  stream.take({ type: 'paused' });
  nowMs.at += hole;
  stream.take({ type: 'resumed', discardedMs: 0 });
  stream.take({ type: 'audio', track: 'inbound', payload: frame });
  const gaps = await until(async () => {
    const told = (await app.events(stream.callId)).filter(({ type }) => type === 'call.gap');
    return told.length === 2 && told.map(({ data }) => data);
  });
  expect(gaps).toMatchObject([
    { cause: 'carrier', start: 601, end: 1_201, bytes: 0 },
    { cause: 'carrier', start: 1_202, end: 1_801, bytes: 0 },
  ]);
  const { ledger } = (await app.callOf()).legs[0];
  expect(ledger).toMatchObject({ received: 24_000, filler: 2 * 600 * 8_000 });
});

test('an absurd length of a pause costs no more than half a minute of silence; the rest is a gap', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  stream.take({ type: 'audio', track: 'inbound', payload: seededAudio(8_000, 1) });
  for (let time = 0; time < 50; time++) {
    stream.take({ type: 'paused' });
    stream.take({ type: 'resumed', discardedMs: 1_000_000_000 });
  }
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  const { received, filler } = ended.data.legs[0].ledger;
  expect(received).toBe(8_000);
  expect(filler).toBeLessThan(60 * 8_000);
  const gaps = (await app.events(stream.callId)).filter(({ type }) => type === 'call.gap');
  expect(gaps.length).toBeGreaterThan(0);
});
