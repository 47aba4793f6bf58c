import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play } from '../../../src/player/play.ts';
import { startApp, type App } from '../../support/process/app.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { judgeEvents, judgeLeg, type KillReport } from '../../support/faults/kills.ts';
import { NameServer } from '../../support/faults/name-server.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { until } from '../../support/process/until.ts';

const calls = 3;

async function callsOf(app: App): Promise<AnyJson[]> {
  return ((await (await app.get('/api/calls')).json()) as AnyJson).items;
}

/** The least that may lie between two attempts, by the bounds of the gate and its jitter; timers may be a little early. */
const leastWaitMs = (attempt: number): number => Math.min(10_000, 250 * 2 ** attempt) * 0.8 - 5;

test('a speech service whose name is unknown, then fails, then is slow: one attempt at a time with growing waits, everything journalled, and heard when the name resolves', async () => {
  await using names = await NameServer.start();
  await using speech = await FakeSpeech.start();
  speech.publicHost = 'speech.trunkline.test';
  names.answer = (count) => (count > calls + 1 ? 'failing' : 'unknown');
  await using app = await startApp({
    env: {
      ...names.env,
      TRUNKLINE_INSECURE: '1',
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_QUIET_FILL_MS: '0',
    },
  });
  const hangUp = new AbortController();
  const audio = Array.from({ length: calls }, (_, at) => seededAudio(8_000 * 120, at));
  const playing = audio.map((bytes, at) =>
    play({
      to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
      player: twilioPlayer,
      call: playedCall({ ...twilioPlayer.newIds(), callId: `CA${at}` }),
      audio: [{ leg: 'customer', bytes }],
      speed: 1,
      signal: hangUp.signal,
    }),
  );

  // The first to fail closes the way for all: one attempt at a time, each after a longer wait.
  await until(() => names.askedAtMs.length >= calls + 2);
  const [last = NaN, next = NaN] = names.askedAtMs.slice(-2);
  expect(next - last).toBeGreaterThan(leastWaitMs(calls));
  const told = app.lines.filter((line) => line.includes('no live session is available'));
  expect(told).toHaveLength(1);
  expect(told[0]).toContain('"reason":"ENOTFOUND"');
  const waiting = await callsOf(app);
  expect(waiting).toHaveLength(calls);
  for (const { legs } of waiting) {
    expect(legs[0].ledger.received).toBeGreaterThan(0);
    expect(legs[0].ledger).toMatchObject({ acknowledged: 0, gaps: 0 });
  }

  const heard = async (): Promise<boolean> =>
    (await callsOf(app)).every(
      ({ legs: [leg] }) =>
        leg.ledger.acknowledged > 0 && leg.ledger.received - leg.ledger.acknowledged < 8_000,
    );
  names.answer = () => ({ afterMs: 1_500 });
  await until(heard);

  // Names that go while the calls are on: their sockets cannot be opened again until they are back.
  const before = names.askedAtMs.length;
  names.answer = () => 'unknown';
  speech.cutAll();
  await until(() => names.askedAtMs.length >= before + calls + 2);
  names.answer = () => ({ afterMs: 300 });
  await until(heard);

  hangUp.abort();
  await Promise.all(playing);
  const report: KillReport = { legs: 0, kills: 0, bytes: 0, finals: 0, uncounted: 0, faults: [] };
  for (const { id } of waiting) {
    const events = await until(async () => {
      const { items } = (await (
        await app.get(`/api/calls/${id}/events?limit=1000`)
      ).json()) as AnyJson;
      return items.at(-1)?.type === 'call.completed' && (items as AnyJson[]);
    });
    const call = (await (await app.get(`/api/calls/${id}`)).json()) as AnyJson;
    const bytes = audio[Number(call.carrier_call_id.slice(2))]!;
    judgeLeg({ leg: call.legs[0], audio: bytes, events, least: 0, speech, report });
    judgeEvents(id, events, report.faults);
    expect(events.filter(({ type }) => type === 'call.gap')).toEqual([]);
  }
  expect(report.faults).toEqual([]);
  expect(report.finals).toBeGreaterThan(0);
}, 120_000);
