import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { until } from '../../support/process/until.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import { jobsApi, wavFile } from '../../support/speech/jobs.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  telephony,
  type TestService,
} from '../../support/speech/speech-service.ts';
import { temporaryStore } from '../../support/store/store.ts';

let recogniser: Recogniser;
let postgres: TestPostgres;
beforeAll(async () => {
  if (postgresMissing) return;
  [recogniser, postgres] = await Promise.all([fixtureRecogniser(), startPostgres()]);
}, 60_000);
afterAll(async () => {
  if (postgresMissing) return;
  await recogniser[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

test.skipIf(postgresMissing)(
  `the rows of live sessions on Postgres: life, list, metadata, restart, delete${postgresMissing ? ` (${postgresMissing})` : ''}`,
  async () => {
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    expect(store.kind).toBe('postgres');
    const first = await startTestService({ recogniser, store });
    const ids: string[] = [];
    for (const number of [1, 2, 3]) {
      const { id, url } = await first.post({ ...telephony, custom_metadata: { number, of: 'pg' } });
      ids.push(id);
      const client = await connect(url);
      client.send(mulawOf('hello'));
      client.stop();
      expect((await client.closed).code).toBe(1000);
      expect(await first.ended(id)).toMatchObject({
        status: 'done',
        error_code: null,
        custom_metadata: { number, of: 'pg' },
        result: { transcription: { full_transcript: 'hello' } },
      });
    }
    const list = async (query: string): Promise<string[]> =>
      (
        (await (await first.http(`/v2/live?${query}`)).json()) as { items: { id: string }[] }
      ).items.map((item) => item.id);
    expect(await list('status=done&limit=2')).toEqual(ids.toReversed().slice(0, 2));
    expect(await list('custom_metadata[number]=2')).toEqual([ids[1]]);
    expect(await list(`before_date=2001-01-01T00:00:00Z`)).toEqual([]);
    const [, , last = ''] = ids;
    const patched = await first.http(`/v2/live/${last}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ post_session_metadata: { note: 'ü' } }),
    });
    expect(patched.status).toBe(204);
    expect((await first.job(last)).post_session_metadata).toEqual({ note: 'ü' });

    const open = await first.post();
    const talker = await connect(open.url);
    talker.send(mulawOf('my card'));
    await talker.until('transcript');
    expect((await first.http(`/v2/live/${open.id}`, { method: 'DELETE' })).status).toBe(403);
    await first[Symbol.asyncDispose]();
    await using second = await startTestService({ recogniser, store, config: { abandonedS: 0.2 } });
    expect(await second.ended(open.id)).toMatchObject({
      status: 'done',
      result: { transcription: { full_transcript: 'my card' } },
    });
    expect((await second.http(`/v2/live/${open.id}`, { method: 'DELETE' })).status).toBe(202);
    expect((await second.http(`/v2/live/${open.id}`)).status).toBe(404);
  },
  60_000,
);

/** A job that takes a while, once it is worked on, and what clients ask for about it. */
async function polledJob(service: TestService): Promise<{ id: string; paths: string[] }> {
  const jobs = jobsApi(service);
  const words = Array.from({ length: 600 }, () => 'card' as const);
  const { audio_url } = await jobs.upload(wavFile([tones(words)]));
  const id = await jobs.begin({ audio_url });
  await until(async () => (await jobs.record(id)).status === 'processing');
  const paths = ['/v2/pre-recorded', '/v2/transcription'].flatMap((base) => [
    ...[base, `${base}/${id}`, `${base}/${id}/file`],
  ]);
  return { id, paths };
}

/** Reads the answers to their end, and tells how each began. */
async function statusesOf(asked: readonly Promise<Response>[]): Promise<number[]> {
  return Promise.all(
    asked.map(async (answer) => {
      await (await answer).arrayBuffer();
      return (await answer).status;
    }),
  );
}

test.skipIf(postgresMissing !== undefined || process.env['TEST_DATABASE_URL'] !== undefined)(
  'who polls a job while Postgres is started again has a slow answer and no failure, and the job is done',
  async () => {
    // Time goes slowly at the store: on a busy machine a start takes longer than the answers may be held up.
    const clock = new TestClock(0.1);
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase(), clock });
    await using service = await startTestService({ recogniser, store });
    const { id, paths } = await polledJob(service);
    await postgres.outage?.begin();
    const asked = paths.map((path) => service.http(path));
    await postgres.outage?.end();
    expect(await statusesOf(asked)).toEqual(paths.map(() => 200));
    expect(await jobsApi(service).ended(id)).toMatchObject({ status: 'done', error_code: null });
  },
  90_000,
);

test.skipIf(postgresMissing)(
  'who polls a job when the connection of the question is ended has an answer by another one',
  async () => {
    const databaseUrl = await postgres.newDatabase();
    await using store = await temporaryStore({ databaseUrl });
    await using service = await startTestService({ recogniser, store });
    const { paths } = await polledJob(service);
    const [holder, watcher] = [0, 1].map(() => new pg.Client({ connectionString: databaseUrl }));
    if (!holder || !watcher) throw new Error('two clients were made');
    await Promise.all([holder.connect(), watcher.connect()]);
    try {
      await holder.query('begin; lock table speech_jobs in access exclusive mode');
      const asked = paths.map((path) => service.http(path));
      const waiting = `from pg_stat_activity where wait_event_type = 'Lock' and query ilike 'select%speech_jobs%'`;
      // The list of both kinds asks twice.
      const least = paths.length + 1;
      await until(
        async () => ((await watcher.query(`select 1 ${waiting}`)).rowCount ?? 0) >= least,
      );
      await watcher.query(`select pg_terminate_backend(pid) ${waiting}`);
      await holder.query('rollback');
      expect(await statusesOf(asked)).toEqual(paths.map(() => 200));
    } finally {
      await Promise.all([holder.end(), watcher.end()]);
    }
  },
  60_000,
);
