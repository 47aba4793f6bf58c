import { describe, expect, test } from 'vitest';
import { neutralModel, ModelName } from '../../../src/protocol/names.ts';
import { parseLiveRequest, parseRegion } from '../../../src/protocol/parse-live-request.ts';
import { callbackOf, parsePreRecordedRequest } from '../../../src/protocol/parse-pre-recorded.ts';
import { expandEntityTypes, entityTypes, markerLabel } from '../../../src/protocol/entity-types.ts';

const audio_url = 'https://files.example.com/a.wav';

function requestOf<T>(parsed: { ok: true; request: T } | { ok: false }): T {
  if (!parsed.ok) throw new Error(JSON.stringify(parsed));
  return parsed.request;
}

describe('a body that is malformed is 400', () => {
  test.each([[null], [undefined], ['text'], [1], [[]]])('%j is no JSON object', (body) => {
    const answer = { ok: false, status: 400, validationErrors: ['body must be a JSON object'] };
    expect(parseLiveRequest(body)).toEqual(answer);
    expect(parsePreRecordedRequest(body)).toEqual(answer);
  });

  test('a body of brackets is refused before it can exhaust the stack', () => {
    const deep: unknown = JSON.parse(
      `{"custom_metadata":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
    );
    expect(parseLiveRequest(deep)).toMatchObject({ status: 400 });
  });

  test('every finding is named, each once', () => {
    expect(parseLiveRequest({ channels: 9, region: 'us-west', endpointing: '1' })).toEqual({
      ok: false,
      status: 400,
      validationErrors: [
        'channels must be at most 8',
        'endpointing must be a number',
        'region must not be present',
      ],
    });
  });

  test('no finding repeats what was sent', () => {
    const secret = 'hunter2-secret';
    const parsed = parseLiveRequest({ encoding: secret, callback_config: { url: secret } });
    expect(JSON.stringify(parsed)).not.toContain(secret);
  });

  test('a callback without an address to send it to is refused', () => {
    const validationErrors = ['callback_config.url is required when callback is true'];
    expect(parseLiveRequest({ callback: true })).toMatchObject({ status: 400, validationErrors });
    expect(parsePreRecordedRequest({ audio_url, callback: true })).toMatchObject({
      status: 400,
      validationErrors,
    });
  });
});

describe('a feature that needs a configuration is refused without it', () => {
  test.each(['custom_vocabulary', 'custom_spelling', 'translation', 'audio_to_llm'])(
    '%s',
    (flag) => {
      expect(parsePreRecordedRequest({ audio_url, [flag]: true })).toEqual({
        ok: false,
        status: 400,
        validationErrors: [`${flag}_config is required when ${flag} is true`],
      });
      expect(parsePreRecordedRequest({ audio_url, [flag]: false })).toMatchObject({ ok: true });
    },
  );
});

describe('a body that is well-formed but unusable is 422', () => {
  test.each([
    [{ model: 'model-3' }],
    [{ model: 'solaria-3' }],
    [{ model: 'model-fusion' }],
    [{ encoding: 'wav/ulaw', bit_depth: 16 }],
    [{ encoding: 'wav/alaw', bit_depth: 24 }],
  ])('live: %j', (body) => {
    expect(parseLiveRequest(body)).toMatchObject({
      status: 422,
      message: expect.stringMatching(/^Invalid parameter: /),
    });
  });

  test.each([
    [{ model: 'model-3' }],
    [{ model: 'model-3', language_config: { languages: ['en', 'fr'] } }],
    [{ model: 'model-3', language_config: { languages: ['ja'] } }],
    [{ model: 'solaria-3', language_config: { languages: ['en'], code_switching: true } }],
    [{ model: 'model-fusion' }],
    [{ diarization_config: { min_speakers: 3, max_speakers: 2 } }],
    [{ diarization_config: { number_of_speakers: 5, max_speakers: 2 } }],
    [{ diarization_config: { number_of_speakers: 1, min_speakers: 2 } }],
    [{ subtitles_config: { minimum_duration: 8, maximum_duration: 4 } }],
  ])('pre-recorded: %j', (body) => {
    expect(parsePreRecordedRequest({ audio_url, ...body })).toMatchObject({ status: 422 });
  });

  test.each(['en', 'fr', 'de', 'es', 'it'])('model-3 takes %s alone', (code) => {
    const body = { audio_url, model: 'model-3', language_config: { languages: [code] } };
    expect(parsePreRecordedRequest(body)).toMatchObject({
      ok: true,
      request: { model: 'model-3' },
    });
  });
});

describe('names of earlier versions, still sent by released clients', () => {
  test('live takes the two timestamp flags and ignores them', () => {
    const flags = { words_accurate_timestamps: false, word_timestamps: true };
    expect(parseLiveRequest({ realtime_processing: flags })).toMatchObject({
      ok: true,
      ignored: [
        'realtime_processing.words_accurate_timestamps',
        'realtime_processing.word_timestamps',
      ],
    });
  });

  test('pre-recorded ignores what has no effect any more', () => {
    const parsed = parsePreRecordedRequest({
      audio_url,
      context_prompt: 'x',
      diarization_enhanced: true,
      diarization_config: { enhanced: true },
      accurate_words_timestamps: true,
      audio_enhancer: true,
    });
    expect(parsed).toMatchObject({
      ok: true,
      ignored: [
        'context_prompt',
        'diarization_enhanced',
        'accurate_words_timestamps',
        'audio_enhancer',
        'diarization_config.enhanced',
        'diarization_config',
      ],
    });
  });

  test('pre-recorded takes what has a block in the result, and shows it only when it was sent', () => {
    const flags = {
      moderation: true,
      name_consistency: false,
      display_mode: true,
      structured_data_extraction: true,
      structured_data_extraction_config: { classes: ['Persons'] },
      chapterization: true,
    };
    const parsed = parsePreRecordedRequest({ audio_url, ...flags });
    expect(parsed).toMatchObject({ ok: true, ignored: [], request: flags });
    const plain = requestOf(parsePreRecordedRequest({ audio_url }));
    for (const name of Object.keys(flags)) expect(plain).not.toHaveProperty(name);
  });

  test.each([
    [{ language: 'fr' }, { languages: ['fr'], code_switching: false }],
    [
      { language: 'fr', detect_language: false },
      { languages: ['fr'], code_switching: false },
    ],
    [
      { language: 'fr', detect_language: true },
      { languages: [], code_switching: false },
    ],
    [{ enable_code_switching: true }, { languages: [], code_switching: true }],
    [
      { enable_code_switching: true, code_switching_config: { languages: ['en', 'fr'] } },
      { languages: ['en', 'fr'], code_switching: true },
    ],
    [
      { language: 'fr', language_config: { languages: ['de'] } },
      { languages: ['de'], code_switching: false },
    ],
  ])('%j names the languages', (old, expected) => {
    const request = requestOf(parsePreRecordedRequest({ audio_url, ...old }));
    expect(request.language_config).toEqual(expected);
    expect(request).not.toHaveProperty('language');
  });

  test('a vocabulary as an array, one entity type, prompts in a list of lists', () => {
    const request = requestOf(
      parsePreRecordedRequest({
        audio_url,
        custom_vocabulary: ['Trunkline'],
        pii_redaction_config: { entity_types: 'GDPR' },
        audio_to_llm_config: { prompts: [['Why?'], ['When?']] },
      }),
    );
    expect(request.custom_vocabulary).toBe(true);
    expect(request.custom_vocabulary_config).toEqual({ vocabulary: ['Trunkline'] });
    expect(request.pii_redaction_config?.entity_types).toEqual(['GDPR']);
    expect(request.audio_to_llm_config?.prompts).toEqual(['Why?', 'When?']);
  });

  test('the deprecated callback address is a POST', () => {
    const url = 'https://crm.example.com/done';
    const of = (body: object) =>
      callbackOf(requestOf(parsePreRecordedRequest({ audio_url, ...body })));
    expect(of({ callback_url: url })).toEqual({ url, method: 'POST' });
    expect(of({ callback: true, callback_url: url })).toEqual({ url, method: 'POST' });
    expect(of({ callback: true, callback_config: { url, method: 'PUT' } })).toEqual({
      url,
      method: 'PUT',
    });
    expect(of({ callback_config: { url } })).toBeUndefined();
  });
});

test('a lenient service ignores unknown keys and repairs a bit depth of G.711', () => {
  const body = { encoding: 'wav/ulaw', bit_depth: 16, foo: 1, pre_processing: { bar: 2 } };
  const parsed = parseLiveRequest(body, { lenient: true });
  expect(requestOf(parsed).bit_depth).toBe(8);
  expect(parsed).toMatchObject({ ignored: ['pre_processing.bar', 'foo', 'bit_depth'] });
});

test('a model is answered with the name that was sent, and both names mean the same', () => {
  for (const name of ModelName.options) expect(neutralModel(name)).toMatch(/^model-(1|3|fusion)$/);
  expect(requestOf(parseLiveRequest({ model: 'solaria-1' })).model).toBe('solaria-1');
  expect(neutralModel('solaria-1')).toBe('model-1');
});

test('a region is one of two, or absent', () => {
  expect(parseRegion(undefined)).toEqual({ ok: true, region: undefined });
  expect(parseRegion('eu-west')).toEqual({ ok: true, region: 'eu-west' });
  expect(parseRegion('us-west')).toMatchObject({ ok: true });
  for (const value of ['mars', '', ['us-west', 'eu-west']])
    expect(parseRegion(value)).toEqual({
      ok: false,
      validationErrors: ['region must be one of us-west, eu-west'],
    });
});

test('a preset stands for its types, each once', () => {
  expect(expandEntityTypes(['PCI', 'CVV', 'NAME'])).toEqual([
    'BANK_ACCOUNT',
    'CREDIT_CARD',
    'CREDIT_CARD_EXPIRATION',
    'CVV',
    'ROUTING_NUMBER',
    'NAME',
  ]);
  for (const preset of ['GDPR', 'CPRA', 'CCI', 'LIDI', 'APPI', 'CORE_ENTITIES'])
    for (const type of expandEntityTypes([preset])) expect(entityTypes).toContain(type);
  expect(() => expandEntityTypes(['NAME', 'PCl'])).toThrow(
    'PCl is no entity type, did you mean PCI?',
  );
  expect(['NAME_GIVEN', 'EMAIL_ADDRESS', 'SSN'].map(markerLabel)).toEqual(['NAME', 'EMAIL', 'SSN']);
});

test('a redaction type that is a slip of the finger is refused with the right one', () => {
  const body = {
    audio_url: 'https://files.example/a.wav',
    pii_redaction: true,
    pii_redaction_config: { entity_types: ['PCl'] },
  };
  expect(parsePreRecordedRequest(body)).toEqual({
    ok: false,
    status: 400,
    validationErrors: [
      'pii_redaction_config.entity_types.0 must be one of the 82 documented values, did you mean PCI?',
    ],
  });
});
