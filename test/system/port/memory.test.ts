import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play } from '../../../src/player/play.ts';
import { startApp } from '../../support/process/app.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioStart,
} from '../../support/carriers/carrier-client.ts';
import { killRounds } from '../../support/faults/kills.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { until } from '../../support/process/until.ts';

const heap = '--max-old-space-size=72';

test('in a heap of 72 MB calls come in until there is no room, in words; the process lives, the running call goes on, and room comes back', async () => {
  await using speech = await FakeSpeech.start();
  await using app = await startApp({
    env: {
      NODE_OPTIONS: heap,
      TRUNKLINE_INSECURE: '1',
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_REJOIN_WAIT_MS: '200',
      TRUNKLINE_QUIET_FILL_MS: '0',
    },
  });
  const url = `${app.url.replace('http', 'ws')}/carriers/twilio`;
  const hangUp = new AbortController();
  const playing = play({
    to: url,
    player: twilioPlayer,
    call: playedCall({ ...twilioPlayer.newIds(), callId: 'CA-running' }),
    audio: [{ leg: 'customer', bytes: seededAudio(8_000 * 600, 7) }],
    speed: 1,
    signal: hangUp.signal,
  });
  const running = async (): Promise<AnyJson> => {
    const list: AnyJson = await (await app.get('/api/calls?carrier_call_id=CA-running')).json();
    return list.items[0];
  };
  await until(async () => (await running())?.legs[0]?.ledger.acknowledged > 0);

  const calls: CarrierClient[] = [];
  let refusal: { status: number; body: string } | { code: number; reason: string } | undefined;
  while (refusal === undefined && calls.length < 5_000) {
    const at = calls.length;
    const client = await CarrierClient.connect(url);
    if (!(client instanceof CarrierClient)) {
      refusal = client;
      break;
    }
    client.send(twilioConnected, twilioStart({ callSid: `CA${at}`, streamSid: `MZ${at}` }));
    // A stream for which there is no room is closed, often before it answers.
    await client.ping().catch(() => client.untilClosed());
    calls.push(client);
    refusal = calls.find(({ closed }) => closed !== undefined)?.closed;
  }
  expect(calls.length).toBeGreaterThan(20);
  expect(Object.values(refusal ?? {}).join(' ')).toMatch(/no room in memory: \d+ of \d+ MiB left/);

  const heard = (await running()).legs[0].ledger.acknowledged as number;
  await until(async () => (await running()).legs[0].ledger.acknowledged > heard + 8_000);
  expect(app.process.exitCode).toBeNull();

  for (const client of calls) client.socket.terminate();
  const next = await until(async () => {
    const client = await CarrierClient.connect(url);
    return client instanceof CarrierClient && client;
  }, 120_000);
  await next[Symbol.asyncDispose]();
  hangUp.abort();
  await playing;
  const ended = await until(async () => {
    const call = await running();
    return call.state === 'ended' && call;
  }, 60_000);
  expect(ended.legs[0].ledger).toMatchObject({ gaps: 0, paused: 0 });
  expect(ended.legs[0].ledger.acknowledged).toBe(ended.legs[0].ledger.received);
}, 300_000);

test('a heap at its limit ends the process under live legs: the next start has every received byte and every event once', async () => {
  const report = await killRounds({
    rounds: 1,
    calls: 4,
    seed: 67,
    env: {
      NODE_OPTIONS: `--max-old-space-size=96 --import=${new URL('../../support/process/hoard.mjs', import.meta.url).href}`,
    },
    end: async (app) => {
      app.process.kill('SIGUSR2');
      expect(await app.exited()).toEqual({ code: null, signal: 'SIGABRT' });
      expect(app.lines.join('\n')).toContain('heap out of memory');
    },
  });
  expect(report.faults).toEqual([]);
  expect(report).toMatchObject({ kills: 1, legs: 8 });
  expect(report.finals).toBeGreaterThan(0);
}, 180_000);
