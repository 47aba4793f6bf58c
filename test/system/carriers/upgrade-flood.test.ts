import { expect, test } from 'vitest';
import { isBalanced } from '../../../src/bridge/call/call-ending.ts';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play } from '../../../src/player/play.ts';
import { startApp } from '../../support/process/app.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import {
  guessedTokens,
  handlesOf,
  isInWords,
  refusedUpgrades,
  withoutProof,
  wrongCredentials,
} from '../../support/faults/strangers.ts';
import { until } from '../../support/process/until.ts';
import { floodUpgrades } from '../../support/faults/upgrade-flood.ts';

const token = 'twilio-secret-of-the-tests';

test('every stranger of a flood at the whole program is answered in words and counted, a call beside it loses nothing, and nothing is left of it', async () => {
  await using speech = await FakeSpeech.start();
  await using app = await startApp({
    env: {
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_TWILIO_AUTH_TOKEN: token,
      TRUNKLINE_REJOIN_WAIT_MS: '200',
      TRUNKLINE_QUIET_FILL_MS: '0',
    },
  });
  const hangUp = new AbortController();
  const playing = play({
    to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
    player: twilioPlayer,
    call: playedCall(twilioPlayer.newIds()),
    secrets: { authToken: token },
    audio: [{ leg: 'customer', bytes: seededAudio(8_000 * 600, 5) }],
    speed: 1,
    signal: hangUp.signal,
  });
  const heard = (): number => [...speech.sessions.values()][0]?.bytes.length ?? 0;
  await until(() => heard() > 0);
  const handlesBefore = await handlesOf(app.process);

  const report = await floodUpgrades({
    port: Number(new URL(app.url).port),
    perSecond: 2_000,
    seconds: 2,
    // Far below what a machine with few handles holds at once.
    atOnce: 100,
    knocks: [...wrongCredentials, ...guessedTokens.slice(0, 2), ...withoutProof],
  });
  const answered = Object.entries(report.answers);
  expect(report.sent).toBeGreaterThan(100);
  expect(answered.reduce((sum, [, count]) => sum + count, 0)).toBe(report.sent);
  expect(answered.map(([answer]) => answer).filter((answer) => !isInWords(answer))).toEqual([]);
  expect(await refusedUpgrades(app)).toBe(report.sent);
  // A connection of ours that is kept for the next use may have come meanwhile; of theirs none stays.
  await until(async () => (await handlesOf(app.process)) <= handlesBefore + 8);
  // A line for each reason, not for each stranger.
  expect(app.lines.filter((line) => line.includes('refused')).length).toBeLessThan(100);

  const before = heard();
  await until(() => heard() > before);
  hangUp.abort();
  const { sentBytes } = await playing;
  const call = await until(async () => {
    const { items } = (await (await app.get('/api/calls')).json()) as AnyJson;
    expect(items).toHaveLength(1);
    return items[0].state === 'ended' && items[0];
  });
  expect(heard()).toBe(sentBytes['customer']);
  expect(call.legs[0].ledger).toMatchObject({ received: heard(), gaps: 0 });
  expect(isBalanced(call.legs[0].ledger)).toBe(true);
  expect(speech.posts.length).toBe(1);
}, 120_000);
