import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JobCallbackPage, type ApiJobCallback } from '../../../../src/protocol/api.ts';
import type { Recogniser } from '../../../../src/hearing/recogniser.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';
import { until } from '../../../support/process/until.ts';
import { callbackSecret, jobWeb, type Told } from '../../../support/speech/job-web.ts';
import { jobsApi, wavOf } from '../../../support/speech/jobs.ts';
import {
  fixtureRecogniser,
  startTestService,
  type TestService,
} from '../../../support/speech/speech-service.ts';
import { postgresMissing, startPostgres } from '../../../support/store/postgres.ts';
import { temporaryStore } from '../../../support/store/store.ts';

let recogniser: Recogniser;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
});
afterAll(async () => {
  await recogniser[Symbol.asyncDispose]();
});

const secretPath = 'hook/s3cret?token=t0ken';
/** The first attempt, and one after each of four waits. */
const allAttempts = 5;

async function callbacksOf(service: TestService, query = ''): Promise<ApiJobCallback[]> {
  const response = await service.http(`/api/job-callbacks?${query}`);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  expect(text).not.toMatch(/s3cret|t0ken/);
  return JobCallbackPage.parse(JSON.parse(text)).items;
}

/** Waits for parked callbacks. The waits between attempts are times of the database: rows that wait are made due. */
async function parked(service: TestService, count: number): Promise<ApiJobCallback[]> {
  const { store } = service;
  const attemptMs = 20_000;
  return until(async () => {
    const nowMs = await store.databaseNow();
    await store.db
      .updateTable('speech_job_callbacks')
      .set({ due_at: nowMs })
      .where((each) =>
        each.or([
          each.and([each('attempts', '=', 1), each('last_error', 'is not', null)]),
          // An attempt that is being made holds its row for less than that.
          each('due_at', '>', nowMs + attemptMs),
        ]),
      )
      .where('due_at', '>', nowMs)
      .execute();
    const items = await callbacksOf(service, 'state=parked');
    return items.length === count && items;
  });
}

const tellingEnd = ({ told }: { told: Told[] }): Told[] =>
  told.filter(({ body }) => (body as { event: string }).event !== 'transcription.created');

async function isParkedAndSentAgain(databaseUrl?: string): Promise<void> {
  let up = false;
  await using web = await jobWeb({}, () => (up ? 200 : 503));
  await using store = await temporaryStore(databaseUrl === undefined ? {} : { databaseUrl });
  const config = { callbackHosts: [web.host], callbackSecret };
  const options = { recogniser, store, config, clock: new TestClock(10) };
  let id: string;
  {
    await using service = await startTestService(options);
    const jobs = jobsApi(service);
    const { audio_url } = await jobs.upload(wavOf('one two three'));
    id = await jobs.begin({ audio_url, callback_url: `${web.url}/${secretPath}` });
    const [callback] = await parked(service, 1);
    expect(callback).toMatchObject({
      ...{ job_id: id, event: 'transcription.success', target: 'request', host: web.host },
      ...{ state: 'parked', attempts: allAttempts, reason: 'answered 503', can_retry: true },
      next_attempt_at: null,
    });
    expect(Date.parse(callback?.parked_at ?? '')).toBeGreaterThanOrEqual(
      Date.parse(callback?.created_at ?? 'x'),
    );
    expect(tellingEnd(web)).toHaveLength(allAttempts);
  }
  // It is still there after a restart, and nothing is tried again by itself.
  await using service = await startTestService(options);
  const [callback] = await callbacksOf(service, `state=parked&job_id=${id.toUpperCase()}`);
  const path = `/api/job-callbacks/${callback?.id ?? ''}/retry`;
  up = true;
  expect(web.told).toHaveLength(allAttempts);
  const answer = await service.http(path, { method: 'POST' });
  expect([answer.status, await answer.json()]).toEqual([202, { changed: 1 }]);
  await until(() => web.told.length === allAttempts + 1);
  expect(web.told.at(-1)?.body).toMatchObject({ id, event: 'transcription.success' });
  expect(new Set(web.told.map((one) => one.id))).toEqual(new Set([callback?.id]));
  await until(async () => (await callbacksOf(service)).length === 0);
  expect((await service.http(path, { method: 'POST' })).status).toBe(404);
}

describe('a callback of a job that is given up', () => {
  test('is parked with its reason and its host, and is sent again by the same identity', async () => {
    await isParkedAndSentAgain();
  });

  test.skipIf(postgresMissing)('on Postgres too', async () => {
    await using postgres = await startPostgres();
    await isParkedAndSentAgain(await postgres.newDatabase());
  });

  test('is parked again where it fails again, stands in pages, and goes with its job', async () => {
    await using web = await jobWeb({}, () => 500);
    await using service = await startTestService({
      recogniser,
      config: { callbackHosts: [web.host], webhooks: [{ url: `${web.url}/${secretPath}` }] },
      clock: new TestClock(10),
    });
    const jobs = jobsApi(service);
    const { audio_url } = await jobs.upload(wavOf('two'));
    const id = await jobs.begin({ audio_url, callback_url: `${web.url}/${secretPath}` });
    const all = await parked(service, 3);
    expect(all.map(({ event, target }) => `${target} ${event}`).sort()).toEqual([
      'request transcription.success',
      'webhook transcription.created',
      'webhook transcription.success',
    ]);
    const seen: string[] = [];
    let cursor = '';
    do {
      const response = await service.http(`/api/job-callbacks?limit=1${cursor}`);
      const page = JobCallbackPage.parse(await response.json());
      seen.push(...page.items.map((item) => item.id));
      cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
    } while (cursor !== '' && seen.length < 10);
    expect(seen).toEqual(all.map((item) => item.id));
    const retry = `/api/job-callbacks/${all[0]?.id ?? ''}/retry`;
    expect((await service.http(retry, { method: 'POST' })).status).toBe(202);
    // Twice is once: it is on its way already.
    const twice = await service.http(retry, { method: 'POST' });
    expect(await twice.json()).toEqual({ changed: 0 });
    expect(await parked(service, 3)).toMatchObject([{ attempts: allAttempts }, {}, {}]);
    expect((await service.http('/api/job-callbacks?cursor=1')).status).toBe(400);
    expect((await service.http(`/v2/pre-recorded/${id}`, { method: 'DELETE' })).status).toBe(202);
    expect(await callbacksOf(service)).toEqual([]);
    const rows = await service.store.db.selectFrom('speech_job_callbacks').selectAll().execute();
    expect(rows).toEqual([]);
  });

  test('says with zero retention that nothing was kept to be sent again, and names no host', async () => {
    await using web = await jobWeb({ '/a.wav': wavOf('my card is lost') }, () => 500);
    await using service = await startTestService({
      recogniser,
      config: {
        zeroRetention: true,
        callbackHosts: [web.host],
        webhooks: [{ url: `${web.url}/${secretPath}` }],
        jobs: { audioHosts: [web.host] },
      },
      clock: new TestClock(10),
    });
    const jobs = jobsApi(service);
    await jobs.begin({ audio_url: `${web.url}/a.wav`, callback_url: `${web.url}/${secretPath}` });
    const all = await parked(service, 3);
    const own = all.find(({ target }) => target === 'request');
    expect(own).toMatchObject({ can_retry: false, host: null, reason: 'answered 500' });
    const answer = await service.http(`/api/job-callbacks/${own?.id ?? ''}/retry`, {
      method: 'POST',
    });
    expect([answer.status, await answer.text()]).toEqual([
      409,
      expect.stringContaining('zero data retention'),
    ]);
    // A webhook tells the id alone: there is nothing that could be missing.
    expect(all.filter(({ can_retry: canRetry }) => canRetry)).toHaveLength(2);
  });

  test('with zero retention is parked when the process that held its address has ended', async () => {
    let up = false;
    await using web = await jobWeb({ '/a.wav': wavOf('thanks') }, () => (up ? 200 : 503));
    await using store = await temporaryStore();
    const options = {
      ...{ recogniser, store, clock: new TestClock(10) },
      config: {
        ...{ zeroRetention: true, callbackHosts: [web.host] },
        jobs: { audioHosts: [web.host] },
      },
    };
    {
      await using service = await startTestService(options);
      const jobs = jobsApi(service);
      await jobs.begin({ audio_url: `${web.url}/a.wav`, callback_url: `${web.url}/done` });
      await until(() => web.told.length > 0);
    }
    up = true;
    await using service = await startTestService(options);
    expect(await parked(service, 1)).toMatchObject([{ can_retry: false, host: null }]);
  });

  test('with zero retention is left to the node that holds its address, as long as that one lives', async () => {
    await using web = await jobWeb({ '/a.wav': wavOf('thanks') }, () => 503);
    await using service = await startTestService({
      recogniser,
      config: {
        ...{ zeroRetention: true, callbackHosts: [web.host] },
        jobs: { audioHosts: [web.host] },
      },
      clock: new TestClock(10),
    });
    const { store } = service;
    const jobs = jobsApi(service);
    const id = await jobs.begin({ audio_url: `${web.url}/a.wav`, callback_url: `${web.url}/done` });
    await until(() => web.told.length > 0);
    const sign = async (agoMs: number): Promise<void> => {
      const seen_at = (await store.databaseNow()) - agoMs;
      await store.db
        .insertInto('speech_nodes')
        .values({ node: 'another', seen_at })
        .onConflict((conflict) => conflict.column('node').doUpdateSet({ seen_at }))
        .execute();
    };
    await sign(0);
    await store.db
      .updateTable('speech_jobs')
      .set({ node: 'another' })
      .where('id', '=', id)
      .execute();
    const made = tellingEnd(web).length;
    await store.db
      .updateTable('speech_job_callbacks')
      .set({ due_at: 0 })
      .where('job_id', '=', id)
      .execute();
    // A row without a job is removed by whoever looks: once it is gone, the other one was passed over.
    await store.db
      .insertInto('speech_job_callbacks')
      .values({
        ...{ id: 'msg_look', job_id: crypto.randomUUID(), target: 'request', event: 'look' },
        ...{ body: null, created_at: 0, attempts: 0, due_at: 1, last_error: null },
        ...{ host: null, parked_at: null },
      })
      .execute();
    const rows = () => store.db.selectFrom('speech_job_callbacks').selectAll().execute();
    await until(async () => (await rows()).length === 1);
    expect(await rows()).toMatchObject([{ job_id: id, due_at: 0, parked_at: null }]);
    expect(tellingEnd(web)).toHaveLength(made);
    await sign(86_400_000);
    expect(await parked(service, 1)).toMatchObject([{ job_id: id, can_retry: false }]);
  });
});
