import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ErrorBody } from '../../../src/protocol/error-body.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { jobWeb } from '../../support/speech/job-web.ts';
import { jobsApi, wavOf } from '../../support/speech/jobs.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  telephony,
  type TestService,
} from '../../support/speech/speech-service.ts';

let recogniser: Recogniser;
let service: TestService;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
  service = await startTestService({ recogniser });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await recogniser[Symbol.asyncDispose]();
});

const answer = async (
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; allow: string | null; told: ErrorBody }> => {
  const response = await service.http(path, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const told = (await response.json()) as ErrorBody;
  return { status: response.status, allow: response.headers.get('allow'), told };
};

describe('an error says what was done wrong, and what to do', () => {
  test('a list refuses a filter that it does not have, and another kind than its own', async () => {
    for (const [path, line] of [
      ['/v2/live?kind=pre-recorded', /kind must be live: this list has no other jobs/],
      ['/v2/pre-recorded?kind=live', /kind must be pre-recorded/],
      ['/v2/pre-recorded?state=done', /state is no filter of this list, which has .*status/],
      ['/v2/transcription?custom_metadat[a]=1', /custom_metadat\[a\] is no filter/],
    ] as const) {
      const { status, told } = await answer('GET', path);
      expect([path, status]).toEqual([path, 400]);
      expect(told.validation_errors?.join()).toMatch(line);
    }
    for (const path of ['/v2/live?kind=live&region=eu-west', '/v2/transcription?kind=live'])
      expect((await service.http(path)).status, path).toBe(200);
  });

  test('a configuration whose flag is missing is taken, and the answer says that it has no effect', async () => {
    const { audio_url } = await jobsApi(service).upload(wavOf('one'));
    const ignoredOf = async (path: string, body: object): Promise<string | null> => {
      const response = await service.http(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(201);
      return response.headers.get('x-ignored-fields');
    };
    const job = { audio_url, diarization_config: { max_speakers: 2 }, context_prompt: 'a call' };
    expect(await ignoredOf('/v2/pre-recorded', job)).toBe('context_prompt, diarization_config');
    expect(await ignoredOf('/v2/pre-recorded', { ...job, diarization: false })).toBe('context_prompt'); // prettier-ignore
    const translation_config = { target_languages: ['fr'] };
    const live = (realtime_processing: object): Promise<string | null> =>
      ignoredOf('/v2/live', { ...telephony, realtime_processing });
    expect(await live({ translation_config })).toBe('realtime_processing.translation_config');
    expect(await live({ translation: false, translation_config })).toBeNull();
  });

  test('a language that nothing reads is refused beside one that is read', async () => {
    const language_config = { languages: ['en', 'fr'] };
    const { audio_url } = await jobsApi(service).upload(wavOf('one'));
    for (const [path, body] of [
      ['/v2/live', { ...telephony, language_config }],
      ['/v2/pre-recorded', { audio_url, language_config }],
    ] as const) {
      const { status, told } = await answer('POST', path, body);
      expect([path, status]).toEqual([path, 422]);
      expect(told.message).toMatch(
        /no installed model covers fr; .* may name en; .*models pull whisper-base/,
      );
    }
  });

  test("another host's refusal is no error code of ours", async () => {
    await using web = await jobWeb({ '/private.wav': 401 });
    await using own = await startTestService({
      recogniser,
      config: { jobs: { audioHosts: [web.host] } },
    });
    const jobs = jobsApi(own);
    const job = await jobs.ended(await jobs.begin({ audio_url: `${web.url}/private.wav` }));
    expect(job).toMatchObject({
      error_code: 422,
      error_message: expect.stringContaining('answered 401') as string,
    });
  });

  test('a method that an address does not have is told with those that it has', async () => {
    const id = crypto.randomUUID();
    for (const [method, path, allow] of [
      ['PUT', `/v2/pre-recorded/${id}`, 'GET, HEAD, PATCH, DELETE'],
      ['POST', `/v2/live/${id}`, 'GET, HEAD, PATCH, DELETE'],
      ['DELETE', '/v2/live', 'GET, HEAD, POST'],
      ['GET', '/v2/upload', 'POST'],
      ['PUT', `/file/${id}`, 'GET, HEAD, DELETE'],
    ] as const)
      expect(await answer(method, path)).toMatchObject({ status: 405, allow });
  });

  test('a job that has not ended cannot be deleted, and the answer says how it ends', async () => {
    const { id } = await service.post(telephony);
    const { status, told } = await answer('DELETE', `/v2/live/${id}`);
    expect([status, told.message]).toEqual([403, expect.stringMatching(/stop_recording/)]);
  });

  test('an add-on without a language model speaks of itself', async () => {
    const jobs = jobsApi(service);
    const { audio_url } = await jobs.upload(wavOf('my card is lost'));
    const asked = { audio_url, name_consistency: true, moderation: true };
    const { result } = await jobs.ended(await jobs.begin(asked));
    expect(result).toMatchObject({
      name_consistency: { error: { message: expect.stringMatching(/^name_consistency needs/) as string } },
      moderation: { error: { message: expect.stringMatching(/^moderation needs/) as string } },
    }); // prettier-ignore
  });
});

test('a short endpointing that a client asks for ends utterances at short pauses; without one they end at 0.3 s', async () => {
  const audio = mulawOf('my card is lost', { gapS: 0.2 });
  const heard = async (body: object): Promise<[number, string[]]> => {
    const { id, url } = await service.post({ ...telephony, ...body });
    const client = await connect(url);
    client.send(audio);
    client.stop();
    await client.closed;
    const finals = client.of('transcript').filter(({ data }) => data.is_final);
    const { request_params } = await service.ended(id);
    return [
      Number(request_params?.endpointing),
      finals.map(({ data }) => data.utterance.text.trim()),
    ];
  };
  expect(await heard({})).toEqual([0.3, ['my card is lost']]);
  expect(await heard({ endpointing: 0.1 })).toEqual([0.1, ['my', 'card', 'is', 'lost']]);
});
