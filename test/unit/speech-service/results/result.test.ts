import { beforeAll, expect, test } from 'vitest';
import { failed, succeeded } from '../../../../src/language/block.ts';
import type { AddonRunner } from '../../../../src/speech-service/results/answer.ts';
import { resultFor, runnerHere, spoken } from '../../../support/speech/job-results.ts';

// The word lists are read once: no test pays for that with its time.
beforeAll(async () => {
  await resultFor({ pii_redaction: true, summarization: true, chapterization: true }, [
    spoken('Hello, my name is Laura.', 0),
  ]);
});

test('a plain job has its figures and its transcription, most spoken language first, and no block', async () => {
  const utterances = [
    spoken('Later words in the other channel.', 4, { channel: 1 }),
    spoken('Bonjour.', 1, { language: 'fr' }),
  ];
  const result = await resultFor({}, utterances);
  expect(Object.keys(result)).toEqual(['metadata', 'transcription']);
  expect(result.metadata).toEqual({
    audio_duration: 12.346,
    number_of_distinct_channels: 2,
    billing_time: 24.691,
    transcription_time: 1.5,
  });
  expect(result.transcription).toMatchObject({
    full_transcript: 'Bonjour. Later words in the other channel.',
    languages: ['en', 'fr'],
  });
});

const noModel = { success: false, error: { status_code: 501, exception: 'NotConfigured' } };
const keys = ['success', 'is_empty', 'exec_time', 'error', 'results'];

test('a block is there when it was asked for, with all its keys, and says when only a model could make it', async () => {
  const result = await resultFor(
    {
      summarization: true,
      named_entity_recognition: true,
      sentiment_analysis: true,
      chapterization: true,
      sentences: true,
      display_mode: true,
      moderation: true,
      name_consistency: true,
      structured_data_extraction: true,
      translation: true,
      translation_config: { target_languages: ['fr', 'de', 'fr'] },
      audio_to_llm: true,
      audio_to_llm_config: { prompts: ['Why?', 'When?'] },
      diarization: true,
    },
    [spoken('I am Laura Achterberg and I am very happy.', 0, { speaker: 1 })],
    { diarization: failed(501, 'NotConfigured', 'no model', performance.now()) },
  );
  const { metadata: _, transcription, ...blocks } = result;
  for (const block of [...Object.values(blocks), ...(transcription?.sentences ?? [])])
    expect(Object.keys(block ?? {})).toEqual(expect.arrayContaining(keys));
  expect(blocks.translation).toMatchObject({
    ...noModel,
    results: ['fr', 'de'].map((target) => ({
      error: noModel.error,
      full_transcript: '',
      languages: [target],
      utterances: [],
    })),
  });
  expect(blocks.audio_to_llm).toMatchObject({ ...noModel, results: [noModel, noModel] });
  for (const block of [
    blocks.moderation,
    blocks.name_consistency,
    blocks.structured_data_extraction,
  ])
    expect(block).toMatchObject({ ...noModel, results: null });
  // As released clients document it: there when it failed, a list even then.
  expect(blocks.diarization).toMatchObject({ ...noModel, results: [] });
  expect(blocks.summarization).toMatchObject({ success: true, results: expect.any(String) });
  expect(blocks.chapterization).toMatchObject({ success: true, results: { chapters: [{}] } });
  expect(blocks.named_entity_recognition?.results).toContainEqual(
    expect.objectContaining({ entity_type: 'NAME', text: 'Laura Achterberg' }),
  );
  expect(blocks.display_mode?.results).toEqual(['I am Laura Achterberg and I am very happy.']);
});

test('entities have their values, and those that a redaction covered have none', async () => {
  const talk = [
    spoken('The order number is four seven two nine one six.', 0),
    spoken('I paid eighty nine dollars with 4111 1111 1111 1111.', 8),
  ];
  const entitiesOf = async (body: object) =>
    (
      (await resultFor({ named_entity_recognition: true, ...body }, talk)).named_entity_recognition
        ?.results ?? []
    ).map(({ entity_type, text, value, currency, valid }) => ({ entity_type, text, value, currency, valid })); // prettier-ignore
  const number = {
    entity_type: 'NUMERICAL_PII',
    text: 'four seven two nine one six',
    value: '472916',
  };
  const amount = {
    entity_type: 'MONEY',
    text: 'eighty nine dollars',
    value: '89.00',
    currency: 'USD',
  };
  expect(await entitiesOf({})).toEqual([
    number,
    amount,
    {
      entity_type: 'CREDIT_CARD',
      text: '4111 1111 1111 1111',
      value: '4111111111111111',
      valid: true,
    },
  ]);
  const redaction = {
    pii_redaction: true,
    pii_redaction_config: { entity_types: ['CREDIT_CARD'] },
  };
  expect(await entitiesOf(redaction)).toEqual([
    number,
    amount,
    { entity_type: 'CREDIT_CARD', text: '[CREDIT_CARD_1]' },
  ]);
});

test('sentiment is JSON text with the speaker, without bare words; empty text when it failed', async () => {
  const talk = [spoken('I am very happy. This is terrible.', 0, { speaker: 4 })];
  const body = { sentiment_analysis: true, diarization: true };
  const text = (await resultFor(body, talk)).sentiment_analysis?.results;
  if (typeof text !== 'string') throw new Error('no text');
  expect(JSON.parse(text)).toMatchObject([
    { text: 'I am very happy.', sentiment: 'positive', channel: 0, speaker: 0, start: 0 },
    { text: 'This is terrible.', sentiment: 'negative', speaker: 0 },
  ]);
  expect(text).not.toMatch(/:(?:true|false|null)/);
  const language = runnerHere({
    sentimentAll: () => failed(500, 'LanguageThreadLost', 'gone', performance.now()),
  });
  expect((await resultFor(body, talk, { language })).sentiment_analysis).toMatchObject({
    success: false,
    results: '',
  });
});

test('vocabulary, spelling and punctuation change text and words alike, and what is made of them', async () => {
  const result = await resultFor(
    {
      punctuation_enhanced: true,
      custom_vocabulary: ['Zorblat'],
      custom_spelling: true,
      custom_spelling_config: { spelling_dictionary: { 'ACME Ltd': ['acme limited'] } },
      sentences: true,
      subtitles: true,
    },
    [spoken('hello this is acme limited about your zorblatt', 0)],
  );
  const { full_transcript, utterances, sentences, subtitles } = result.transcription ?? {};
  expect(full_transcript).toBe('Hello this is ACME Ltd about your Zorblat.');
  expect(utterances?.[0]?.words.map(({ word }) => word).join('')).toBe(full_transcript);
  expect(sentences).toMatchObject([{ results: [{ sentence: full_transcript }] }]);
  expect(subtitles?.[0]?.subtitles).toContain(full_transcript);
});

test('speakers are numbered by their first appearance, and gone where nobody asked for them', async () => {
  const talk = [spoken('Hello.', 3, { speaker: 2 }), spoken('Yes?', 0, { speaker: 9 }), spoken('Hi.', 5, { speaker: 9 })]; // prettier-ignore
  const speakersOf = async (body: object): Promise<unknown> =>
    (await resultFor(body, talk)).transcription?.utterances.map(({ speaker }) => speaker);
  expect(await speakersOf({ diarization: true })).toEqual([0, 1, 0]);
  expect(await speakersOf({})).toEqual([undefined, undefined, undefined]);
  const sentences = await resultFor({ diarization: true, sentences: true }, talk);
  expect(sentences.transcription?.sentences?.[0]?.results).toMatchObject([
    { sentence: 'Yes?', speaker: 0 },
    { sentence: 'Hello.', speaker: 1 },
    { sentence: 'Hi.', speaker: 0 },
  ]);
  const diarization = succeeded(talk, performance.now());
  expect(await resultFor({ diarization: true }, talk, { diarization })).not.toHaveProperty(
    'diarization',
  );
});

test('a job without words is empty, and done', async () => {
  const body = { subtitles: true, sentences: true, summarization: true, chapterization: true, sentiment_analysis: true, pii_redaction: true, display_mode: true }; // prettier-ignore
  const result = await resultFor(body, []);
  expect(result).toMatchObject({
    transcription: {
      full_transcript: '',
      languages: [],
      utterances: [],
      subtitles: [{ subtitles: '' }],
    },
    summarization: { success: true, is_empty: true },
    sentiment_analysis: { success: true, is_empty: true, results: '[]' },
    display_mode: { is_empty: true, results: [] },
  });
});

test('a job that is cancelled ends at once, with the reason of its signal', async () => {
  const aborted = new AbortController();
  const language: AddonRunner = {
    run: (task, input) => {
      aborted.abort(new Error('cancelled'));
      return runnerHere().run(task, input);
    },
  };
  const body = { named_entity_recognition: true, summarization: true };
  const work = resultFor(body, [spoken('Hello.', 0)], { language, signal: aborted.signal });
  await expect(work).rejects.toThrow('cancelled');
});

test('an add-on that throws or breaks its promise costs its own block an error', async () => {
  const language: AddonRunner = {
    run: (task, input) => {
      if (task === 'summarization') throw new Error('a secret text');
      return runnerHere().run(task, input);
    },
  };
  const body = { summarization: true, named_entity_recognition: true };
  const result = await resultFor(body, [spoken('I am Laura.', 0)], { language });
  expect(result.summarization).toMatchObject({
    success: false,
    error: { exception: 'AddonFailed' },
  });
  expect(JSON.stringify(result)).not.toContain('a secret text');
  expect(result.named_entity_recognition).toMatchObject({ success: true });
});

test('captions have numbers in figures, and the words of the result stay as they were said', async () => {
  const said = [
    spoken('Your order number is four, seven, two, nine, one, six.', 0),
    spoken('I paid eighty nine dollars on March third.', 8),
    spoken('Bonjour, quatre sept deux.', 14, { language: 'fr' }),
  ];
  const { transcription } = await resultFor(
    { subtitles: true, subtitles_config: { formats: ['srt'], style: 'default' } },
    said,
  );
  const file = transcription?.subtitles?.[0]?.subtitles ?? '';
  const rows = file.split('\n').filter((row) => /[a-z]/i.test(row));
  expect(rows.join(' ')).toBe(
    'Your order number is 472916. I paid $89 on March 3rd. Bonjour, quatre sept deux.',
  );
  expect(transcription?.full_transcript).toContain('four, seven, two, nine, one, six.');
  expect(transcription?.utterances[1]?.words.map(({ word }) => word.trim())).toContain('eighty');
});
