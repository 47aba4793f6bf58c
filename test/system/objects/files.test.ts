import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/process/until.ts';
import { jobsApi, wavOf } from '../../support/speech/jobs.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
} from '../../support/speech/speech-service.ts';
import {
  bucketMissing,
  objectsOn,
  startBucket,
  type TestBucket,
} from '../../support/store/bucket.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { nodeIdOf } from '../../../src/lib/node-id.ts';
import type { Store } from '../../../src/store/store.ts';

let bucket: TestBucket | undefined;
let recogniser: Recogniser;
beforeAll(async () => {
  if (bucketMissing !== undefined) return;
  bucket = await startBucket();
  recogniser = await fixtureRecogniser();
});
afterAll(async () => {
  await bucket?.[Symbol.asyncDispose]();
  await recogniser[Symbol.asyncDispose]();
});

/** A node of the database, with a disk of its own. */
async function speechNode(
  database: Store,
  to: TestBucket,
  zeroRetention = false,
  jobs: { storedMaxBytes?: number; bucketMaxBytes?: number } = {},
) {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const store = Object.assign(Object.create(database) as Store, { dataDir: folder.path });
  const node = await nodeIdOf(folder.path);
  const objects = stack.use(objectsOn(to.url, database, { node }));
  const service = stack.use(
    await startTestService({ store, recogniser, objects, config: { zeroRetention, jobs } }),
  );
  const here = () => readdir(join(folder.path, 'speech', 'files'));
  return { service, api: jobsApi(service), folder: folder.path, here, [Symbol.asyncDispose]: () => stack.disposeAsync() }; // prettier-ignore
}

test.skipIf(bucketMissing !== undefined)(
  'an upload outlives its node: another reads it, any range of it, does its job, and deletes it',
  async () => {
    if (bucket === undefined) return;
    await using database = await temporaryStore();
    const first = await speechNode(database, bucket);
    const audio = wavOf('my card is lost');
    const { audio_metadata: facts } = await first.api.upload(audio);
    await until(async () => (await first.here()).length === 0);
    expect(await bucket.keys()).toEqual([`files/${facts.id}`]);
    const early = await first.service.http(`/file/${facts.id}`, {
      headers: { range: 'bytes=0-43' },
    });
    expect(Buffer.from(await early.arrayBuffer()).equals(audio.subarray(0, 44))).toBe(true);
    await first[Symbol.asyncDispose]();
    await rm(first.folder, { recursive: true, force: true });
    await using second = await speechNode(database, bucket);
    const whole = await second.service.http(`/file/${facts.id}`);
    expect(Buffer.from(await whole.arrayBuffer()).equals(audio)).toBe(true);
    const id = await second.api.begin({ audio_url: `${second.service.url}/file/${facts.id}` });
    const job = await second.api.ended(id);
    expect(job.error_code).toBeNull();
    expect(job.result?.transcription?.full_transcript.toLowerCase()).toContain('my card is lost');
    const part = await second.service.http(`/v2/pre-recorded/${id}/file`, {
      headers: { range: 'bytes=100-199' },
    });
    expect(part.status).toBe(206);
    expect(Buffer.from(await part.arrayBuffer()).equals(audio.subarray(100, 200))).toBe(true);
    expect((await second.service.http(`/v2/pre-recorded/${id}`, { method: 'DELETE' })).status).toBe(202); // prettier-ignore
    await until(async () => (await bucket?.keys())?.length === 0);
    expect((await second.service.http(`/file/${facts.id}`)).status).toBe(404);
  },
  60_000,
);

test.skipIf(bucketMissing !== undefined)(
  'a file that left the disk takes no room there, also after a restart, and the store has a bound of its own',
  async () => {
    await using own = await startBucket();
    await using database = await temporaryStore();
    const audio = wavOf('my card is lost');
    // One fits on the disk, and three in the store.
    const limits = { storedMaxBytes: audio.length * 1.5, bucketMaxBytes: audio.length * 3.5 };
    const first = await speechNode(database, own, false, limits);
    const ids: string[] = [];
    for (let upload = 0; upload < 2; upload++) {
      await until(async () => (await first.here()).length === 0);
      ids.push((await first.api.upload(audio)).audio_metadata.id);
    }
    await until(async () => (await first.here()).length === 0);
    await first[Symbol.asyncDispose]();
    await using again = await speechNode(database, own, false, limits);
    await again.api.upload(audio);
    await until(async () => (await own.keys()).length === 3);
    await until(async () => (await again.here()).length === 0);
    await expect(again.api.upload(audio)).rejects.toThrow(/507.*TRUNKLINE_JOBS_BUCKET_BYTES/);
    expect((await again.service.http(`/file/${ids[0] ?? ''}`, { method: 'DELETE' })).status).toBe(202); // prettier-ignore
    await again.api.upload(audio);
  },
  60_000,
);

test.skipIf(bucketMissing !== undefined)(
  'a job whose file is in a store that is away waits for the store, and is done when it is back',
  async () => {
    await using own = await startBucket();
    await using database = await temporaryStore();
    await using only = await speechNode(database, own);
    const { audio_metadata: facts } = await only.api.upload(wavOf('hello please'));
    await until(async () => (await only.here()).length === 0);
    await own.stop();
    const id = await only.api.begin({ audio_url: `${only.service.url}/file/${facts.id}` });
    await until(async () => (await only.api.record(id)).status === 'processing');
    await own.start();
    const job = await only.api.ended(id);
    expect([job.status, job.result?.transcription?.full_transcript.toLowerCase()]).toEqual(['done', expect.stringContaining('hello please')]); // prettier-ignore
  },
  60_000,
);

test.skipIf(bucketMissing !== undefined)(
  'the audio of an ended live session goes there too: any node sends it, and deletes it with the session',
  async () => {
    await using own = await startBucket();
    await using database = await temporaryStore();
    await using first = await speechNode(database, own);
    const audio = mulawOf('my card');
    const { id, url } = await first.service.post({
      encoding: 'wav/ulaw',
      sample_rate: 8_000,
      bit_depth: 8,
      channels: 1,
    });
    const client = await connect(url);
    client.send(audio);
    client.stop();
    await client.closed;
    await until(async () => (await own.keys()).includes(`sessions/${id}`));
    const speech = join(first.folder, 'speech');
    await until(async () => !(await readdir(speech)).includes(`${id}.audio`));
    await using second = await speechNode(database, own);
    for (const { service } of [first, second]) {
      const whole = await service.http(`/v2/live/${id}/file`);
      const file = Buffer.from(await whole.arrayBuffer());
      expect(file.subarray(58).equals(audio)).toBe(true);
      const part = await service.http(`/v2/live/${id}/file`, { headers: { range: 'bytes=50-99' } });
      expect([part.status, Buffer.from(await part.arrayBuffer()).equals(file.subarray(50, 100))]).toEqual([206, true]); // prettier-ignore
    }
    expect((await second.service.http(`/v2/live/${id}`, { method: 'DELETE' })).status).toBe(202);
    await until(async () => (await own.keys()).length === 0);
  },
  60_000,
);
