import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  streamStart,
  TestControl,
  testBridge,
  type AnyJson,
} from '../../support/bridge/test-bridge.ts';
import { maxHeldMs } from '../../../src/bridge/call/calls.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
  twilioStop,
} from '../../support/carriers/carrier-client.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryStore } from '../../support/store/store.ts';

async function streamUrl(app: App): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const answer = await app.get('/api/streams', { method: 'POST', headers, body: '{"carrier":"twilio"}' }); // prettier-ignore
  const { url } = (await answer.json()) as { url: string };
  return url.replace(/^wss?:\/\/[^/]+/, app.url.replace('http', 'ws'));
}

/** A stop does not wait for the words of a live call; it waits as long as it may for those of one that was hung up. */
const outages = [
  { how: 'is gone', isSilent: false, hangsUp: false },
  { how: 'is silent and a call ends', isSilent: true, hangsUp: true },
];

test
  .skipIf(postgresMissing !== undefined || process.env['TEST_DATABASE_URL'] !== undefined)
  .each(outages)(
  'a process that is stopped while Postgres $how ends by its own code, and the next one stores what was said meanwhile',
  async ({ isSilent, hangsUp }) => {
    await using postgres = await startPostgres();
    await using speech = await FakeSpeech.start();
    const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-pg-gone-'));
    const direct = new URL(await postgres.newDatabase());
    await using wire = await FaultProxy.start(Number(direct.port));
    const throughWire = new URL(direct);
    throughWire.port = String(wire.port);
    const env = {
      TRUNKLINE_ROLES: 'bridge,console',
      TRUNKLINE_SPEECH_URL: speech.url,
      DATABASE_URL: (isSilent ? throughWire : direct).href,
      TRUNKLINE_REJOIN_WAIT_MS: '500',
      TRUNKLINE_QUIET_FILL_MS: '0',
    };
    const audio = seededAudio(32_000, 1);
    {
      await using app = await startApp({ dataDir, env });
      const client = await CarrierClient.open(await streamUrl(app));
      client.send(twilioConnected, twilioStart({ tracks: ['inbound'] }));
      const say = (from: number, to: number): void => {
        for (let at = from; at < to; at += 160)
          client.send(twilioMedia(2 + at / 160, audio.subarray(at, at + 160)));
      };
      say(0, 8_000);
      await until(async () => (await newestCall(app))?.transcript.length === 1);
      if (isSilent) wire.freeze();
      else await postgres.outage?.begin();
      say(8_000, 32_000);
      // The words of these seconds have been said to the process, which cannot store them.
      await until(() => [...speech.sessions.values()].some(({ bytes }) => bytes.length === 32_000));
      if (hangsUp) client.send(twilioStop);
      const stoppedMs = performance.now();
      const { code, signal } = await app.end('SIGTERM');
      const stopS = (performance.now() - stoppedMs) / 1_000;
      console.log(
        `stopped without Postgres: code ${code} ${signal ?? ''} after ${stopS.toFixed(1)} s`,
      );
      // Node's 13 would be an end in the middle of a wait.
      expect({ code, signal }).toEqual({ code: 0, signal: null });
      expect(stopS).toBeLessThan(hangsUp ? 27 : 25);
      const told = app.lines.slice(-20).join('\n');
      expect(told).toContain('the store did not take everything of these calls');
      expect(told).toContain('stopped: every part is closed');
    }
    if (isSilent) wire.mend();
    else await postgres.outage?.end();
    await using app = await startApp({ dataDir, env });
    const call = await until(async () => {
      const found = await newestCall(app);
      return found?.state === 'ended' && found;
    }, 60_000);
    expect(call.transcript.map(({ text }: AnyJson) => text)).toEqual(wordsOf(audio));
    expect(call.legs[0].ledger).toMatchObject({ received: 32_000, gaps: 0 });
    await rm(dataDir, { recursive: true, force: true });
  },
  180_000,
);

const ownServer = postgresMissing === undefined && process.env['TEST_DATABASE_URL'] === undefined;

test.skipIf(!ownServer).each([
  { awayS: 0, audioS: 2 },
  { awayS: 40, audioS: 2 },
  // As much as is said while a call is held the longest.
  { awayS: 0, audioS: maxHeldMs / 1_000 },
])(
  'a call that begins while Postgres is away for $awayS s is held, and goes on with all of its audio, $audioS s of it, when Postgres is back',
  async ({ awayS, audioS }) => {
    await using postgres = await startPostgres();
    await using speech = await FakeSpeech.start();
    await using app = await startApp({
      env: {
        TRUNKLINE_ROLES: 'bridge,console',
        TRUNKLINE_INSECURE: '1',
        TRUNKLINE_SPEECH_URL: speech.url,
        DATABASE_URL: await postgres.newDatabase(),
        TRUNKLINE_REJOIN_WAIT_MS: '500',
        TRUNKLINE_QUIET_FILL_MS: '0',
      },
    });
    await postgres.outage?.begin();
    const carrier = await CarrierClient.open(`${app.url.replace('http', 'ws')}/carriers/twilio`);
    carrier.send(twilioConnected, twilioStart({ tracks: ['inbound'] }));
    const audio = seededAudio((audioS + 2) * 8_000, 1);
    const say = (from: number, to: number): void => {
      for (let at = from; at < to; at += 160)
        carrier.send(twilioMedia(2 + at / 160, audio.subarray(at, at + 160)));
    };
    const saidBeforeMs = performance.now();
    say(0, audioS * 8_000);
    await carrier.ping();
    await until(() => app.lines.some((line) => line.includes('a call that begins: it is held')));
    // Carriers hang up no call of theirs for this, so it is no reason to refuse one.
    await sleep(Math.max(0, awayS * 1_000 - (performance.now() - saidBeforeMs)));
    await postgres.outage?.end();
    say(audioS * 8_000, audio.length);
    await until(() =>
      [...speech.sessions.values()].some(({ bytes }) => bytes.length === audio.length),
    );
    carrier.send(twilioStop);
    const call = await until(async () => {
      const found = await newestCall(app);
      return found?.state === 'ended' && found;
    }, 60_000);
    expect(call.transcript.map(({ text }: AnyJson) => text)).toEqual(wordsOf(audio));
    expect(call.legs[0].ledger).toMatchObject({
      received: audio.length,
      acknowledged: audio.length,
      gaps: 0,
    });
    const { items } = (await (await app.get('/api/calls')).json()) as AnyJson;
    expect(items).toHaveLength(1);
  },
  120_000,
);

test.skipIf(!ownServer)(
  'a call that Postgres does not take in time is refused with the reason, and its place is free again',
  async () => {
    await using postgres = await startPostgres();
    await using speech = await FakeSpeech.start();
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    const clock = new TestClock(1);
    await using app = await testBridge({ store, speechUrl: speech.url, clock, config: { maxLegs: 1 } }); // prettier-ignore
    await postgres.outage?.begin();
    const open = (carrierCallId: string) =>
      app.bridge.openStream(streamStart({ carrierCallId }), new TestControl());
    const first = open('CA1');
    expect(await open('CA2')).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('at capacity') }); // prettier-ignore
    let isOver = false;
    void first.then(() => (isOver = true));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isOver).toBe(false);
    await clock.pass(maxHeldMs);
    expect(await first).toMatchObject({
      outcome: 'refused',
      reason: expect.stringMatching(/^the call could not be stored: .*ECONNREFUSED/),
    });
    await postgres.outage?.end();
    expect(await until(async () => { const opened = await open('CA3'); return opened.outcome === 'opened' && opened; })).toMatchObject({ outcome: 'opened' }); // prettier-ignore
  },
  120_000,
);
