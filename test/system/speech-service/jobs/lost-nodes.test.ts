import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Recogniser } from '../../../../src/hearing/recogniser.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';
import { until } from '../../../support/process/until.ts';
import { callbackSecret, jobWeb, toldOf } from '../../../support/speech/job-web.ts';
import { jobsApi, wavOf } from '../../../support/speech/jobs.ts';
import { fixtureRecogniser, startTestService } from '../../../support/speech/speech-service.ts';
import { postgresMissing, startPostgres } from '../../../support/store/postgres.ts';
import { temporaryStore } from '../../../support/store/store.ts';

let recogniser: Recogniser;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
});
afterAll(async () => {
  await recogniser[Symbol.asyncDispose]();
});

/** Longer than the pause between two looks for lost nodes. */
const oneLookMs = 61_000;

async function service(databaseUrl?: string) {
  const stack = new AsyncDisposableStack();
  const clock = new TestClock(1);
  const web = stack.use(await jobWeb());
  const store = stack.use(await temporaryStore(databaseUrl === undefined ? {} : { databaseUrl }));
  const own = stack.use(
    await startTestService({
      recogniser,
      store,
      clock,
      config: { callbackHosts: [web.host], callbackSecret },
    }),
  );
  const jobs = jobsApi(own);
  return {
    jobs,
    web,
    clock,
    store,
    /** A job whose upload lies on the disk of this node, posted an hour ago. */
    async jobOf(node: string): Promise<string> {
      const { audio_url, audio_metadata } = await jobs.upload(wavOf('thanks'));
      const { db } = store;
      await db
        .updateTable('speech_files')
        .set({ node })
        .where('id', '=', audio_metadata.id)
        .execute();
      const id = await jobs.begin({ audio_url, callback_url: web.url });
      const hourAgo = (await store.databaseNow()) - 3_600_000;
      await db
        .updateTable('speech_jobs')
        .set({ created_at: hourAgo })
        .where('id', '=', id)
        .execute();
      return id;
    },
    /** The node's last sign of life was this long ago. */
    async sign(node: string, agoMs: number): Promise<void> {
      const seen_at = (await store.databaseNow()) - agoMs;
      await store.db
        .insertInto('speech_nodes')
        .values({ node, seen_at })
        .onConflict((conflict) => conflict.column('node').doUpdateSet({ seen_at }))
        .execute();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function waitsForItsNode(databaseUrl?: string): Promise<void> {
  await using one = await service(databaseUrl);
  const ofLost = await one.jobOf('lost');
  const ofLiving = await one.jobOf('living');
  await one.sign('lost', 1_801_000);
  // It stays within its time, although the clock of this test passes a look.
  await one.sign('living', 0);
  await one.clock.pass(oneLookMs);
  const job = await one.jobs.ended(ofLost);
  expect(job).toMatchObject({ status: 'error', error_code: 504 });
  expect(job.error_message).toContain('upload the file again');
  await until(() => toldOf(one.web).get(ofLost));
  expect((await one.jobs.record(ofLiving)).status).toBe('queued');
}

describe('a job whose upload lies on the disk of another node', () => {
  test('waits for it, and ends in error when it has been silent for too long', async () => {
    await waitsForItsNode();
  });

  test.skipIf(postgresMissing)('on Postgres too', async () => {
    await using postgres = await startPostgres();
    await waitsForItsNode(await postgres.newDatabase());
  });

  test('ends in error at once when the row of the upload has gone', async () => {
    await using one = await service();
    const id = await one.jobOf('another');
    await one.store.db.deleteFrom('speech_files').execute();
    await one.clock.pass(10_000);
    const job = await one.jobs.ended(id);
    expect(job).toMatchObject({ status: 'error', error_code: 404 });
    expect(job.error_message).toContain('was deleted before it was read');
  });
});
