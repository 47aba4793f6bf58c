import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { carriers } from '../../../src/carriers/all.ts';
import { findCall, getCall } from '../../../src/player/api-client.ts';
import { playCall } from '../../../src/player/play-call.ts';
import { provenConfig, provenEnv } from '../../support/carriers/proven-config.ts';
import { startApp } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { tones, type FixtureWord } from '../../support/recognition/fixture-model.ts';
import { fillDisk, mountSmallDisk, smallDiskMissing } from '../../support/store/small-disk.ts';

const rateHz = 8_000;
const mebibyte = 1_048_576;
const sentences = ['my card is lost', 'one two three', 'the order please', 'four five', 'hello monday', 'great refund'] as const; // prettier-ignore

/** One sentence after the other, as audio and as words. */
function speech(): { words: string[]; samples: Int16Array } {
  const parts = sentences.map((sentence) =>
    tones(sentence.split(' ') as FixtureWord[], { leadS: 0.1, tailS: 1.2 }),
  );
  const samples = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    samples.set(part, at);
    at += part.length;
  }
  return { words: sentences.join(' ').split(' '), samples };
}

test.skipIf(smallDiskMissing !== undefined)(
  'a process that is killed while its disk is full begins again on the full disk: each byte is read or declared, no word twice',
  async () => {
    using disk = mountSmallDisk(256);
    const dataDir = join(disk.path, 'data');
    const env = {
      ...provenEnv(),
      TRUNKLINE_DISK_LOW_WATER_BYTES: String(32 * mebibyte),
      TRUNKLINE_DISK_BALLAST_BYTES: String(16 * mebibyte),
      TRUNKLINE_REJOIN_WAIT_MS: '500',
      TRUNKLINE_QUIET_FILL_MS: '0',
      TRUNKLINE_RECORDING: 'on',
    };
    const { words, samples } = speech();
    let carrierCallId = '';
    let callId = '';
    let before: string[] = [];
    let full: Disposable;
    {
      await using app = await startApp({ dataDir, env });
      const played = playCall({
        player: carriers.twilio.player,
        secrets: carriers.twilio.playerSecrets(provenConfig()),
        to: app.url,
        legs: [{ leg: 'customer', samples, rateHz }],
        speed: 1,
        onStarted: (started) => (carrierCallId = started.callId),
      }).catch(() => undefined);
      const call = async () => {
        if (callId === '')
          callId =
            (await findCall({ url: app.url }, carrierCallId).catch(() => undefined))?.id ?? '';
        return callId === '' ? undefined : getCall({ url: app.url }, callId);
      };
      const heard = async () =>
        ((await call())?.transcript ?? []).flatMap(({ text }) => text.trim().split(' '));
      await until(async () => (await heard()).length >= 4);
      full = fillDisk(disk.path);
      expect(statfsSync(disk.path).bavail).toBe(0);
      // The call goes on meanwhile: what it brings now finds no room but the ballast's.
      await until(async () => (await heard()).length >= 7);
      before = await heard();
      await app.end('SIGKILL');
      await played;
    }
    {
      // It starts on the full disk, with the reserve of the run before.
      await using app = await startApp({ dataDir, env });
      expect((await app.get('/health/ready')).status).toBe(503);
      await app.end('SIGKILL');
    }
    {
      // With the reserve used up it says what to do.
      using _ = fillDisk(disk.path, 'rest');
      await expect(startApp({ dataDir, env })).rejects.toThrow(/STORE_FULL: .*Free some space/);
    }
    full[Symbol.dispose]();
    await using app = await startApp({ dataDir, env });
    const call = await until(async () => {
      const found = await getCall({ url: app.url }, callId);
      return found.state === 'ended' && found;
    }, 90_000);
    const heard = call.transcript.flatMap(({ text }) => text.trim().split(' '));
    expect(heard).toEqual(words.slice(0, heard.length));
    expect(heard.length).toBeGreaterThanOrEqual(before.length);
    for (const { ledger } of call.legs)
      expect(ledger.acknowledged + ledger.gaps + ledger.paused).toBe(ledger.received);
  },
);
