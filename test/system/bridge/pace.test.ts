import { expect, test } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { speak, testBridge } from '../../support/bridge/test-bridge.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { until } from '../../support/process/until.ts';

test('a carrier that sends nothing while nobody speaks gets silence instead, so that words end and times stay true', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { quietFillMs: 300 },
  });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(1_600, 1));
  const quiet = await until(async () => {
    const { ledger } = (await app.callOf()).legs[0];
    return ledger.filler > 8_000 && ledger;
  });
  expect(quiet.received).toBe(1_600);
  await speak(stream, 'inbound', seededAudio(1_600, 2));
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(ended.data.gap_count).toBe(0);
  const { bytes } = [...speech.sessions.values()][0]!;
  expect(bytes.subarray(0, 1_600).equals(seededAudio(1_600, 1))).toBe(true);
  expect(bytes.subarray(-1_600).equals(seededAudio(1_600, 2))).toBe(true);
  expect(bytes.subarray(1_600, -1_600).every((byte) => byte === 0xff)).toBe(true);
});

test.each([
  ['falls silent without a word', undefined],
  ['falls silent and is cut off', 'close'],
] as const)(
  'a stream %s, and its carrier comes back: the silence that stood for it meanwhile is told as a gap',
  async (_, how) => {
    await using speech = await FakeSpeech.start();
    await using store = await temporaryStore();
    await using app = await testBridge({
      store,
      speechUrl: speech.url,
      config: { quietFillMs: 300 },
    });
    const { stream } = await app.open();
    await speak(stream, 'inbound', seededAudio(1_600, 1));
    // Longer than a second stream of the same track waits for the first.
    await until(async () => (await app.callOf()).legs[0].ledger.filler > 12_000);
    if (how !== undefined) stream.end(how);
    const { stream: next } = await app.open({ streamId: 'the next' });
    await speak(next, 'inbound', seededAudio(1_600, 2));
    stream.end('close');
    next.end('stop');
    const ended = await app.ended(stream.callId);
    const told = (await app.events(stream.callId)).filter(({ type }) => type === 'call.gap');
    const { filler } = ended.data.legs[0].ledger;
    expect(told).toMatchObject([{ data: { cause: 'carrier', start: 0.2 } }]);
    // The last tenth of a second is told and not filled, or filled and not told.
    expect(Math.abs(told[0]?.data.duration - filler / 8_000)).toBeLessThan(0.1);
    expect(Math.abs(told[0]?.data.bytes - filler)).toBeLessThan(800);
  },
);

test('a burst of five seconds is taken as it comes, and position is counted in bytes', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  // Stands still: however busy the machine is, nobody is quiet before or after the burst.
  const nowMs = systemClock.monotonicMs();
  const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    clock,
    config: { quietFillMs: 300 },
  });
  const { stream } = await app.open();
  const burst = seededAudio(40_000, 3);
  stream.take({ type: 'audio', track: 'inbound', payload: burst });
  await until(async () => (await app.callOf()).transcript.length === 5);
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(ended.data.legs[0].ledger).toMatchObject({
    received: 40_000,
    acknowledged: 40_000,
    filler: 0,
  });
  expect((await app.callOf()).transcript.map((turn: { start: number }) => turn.start)).toEqual([
    0, 1, 2, 3, 4,
  ]);
});

test('the wall clock jumps 200 times under a call: its own clock, its wait and its end do not', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const clock = new TestClock(1);
  await using app = await testBridge({ store, speechUrl: speech.url, clock });
  const { stream } = await app.open();
  const hour = 3_600_000;
  const year = 365 * 24 * hour;
  const second2038 = 2 ** 31 * 1_000;
  const jumps = [
    -hour,
    hour,
    10 * year,
    -10 * year,
    second2038 - Date.now(),
    -1_000,
    1_000,
    12 * year,
  ];
  const audio = seededAudio(800 * 200, 4);
  for (let jump = 0; jump < 200; jump++) {
    await speak(stream, 'inbound', audio.subarray(jump * 800, (jump + 1) * 800));
    clock.setWallAhead(jumps[jump % jumps.length]!);
  }
  await until(async () => (await app.callOf()).transcript.length === 20);
  expect(speech.posts.length).toBe(1);
  stream.end('close');
  const ended = await app.ended(stream.callId);
  expect(ended.data).toMatchObject({
    deadline: null,
    gap_count: 0,
    talk: { customer: 16, agent: 0 },
  });
  const call = await app.callOf();
  expect(call.transcript.map((turn: { start: number }) => turn.start)).toEqual(
    Array.from({ length: 20 }, (_, second) => second),
  );
  // Played faster than it would be spoken, on a clock that never jumps.
  expect(ended.data.legs[0].ledger).toMatchObject({ received: 160_000, acknowledged: 160_000 });
});

test('a process that stood still writes no silence for the time in which it could not listen', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { quietFillMs: 500 },
  });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(1_600, 1));
  standStill(1_500);
  stream.take({ type: 'audio', track: 'inbound', payload: seededAudio(24_000, 2) });
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  expect(ended.data.legs[0].ledger).toMatchObject({ received: 25_600, filler: 0 });
});

test('retention lets go of recordings first, then of calls with all that belongs to them', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const clock = new TestClock(1);
  await using app = await testBridge({ store, speechUrl: speech.url, clock });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000, 5));
  stream.end('stop');
  await app.ended(stream.callId);
  const recording = `/api/calls/${stream.callId}/recording`;
  expect((await app.get(recording)).status).toBe(200);
  const hourMs = 3_600_000;
  /** A clock that was set ahead, by a wrong time server for example, deletes nothing in its first hour. */
  const comesTo = async (days: number): Promise<void> => {
    clock.setWallAhead(days * 24 * hourMs);
    expect(await app.bridge.retention.sweep()).toEqual({ calls: 0, recordings: 0 });
    await clock.pass(hourMs);
  };
  expect(await app.bridge.retention.sweep()).toEqual({ calls: 0, recordings: 0 });
  await comesTo(31);
  expect(await app.bridge.retention.sweep()).toMatchObject({ calls: 0, recordings: 1 });
  expect((await app.get(recording)).status).toBe(404);
  expect((await app.callOf()).transcript).toHaveLength(1);
  await comesTo(91);
  expect(await app.bridge.retention.sweep()).toMatchObject({ calls: 1 });
  expect((await app.json('/api/calls')).items).toEqual([]);
  expect(await store.db.selectFrom('events').selectAll().execute()).toEqual([]);
});

/** Blocks the whole process, as a long collection or a laptop's lid does: no timer and no socket has its turn. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
