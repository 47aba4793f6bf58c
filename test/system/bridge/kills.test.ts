import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play } from '../../../src/player/play.ts';
import { startApp } from '../../support/process/app.ts';
import { callsOf, crashUnderCalls } from '../../support/faults/crashed-calls.ts';
import { killRounds } from '../../support/faults/kills.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { stopUnderCalls } from '../../support/faults/stopped-calls.ts';
import { until } from '../../support/process/until.ts';

test('kill -9 of the whole process under live legs: every received byte is heard, every event is there once', async () => {
  const report = await killRounds({ rounds: 1, calls: 5, seed: 1 });
  expect(report.faults).toEqual([]);
  expect(report).toMatchObject({ kills: 1, legs: 10 });
  expect(report.finals).toBeGreaterThan(0);
}, 180_000);

test('our crash hangs up on nobody: the socket breaks without a word of ours, and the records end afterwards', async () => {
  const report = await crashUnderCalls(12);
  expect(report).toMatchObject({ calls: 12, endedByUs: [], lost: [] });
}, 180_000);

test('SIGTERM under 50 live legs: not ready at once, no new leg, gone with code 0 within 30 s, and the next process has every byte', async () => {
  const report = await stopUnderCalls(25);
  expect(report.faults).toEqual([]);
  expect(report).toMatchObject({ kills: 1, legs: 50 });
  expect(report.finals).toBeGreaterThan(0);
}, 180_000);

test('SIGTERM with a call that goes on and one whose last words never come: one deadline for both', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.finalsDelayMs = Infinity;
  await using app = await startApp({
    env: {
      TRUNKLINE_INSECURE: '1',
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_FINALS_WAIT_MS: '120000',
    },
  });
  const hangUps = [new AbortController(), new AbortController()];
  const playing = hangUps.map(({ signal }, at) =>
    play({
      to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
      player: twilioPlayer,
      call: playedCall({ ...twilioPlayer.newIds(), callId: `CA${at}` }),
      audio: [{ leg: 'customer', bytes: seededAudio(8_000 * 90, at) }],
      speed: 1,
      signal,
    }),
  );
  await until(async () => {
    const calls = await callsOf(app);
    return calls.length === 2 && calls.every(({ legs: [leg] }) => leg.ledger.acknowledged > 8_000);
  });
  hangUps[0]!.abort();
  await until(async () => (await callsOf(app)).some(({ state }) => state === 'finishing'));
  const startedMs = performance.now();
  expect(await app.end('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(performance.now() - startedMs).toBeLessThan(30_000);
  const stopping = app.lines.find((line) => line.includes('"waitsFor"'));
  expect(JSON.parse(stopping!)).toMatchObject({
    waitsFor: expect.arrayContaining([
      expect.stringMatching(/^1 open stream \([\d.]+ s\)$/),
      'the last words of 1 call',
    ]) as string[],
    msg: expect.stringContaining('a second signal (Ctrl-C) ends at once') as string,
  });
  hangUps[1]!.abort();
  await Promise.all(playing);
}, 180_000);
