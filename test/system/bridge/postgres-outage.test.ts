import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Json } from '../../support/bridge/test-bridge.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
} from '../../support/carriers/carrier-client.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';

async function streamUrl(app: App): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const answer = await app.get('/api/streams', { method: 'POST', headers, body: '{"carrier":"twilio"}' }); // prettier-ignore
  const { url } = (await answer.json()) as { url: string };
  return url.replace(/^wss?:\/\/[^/]+/, app.url.replace('http', 'ws'));
}

test.skipIf(postgresMissing !== undefined || process.env['TEST_DATABASE_URL'] !== undefined)(
  'a process that is stopped while Postgres is gone ends by its deadline, and the next one stores what was said meanwhile',
  async () => {
    await using postgres = await startPostgres();
    await using speech = await FakeSpeech.start();
    const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-pg-gone-'));
    const env = {
      TRUNKLINE_ROLES: 'bridge,console',
      TRUNKLINE_SPEECH_URL: speech.url,
      DATABASE_URL: await postgres.newDatabase(),
      TRUNKLINE_REJOIN_WAIT_MS: '500',
      TRUNKLINE_QUIET_FILL_MS: '0',
    };
    const audio = seededAudio(32_000, 1);
    const callOf = async (app: App): Promise<Json> =>
      ((await (await app.get('/api/calls')).json()) as Json).items[0];
    {
      await using app = await startApp({ dataDir, env });
      const client = await CarrierClient.open(await streamUrl(app));
      client.send(twilioConnected, twilioStart({ tracks: ['inbound'] }));
      const say = (from: number, to: number): void => {
        for (let at = from; at < to; at += 160)
          client.send(twilioMedia(2 + at / 160, audio.subarray(at, at + 160)));
      };
      say(0, 8_000);
      await until(async () => (await callOf(app))?.transcript.length === 1);
      await postgres.outage?.begin();
      say(8_000, 32_000);
      // The words of these seconds have been said to the process, which cannot store them.
      await until(() => [...speech.sessions.values()].some(({ bytes }) => bytes.length === 32_000));
      const stoppedMs = performance.now();
      const { code, signal } = await app.end('SIGTERM');
      const stopS = (performance.now() - stoppedMs) / 1_000;
      console.log(
        `stopped without Postgres: code ${code} ${signal ?? ''} after ${stopS.toFixed(1)} s`,
      );
      expect(signal).toBeNull();
      expect(stopS).toBeLessThan(30);
    }
    await postgres.outage?.end();
    await using app = await startApp({ dataDir, env });
    const call = await until(async () => {
      const found = await callOf(app);
      return found?.state === 'ended' && found;
    }, 60_000);
    expect(call.transcript.map(({ text }: Json) => text)).toEqual(wordsOf(audio));
    expect(call.legs[0].ledger).toMatchObject({ received: 32_000, gaps: 0 });
    await rm(dataDir, { recursive: true, force: true });
  },
  180_000,
);
