import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UploadedFile } from '../../../../src/protocol/pre-recorded.ts';
import type { Recogniser } from '../../../../src/hearing/recogniser.ts';
import { until } from '../../../support/process/until.ts';
import { audioHost } from '../../../support/speech/audio-host.ts';
import { jobWeb } from '../../../support/speech/job-web.ts';
import { jobsApi, wavOf } from '../../../support/speech/jobs.ts';
import { fixtureRecogniser, startTestService } from '../../../support/speech/speech-service.ts';
import { temporaryStore } from '../../../support/store/store.ts';

let recogniser: Recogniser;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
});
afterAll(async () => {
  await recogniser[Symbol.asyncDispose]();
});

const filesOf = (dataDir: string): Promise<string[]> => readdir(join(dataDir, 'speech', 'files'));

describe('the audio of a job is lost from the disk while it waits', () => {
  test('an upload cannot be had again: the error says so', async () => {
    await using service = await startTestService({ recogniser });
    const jobs = jobsApi(service);
    const { audio_url, audio_metadata } = await jobs.upload(wavOf('thanks'));
    await rm(join(service.store.dataDir, 'speech', 'files', audio_metadata.id));
    const job = await jobs.ended(await jobs.begin({ audio_url }));
    expect(job).toMatchObject({ status: 'error', error_code: 404 });
    expect(job.error_message).toContain('lost from the disk; upload the file again');
  });

  test('a file that came from an address is fetched from there again', async () => {
    await using web = await jobWeb({ '/a.wav': wavOf('thanks') });
    await using service = await startTestService({
      recogniser,
      config: { jobs: { audioHosts: [web.host] } },
    });
    const jobs = jobsApi(service);
    const source = `${web.url}/a.wav`;
    const response = await service.http('/v2/upload', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ audio_url: source }),
    });
    const { audio_url, audio_metadata } = (await response.json()) as UploadedFile;
    await rm(join(service.store.dataDir, 'speech', 'files', audio_metadata.id));
    const job = await jobs.ended(await jobs.begin({ audio_url }));
    expect(job.result?.transcription?.full_transcript).toBe('thanks');
    expect(job.file?.source).toBe(source);
    expect(web.fetched.get('/a.wav')).toBe(2);
  });
});

describe('what happens to a job in the middle of its work', () => {
  test('a process that stops while it fetches gives the job back and leaves no byte', async () => {
    await using host = await audioHost();
    await using store = await temporaryStore();
    const config = { jobs: { audioHosts: [host.host] } };
    let id: string;
    {
      await using service = await startTestService({ recogniser, store, config });
      const jobs = jobsApi(service);
      id = await jobs.begin({ audio_url: host.url('drips') });
      await until(async () => (await filesOf(store.dataDir)).length === 1);
      await service.service.drain?.(0);
      expect(await filesOf(store.dataDir)).toEqual([]);
    }
    await using service = await startTestService({ recogniser, store, config });
    const jobs = jobsApi(service);
    // It is fetched again from its beginning; nobody can finish that one, so it is taken back and deleted.
    await until(async () => (await jobs.record(id)).status === 'processing');
    await until(() => host.requests.length === 2);
    const path = `/v2/pre-recorded/${id}`;
    expect((await service.http(`${path}/cancel`, { method: 'POST' })).status).toBe(202);
    expect((await service.http(path, { method: 'DELETE' })).status).toBe(202);
    await until(async () => (await filesOf(store.dataDir)).length === 0);
    expect((await service.http(path)).status).toBe(404);
  });

  test('two jobs of one upload that are deleted at the same moment take it with them', async () => {
    await using service = await startTestService({ recogniser });
    const jobs = jobsApi(service);
    const { audio_url } = await jobs.upload(wavOf('thanks'));
    const ids = [await jobs.begin({ audio_url }), await jobs.begin({ audio_url })];
    for (const id of ids) await jobs.ended(id);
    const deleted = await Promise.all(
      [...ids, ...ids].map((id) => service.http(`/v2/pre-recorded/${id}`, { method: 'DELETE' })),
    );
    for (const { status } of deleted) expect([202, 404]).toContain(status);
    expect(deleted.filter(({ status }) => status === 202).length).toBeGreaterThanOrEqual(2);
    expect(await filesOf(service.store.dataDir)).toEqual([]);
  });
});
