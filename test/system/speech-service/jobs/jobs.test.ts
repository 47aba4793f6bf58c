import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PreRecordedCallback, PreRecordedWebhook } from '../../../../src/protocol/callbacks.ts';
import { JobList, PreRecordedJobRecord } from '../../../../src/protocol/job.ts';
import { JobsConfig } from '../../../../src/speech-service/config.ts';
import type { Recogniser } from '../../../../src/hearing/recogniser.ts';
import { tones } from '../../../support/recognition/fixture-model.ts';
import { callbackSecret, jobWeb, toldOf } from '../../../support/speech/job-web.ts';
import { jobsApi, wavFile, wavOf } from '../../../support/speech/jobs.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  telephony,
} from '../../../support/speech/speech-service.ts';
import { temporaryStore } from '../../../support/store/store.ts';
import { until } from '../../../support/process/until.ts';

let recogniser: Recogniser;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
});
afterAll(async () => {
  await recogniser[Symbol.asyncDispose]();
});

describe('a pre-recorded job', () => {
  test('of an uploaded file: its words, its record, its place in the lists, its audio, its deletion', async () => {
    await using service = await startTestService({ recogniser });
    const jobs = jobsApi(service);
    const wav = wavOf('my card is lost');
    const uploaded = await jobs.upload(wav);
    const id = await jobs.begin({
      audio_url: uploaded.audio_url,
      custom_metadata: { ticket: 'A-7' },
      sentences: true,
    });
    const job = await jobs.ended(id);
    expect(job).toMatchObject({
      kind: 'pre-recorded',
      status: 'done',
      error_code: null,
      custom_metadata: { ticket: 'A-7' },
      file: { filename: 'call.wav', source: null, number_of_channels: 1 },
      request_params: { audio_url: uploaded.audio_url, sentences: true },
    });
    expect(job.result?.transcription?.full_transcript).toBe('my card is lost');
    expect(job.result?.transcription?.utterances.flatMap(({ words }) => words)).toHaveLength(4);
    expect(PreRecordedJobRecord.parse(job)).toBeTruthy();
    // The deprecated routes read it too, and the lists of the other kind do not.
    expect((await service.http(`/v2/transcription/${id}`)).status).toBe(200);
    expect((await service.http(`/v2/live/${id}`)).status).toBe(404);
    const list = (await (
      await service.http('/v2/transcription?custom_metadata={"ticket":"A-7"}')
    ).json()) as JobList;
    expect(list.items.map((item) => item.id)).toEqual([id]);
    const audio = await service.http(`/v2/pre-recorded/${id}/file`);
    expect(Buffer.from(await audio.arrayBuffer()).equals(wav)).toBe(true);
    expect((await service.http(`/v2/pre-recorded/${id}`, { method: 'DELETE' })).status).toBe(202);
    expect((await service.http(`/v2/pre-recorded/${id}`)).status).toBe(404);
    expect((await service.http(new URL(uploaded.audio_url).pathname)).status).toBe(404);
  });

  test('of an address: fetched after the answer; each channel is read once, equal ones together', async () => {
    const customer = tones('my card is lost');
    const agent = tones('hello please', { leadS: 4 });
    await using web = await jobWeb({ '/call.wav': wavFile([customer, agent, customer]) });
    await using service = await startTestService({
      recogniser,
      config: { jobs: { audioHosts: [web.host] } },
    });
    const jobs = jobsApi(service);
    const id = await jobs.begin({ audio_url: `${web.url}/call.wav` });
    const { result, file } = await jobs.ended(id);
    expect(file).toMatchObject({ source: `${web.url}/call.wav`, number_of_channels: 3 });
    expect(result?.metadata.number_of_distinct_channels).toBe(2);
    expect(result?.transcription?.utterances.map(({ channel, text }) => [channel, text])).toEqual([
      [0, 'my card is lost'],
      [1, 'hello please'],
    ]);
  });

  test('that cannot have its audio ends in an error that record, callback and webhook tell', async () => {
    await using web = await jobWeb({
      '/gone.wav': 410,
      '/page': Buffer.from('<html>no</html>'),
    });
    await using service = await startTestService({
      recogniser,
      config: {
        callbackHosts: [web.host],
        webhooks: [{ url: `${web.url}/account` }],
        jobs: { audioHosts: [web.host] },
      },
    });
    const jobs = jobsApi(service);
    for (const path of ['/gone.wav', '/page']) {
      const id = await jobs.begin({
        audio_url: web.url + path,
        callback: true,
        callback_config: { url: `${web.url}/own`, method: 'PUT' },
        custom_metadata: { path },
      });
      const job = await jobs.ended(id);
      expect(job).toMatchObject({ status: 'error', result: null });
      expect(job.error_message).toContain('127.0.0.1');
      const own = await until(() => web.told.find(({ method }) => method === 'PUT'));
      expect(PreRecordedCallback.parse(own.body)).toEqual({
        id,
        event: 'transcription.error',
        error: { code: job.error_code, message: job.error_message },
        custom_metadata: { path },
      });
      const account = await until(() => {
        const events = web.told.filter(({ method }) => method === 'POST');
        return events.length === 2 && events.map(({ body }) => PreRecordedWebhook.parse(body));
      });
      expect(account.map(({ event }) => event).sort()).toEqual([
        'transcription.created',
        'transcription.error',
      ]);
      web.told.length = 0;
    }
  });

  test('is refused where nothing can come of it, with the reason', async () => {
    await using service = await startTestService({ recogniser });
    const jobs = jobsApi(service);
    const audio_url = 'https://example.com/a.wav';
    await expect(
      jobs.begin({ audio_url, callback_url: 'http://169.254.169.254/latest' }),
    ).rejects.toThrow(/422.*is never called from here/);
    await expect(jobs.begin({ audio_url, language_config: { languages: ['sw'] } })).rejects.toThrow(
      /422.*no installed model covers sw/,
    );
    await expect(
      jobs.begin({ audio_url: `${service.url}/file/${crypto.randomUUID()}` }),
    ).rejects.toThrow(/422.*upload it again/);
  });

  test('takes a region in the query, which says nothing here, and refuses one in the body', async () => {
    await using service = await startTestService({ recogniser });
    const { audio_url } = await jobsApi(service).upload(wavOf('one'));
    const create = (query: string, body: Record<string, unknown>): Promise<Response> =>
      service.http(`/v2/pre-recorded${query}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ audio_url, ...body }),
      });
    for (const query of ['?region=eu-west', '?region=us-west', '?region=nowhere', '?region='])
      expect((await create(query, {})).status, query).toBe(201);
    const refused = await create('?region=eu-west', { region: 'eu-west' });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      validation_errors: ['region must not be present'],
    });
  });

  test('is read and deleted by requests that need no body; one that comes is judged as any other', async () => {
    await using service = await startTestService({ recogniser });
    const path = `/v2/pre-recorded/${crypto.randomUUID()}`;
    const remove = async (body: string, more: Record<string, string> = {}): Promise<number> =>
      (
        await service.http(path, {
          method: 'DELETE',
          headers: { 'content-type': 'application/json', ...more },
          body,
        })
      ).status;
    expect(await remove('{}')).toBe(404);
    expect(await remove('{')).toBe(400);
    expect(await remove('{}', { 'content-encoding': 'gzip' })).toBe(415);
    expect(await remove(JSON.stringify('a'.repeat(1_100_000)))).toBe(413);
    expect((await service.http('/v2/pre-recorded/%E0%A4%A')).status).toBe(400);
  });

  test('waits its turn, is cancelled, and cannot be deleted before its end', async () => {
    await using service = await startTestService({
      recogniser,
      config: { jobs: { atOnce: 1, maxQueued: 2 } },
    });
    const jobs = jobsApi(service);
    const long = wavFile([tones(Array.from({ length: 600 }, () => 'card' as const))]);
    const { audio_url } = await jobs.upload(long);
    const first = await jobs.begin({ audio_url });
    await until(async () => (await jobs.record(first)).status === 'processing');
    const others = [await jobs.begin({ audio_url }), await jobs.begin({ audio_url })];
    await expect(jobs.begin({ audio_url })).rejects.toThrow(/429.*at most 2 may wait/);
    for (const id of [first, ...others]) {
      expect((await service.http(`/v2/pre-recorded/${id}`, { method: 'DELETE' })).status).toBe(403);
      const path = `/v2/pre-recorded/${id}/cancel`;
      expect((await service.http(path, { method: 'POST' })).status).toBe(202);
      expect((await service.http(path, { method: 'POST' })).status).toBe(403);
      expect(await jobs.record(id)).toMatchObject({ status: 'error', error_code: 499 });
    }
    // The place is free again.
    const next = await jobs.upload(wavOf('thanks'));
    const done = await jobs.ended(await jobs.begin({ audio_url: next.audio_url }));
    expect(done.result?.transcription?.full_transcript).toBe('thanks');
  });

  test('goes on after a restart, is done once and told once, by the same identity over all attempts', async () => {
    let up = false;
    await using web = await jobWeb({}, () => (up ? 200 : 503));
    await using store = await temporaryStore();
    const config = { callbackHosts: [web.host], callbackSecret };
    const ids: string[] = [];
    {
      await using service = await startTestService({ recogniser, store, config });
      const jobs = jobsApi(service);
      const { audio_url } = await jobs.upload(wavOf('one two three'));
      ids.push(await jobs.begin({ audio_url, callback_url: `${web.url}/done` }));
      await service.service.drain?.(0);
    }
    up = true;
    await using service = await startTestService({ recogniser, store, config });
    const jobs = jobsApi(service);
    const job = await jobs.ended(ids[0] ?? '');
    expect(job.result?.transcription?.full_transcript).toBe('one two three');
    const identities = await until(() => toldOf(web).get(ids[0] ?? ''));
    expect(identities.size).toBe(1);
  });

  test('stands beside live sessions in the mixed list, page by page in order of age', async () => {
    await using service = await startTestService({ recogniser });
    const jobs = jobsApi(service);
    const { audio_url } = await jobs.upload(wavOf('two'));
    const wanted: string[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const live = await service.post(telephony);
      const client = await connect(live.url);
      client.send(mulawOf('one'));
      client.stop();
      await client.closed;
      const id = await jobs.begin({ audio_url });
      await jobs.ended(id);
      wanted.unshift(id, live.id);
    }
    const seen: string[] = [];
    let next: string | null = `${service.url}/v2/transcription?limit=2`;
    while (next) {
      const page = JobList.parse(await (await fetch(next)).json());
      seen.push(...page.items.map(({ id }) => id));
      next = page.next;
    }
    expect(seen).toEqual(wanted);
    const live = JobList.parse(await (await service.http('/v2/transcription?kind=live')).json());
    expect(live.items.map(({ kind }) => kind)).toEqual(['live', 'live', 'live']);
  });

  test('with zero retention has its result by callback alone, and nothing of it is stored', async () => {
    await using web = await jobWeb({ '/secret-name.wav': wavOf('my card is lost') });
    await using service = await startTestService({
      recogniser,
      config: {
        zeroRetention: true,
        callbackHosts: [web.host],
        jobs: JobsConfig.parse({ audioHosts: [web.host] }),
      },
    });
    const jobs = jobsApi(service);
    await expect(jobs.upload(wavOf('one'))).rejects.toThrow(/403/);
    const id = await jobs.begin({
      audio_url: `${web.url}/secret-name.wav`,
      callback_url: `${web.url}/done`,
      custom_metadata: { of: 'Daniel' },
    });
    const told = await until(() => web.told.find(({ body }) => PreRecordedCallback.parse(body)));
    expect(told.body).toMatchObject({
      id,
      event: 'transcription.success',
      payload: { transcription: { full_transcript: 'my card is lost' } },
      custom_metadata: { of: 'Daniel' },
    });
    expect((await service.http(`/v2/pre-recorded/${id}`)).status).toBe(404);
    const tables = ['speech_jobs', 'speech_files', 'speech_job_callbacks'] as const;
    const kept = await until(async () => {
      const rows = await Promise.all(
        tables.map((table) => service.store.db.selectFrom(table).selectAll().execute()),
      );
      return rows[1]?.length === 0 && rows[2]?.length === 0 && JSON.stringify(rows);
    });
    expect(kept).not.toMatch(/secret-name|Daniel|card|127\.0\.0\.1/);
  });
});
