import { statfsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { carriers } from '../../../../src/carriers/all.ts';
import { findCall, getCall } from '../../../../src/player/api-client.ts';
import { playCall } from '../../../../src/player/play-call.ts';
import { linearToMulaw } from '../../../../src/audio/g711.ts';
import { provenConfig, provenEnv } from '../../../support/carriers/proven-config.ts';
import { startApp } from '../../../support/process/app.ts';
import { until } from '../../../support/process/until.ts';
import { tones } from '../../../support/recognition/fixture-model.ts';
import { jobsApi } from '../../../support/speech/jobs.ts';
import { speechApi } from '../../../support/speech/speech-service.ts';
import { mountSmallDisk, smallDiskMissing } from '../../../support/store/small-disk.ts';

const mebibyte = 1_048_576;
const markBytes = 12 * mebibyte;
const audioS = 480;

/** A telephone recording of two parties in 7.7 MB, which become 31 MB when it is decoded. */
function longRecording(): Buffer {
  const sides = [tones('my card is lost'), tones('hello please', { leadS: 3 })];
  const frames = audioS * 8_000;
  const bytes = Buffer.alloc(44 + frames * 2, 0xff);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(7, 20); // mu-law
  bytes.writeUInt16LE(2, 22);
  bytes.writeUInt32LE(8_000, 24);
  bytes.writeUInt32LE(16_000, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(8, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(frames * 2, 40);
  for (const [side, samples] of sides.entries())
    for (const [at, sample] of samples.entries()) bytes[44 + at * 2 + side] = linearToMulaw(sample);
  return bytes;
}

function watchOf(path: string): Disposable & { leastFreeBytes: number } {
  const look = (): void => {
    const { bavail, bsize } = statfsSync(path);
    watch.leastFreeBytes = Math.min(watch.leastFreeBytes, bavail * bsize);
  };
  const timer = setInterval(look, 10);
  const watch = { leastFreeBytes: Infinity, [Symbol.dispose]: () => clearInterval(timer) };
  return watch;
}

test.skipIf(smallDiskMissing !== undefined)(
  'a job whose decoded audio has no room waits and says so, the disk never comes under its mark, and a call beside it loses no word',
  { timeout: 240_000 },
  async () => {
    using disk = mountSmallDisk(56);
    const filler = join(disk.path, 'filler');
    await writeFile(filler, Buffer.alloc(16 * mebibyte, 1));
    await using app = await startApp({
      dataDir: join(disk.path, 'data'),
      env: {
        ...provenEnv(),
        TRUNKLINE_DISK_LOW_WATER_BYTES: String(markBytes),
        TRUNKLINE_DISK_BALLAST_BYTES: '0',
        TRUNKLINE_REJOIN_WAIT_MS: '500',
      },
    });
    using watch = watchOf(disk.path);
    const config = provenConfig();
    let carrierCallId = '';
    const calling = playCall({
      player: carriers.twilio.player,
      secrets: carriers.twilio.playerSecrets(config),
      to: app.url,
      legs: [
        {
          leg: 'customer',
          samples: tones('one two three four five my order is lost', { gapS: 0.9, tailS: 2 }),
          rateHz: 8_000,
        },
      ],
      speed: 1,
      onStarted: ({ callId }) => (carrierCallId = callId),
    });
    const jobs = jobsApi(speechApi(app.url));
    const { audio_url } = await jobs.upload(longRecording());
    const id = await jobs.begin({ audio_url });
    await until(() => app.lines.some((line) => line.includes('a job waits for room')), 30_000);
    // The line comes before its row is given back, and each look at the queue may try the job again.
    const waiting = await until(async () => {
      const record = await jobs.record(id);
      return record.status !== 'processing' && record;
    }, 30_000);
    expect(waiting).toMatchObject({ status: 'queued', error_code: null });
    const waits = '1 pre-recorded jobs wait for room on the data disk';
    await until(
      async () => (await (await app.get('/health/ready')).text()).includes(waits),
      30_000,
    );
    await calling;
    const call = await until(async () => {
      const found = await findCall({ url: app.url }, carrierCallId);
      return found?.state === 'ended' && getCall({ url: app.url }, found.id);
    }, 45_000);
    expect(call.transcript.map(({ text }) => text.trim()).join(' ')).toBe(
      'one two three four five my order is lost',
    );
    expect(watch.leastFreeBytes).toBeGreaterThanOrEqual(markBytes);
    await rm(filler);
    const job = await jobs.ended(id, 120_000);
    expect(job.result?.transcription?.utterances.map(({ text }) => text)).toEqual([
      'my card is lost',
      'hello please',
    ]);
    expect(watch.leastFreeBytes).toBeGreaterThanOrEqual(markBytes);
  },
);
