import { GladiaClient } from '@gladiaio/sdk';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { succeeded } from '../../../../src/language/block.ts';
import { PreRecordedJobRecord } from '../../../../src/protocol/job.ts';
import type { Recogniser } from '../../../../src/hearing/recogniser.ts';
import { runnerHere } from '../../../support/speech/job-results.ts';
import { jobWeb, type JobWeb } from '../../../support/speech/job-web.ts';
import { wavOf } from '../../../support/speech/jobs.ts';
import {
  fixtureRecogniser,
  startTestService,
  type TestService,
} from '../../../support/speech/speech-service.ts';
import { temporaryFolder } from '../../../support/store/store.ts';

// The vendor's released JavaScript SDK, unmodified, against our pre-recorded jobs.
const key = 'key-for-the-sdk-of-tests';
const said = 'my card is lost';
const quick = { interval: 20 };
let recogniser: Recogniser;
let web: JobWeb;
let service: TestService;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
  web = await jobWeb({ '/call.wav': wavOf(said), '/gone.wav': 410 });
  service = await startTestService({
    recogniser,
    keys: [key],
    config: { jobs: { audioHosts: [web.host] } },
  });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await web[Symbol.asyncDispose]();
  await recogniser[Symbol.asyncDispose]();
});

function client({ port } = service, apiKey = key) {
  return new GladiaClient({ apiUrl: `http://127.0.0.1:${port}`, apiKey }).preRecorded();
}

type Options = NonNullable<Parameters<ReturnType<typeof client>['transcribe']>[1]>;

/** Every add-on that the SDK knows, each with its configuration. */
const everything = {
  language_config: { languages: ['en'], code_switching: false },
  custom_vocabulary: true,
  custom_vocabulary_config: { vocabulary: ['lost', { value: 'card', intensity: 0.4 }] },
  custom_spelling: true,
  custom_spelling_config: { spelling_dictionary: { Card: ['card'] } },
  subtitles: true,
  subtitles_config: {
    formats: ['srt', 'vtt'],
    minimum_duration: 0,
    maximum_duration: 5,
    maximum_characters_per_row: 40,
    maximum_rows_per_caption: 2,
    style: 'compliance',
  },
  diarization: true,
  diarization_config: { min_speakers: 1, max_speakers: 2 },
  translation: true,
  translation_config: { target_languages: ['fr'], model: 'enhanced', informal: true },
  summarization: true,
  summarization_config: { type: 'bullet_points' },
  named_entity_recognition: true,
  sentiment_analysis: true,
  audio_to_llm: true,
  audio_to_llm_config: { prompts: [['What is lost?']] },
  pii_redaction: true,
  pii_redaction_config: { entity_types: 'PCI', processed_text_type: 'MASK' },
  sentences: true,
  punctuation_enhanced: true,
  custom_metadata: { trial: 'everything', number: 7 },
} satisfies Options;

const withoutModel = ['translation', 'audio_to_llm', 'diarization'];

describe('the released JavaScript SDK, pre-recorded', () => {
  test('transcribes a path, a buffer and an address, and reads the same words of each', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'Anruf März.wav');
    await writeFile(path, wavOf(said));
    const api = client();
    const file = new File([Uint8Array.from(wavOf(said))], 'call.wav');
    const ofPath = await api.transcribe(path, {}, quick);
    const ofBuffer = await api.transcribe(file, {}, quick);
    const ofUrl = await api.transcribe(`${web.url}/call.wav`, {}, quick);
    for (const job of [ofPath, ofBuffer, ofUrl])
      expect(job.result?.transcription?.full_transcript).toBe(said);
    for (const job of [ofPath, ofBuffer]) expect(job.file?.source).toBeNull();
    expect(ofPath.file?.filename).toBe('Anruf März.wav');
    expect(ofUrl).toMatchObject({ status: 'done', file: { source: `${web.url}/call.wav` } });
    expect(ofUrl.result?.metadata.audio_duration).toBe(ofUrl.file?.audio_duration);
  });

  test('creates, polls, gets, lists with filters and pages, reads the audio, deletes', async () => {
    const api = client();
    const wav = wavOf(said);
    const { audio_url, audio_metadata } = await api.uploadFile(new Blob([Uint8Array.from(wav)]));
    expect(audio_metadata).toMatchObject({ size: wav.length, number_of_channels: 1 });
    const ids: string[] = [];
    for (const number of [1, 2, 3]) {
      const { id, result_url } = await api.create({
        audio_url,
        custom_metadata: { trial: 'list', number },
      });
      expect(new URL(result_url).pathname).toBe(`/v2/transcription/${id}`);
      expect((await api.poll(id, quick)).status).toBe('done');
      ids.push(id);
    }
    const [first = ''] = ids;
    expect(await api.get(first)).toMatchObject({ id: first, kind: 'pre-recorded', version: 2 });
    const page = await api.list({ limit: 2, status: ['done'], custom_metadata: { trial: 'list' } });
    expect(page.items.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 2));
    const next = await api.list({ url: page.next ?? '' });
    expect(next.items.map(({ id }) => id)).toEqual([first]);
    expect(next.next).toBeNull();
    expect(Buffer.from(await api.getFile(first)).equals(wav)).toBe(true);
    expect(await api.delete(first)).toBe(true);
    await expect(api.get(first)).rejects.toThrow('Not found');
    await expect(api.delete(first)).rejects.toThrow('Not found');
    // The upload stays as long as another job has it.
    expect((await api.getFile(ids[1] ?? '')).byteLength).toBe(wav.length);
  });

  test('with every add-on and no language model: each block is there and says what it lacks', async () => {
    const job = await client().transcribe(
      new File([Uint8Array.from(wavOf(said))], 'call.wav'),
      everything,
      quick,
    );
    expect(PreRecordedJobRecord.parse(job)).toBeTruthy();
    const { transcription, metadata, ...blocks } = job.result ?? never();
    expect(metadata.billing_time).toBeGreaterThan(0);
    expect(transcription?.full_transcript.toLowerCase()).toContain('card is lost');
    expect(transcription?.sentences?.[0]?.results).toHaveLength(1);
    expect(transcription?.subtitles?.map(({ format }) => format)).toEqual(['srt', 'vtt']);
    for (const name of ['summarization', 'named_entity_recognition', 'sentiment_analysis'] as const)
      expect(blocks[name], name).toMatchObject({ success: true, error: null });
    for (const [name, block] of Object.entries(blocks)) {
      expect(Object.keys(block), name).toEqual(
        expect.arrayContaining(['success', 'is_empty', 'exec_time', 'error', 'results']),
      );
      if (withoutModel.includes(name))
        expect(block, name).toMatchObject({ success: false, error: { status_code: 501 } });
    }
    expect(Object.keys(blocks)).toEqual(expect.arrayContaining(withoutModel));
    expect(blocks.audio_to_llm?.results).toHaveLength(1);
    // The answer tells the request back, in the form in which it was understood.
    expect(job.request_params).toMatchObject({
      audio_to_llm_config: { prompts: ['What is lost?'] },
      pii_redaction_config: { entity_types: ['PCI'] },
    });
  });

  test('with every add-on and a language model: translation with its subtitles, and the answer', async () => {
    const language = runnerHere({
      translateAll: ({ utterances }) =>
        succeeded(
          utterances.map(({ text }) => `(fr) ${text}`),
          performance.now(),
        ),
      audioToLlm: ({ prompts }) =>
        succeeded(
          prompts.map((prompt) =>
            succeeded({ prompt, response: 'The card.' }, performance.now(), false),
          ),
          performance.now(),
        ),
    });
    await using withModel = await startTestService({ recogniser, keys: [key], language });
    const { result } = await client(withModel).transcribe(
      new File([Uint8Array.from(wavOf(said))], 'call.wav'),
      everything,
      quick,
    );
    const [french] = result?.translation?.results ?? [];
    expect(french).toMatchObject({ error: null, languages: ['fr'] });
    expect(french?.full_transcript).toContain('(fr)');
    expect(french?.utterances).toHaveLength(1);
    expect(french?.subtitles).toHaveLength(2);
    expect(result?.audio_to_llm?.results?.[0]?.results).toEqual({
      prompt: 'What is lost?',
      response: 'The card.',
    });
  });

  test('an error is shown with its code, and a refusal with its reason', async () => {
    const api = client();
    await expect(api.transcribe(`${web.url}/gone.wav`, {}, quick)).rejects.toThrow(
      /^Pre-recorded job [0-9a-f-]{36} failed with error code: 422$/,
    );
    await expect(
      api.create({ audio_url: `${web.url}/call.wav`, subtitles_config: { maximum_duration: 99 } }),
    ).rejects.toThrow(/Validation failed.*400/s);
    await expect(api.uploadFile(new Blob(['no audio']))).rejects.toThrow(/a text file.*415/);
    await expect(api.get('no-id')).rejects.toThrow(/Not found.*404/s);
    await expect(client(service, 'another key').list()).rejects.toThrow(/401/);
  });
});

function never(): never {
  throw new Error('the job has no result');
}
