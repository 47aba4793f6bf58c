import { describe, expect, test } from 'vitest';
import { transcriptionLanguages, TranslationLanguage } from '../../../src/protocol/languages.ts';
import { parseLiveRequest } from '../../../src/protocol/parse-live-request.ts';
import { parsePreRecordedRequest } from '../../../src/protocol/parse-pre-recorded.ts';

/**
 * The interface document's tables as data: what each field defaults to, what it takes and what it refuses.
 * `undefined` as default: the field is not there unless it is sent.
 */
type Row = { field: string; fallback: unknown; takes: unknown[]; refuses: unknown[] };

const flag = (field: string, fallback: boolean): Row => ({
  field,
  fallback,
  takes: [true, false],
  refuses: ['true', 1, 0, [], {}],
});
const oneOf = (field: string, fallback: unknown, takes: unknown[], refuses: unknown[]): Row => ({
  field,
  fallback,
  takes,
  refuses: [...refuses, true, [], {}],
});
const within = (field: string, fallback: number, low: number, high: number): Row => ({
  field,
  fallback,
  takes: [low, high, (low + high) / 2, fallback],
  refuses: [low - 0.001, high + 0.001, String(low), true, [], {}],
});

const codes =
  'af, am, ar, as, az, ba, be, bg, bn, bo, br, bs, ca, cs, cy, da, de, el, en, es, et, eu, fa, fi, fo, fr, gl, gu, ha, haw, he, hi, hr, ht, hu, hy, id, is, it, ja, jw, ka, kk, km, kn, ko, la, lb, ln, lo, lt, lv, mg, mi, mk, ml, mn, mr, ms, mt, my, ne, nl, nn, no, oc, pa, pl, ps, pt, ro, ru, sa, sd, si, sk, sl, sn, so, sq, sr, su, sv, sw, ta, te, tg, th, tk, tl, tr, tt, uk, ur, uz, vi, yi, yo, zh'.split(
    ', ',
  );

const languageConfig: Row[] = [
  {
    field: 'language_config.languages',
    fallback: [],
    takes: [[], ...codes.map((code) => [code]), ['en', 'fr'], codes],
    refuses: [['wo'], ['EN'], ['en-US'], ['yue'], [''], [1], 'en', {}, [['en']]],
  },
  flag('language_config.code_switching', false),
];

const vocabulary = (path: string): Row[] => [
  {
    field: `${path}.vocabulary`,
    fallback: undefined,
    takes: [
      [],
      ['Trunkline'],
      [{ value: 'Trunkline' }],
      ['a', { value: 'b', intensity: 0 }],
      [{ value: 'b', intensity: 1, pronunciations: ['bee', 'bea'], language: 'en' }],
    ],
    refuses: [
      [1],
      [null],
      ['a', {}],
      [{ value: 1 }],
      [{ value: 'b', intensity: 1.01 }],
      [{ value: 'b', intensity: -0.01 }],
      [{ value: 'b', pronunciations: 'bee' }],
      [{ value: 'b', language: 'wo' }],
      [{ value: 'b', weight: 1 }],
      'Trunkline',
      {},
    ],
  },
  { ...within(`${path}.default_intensity`, 0.5, 0, 1), fallback: undefined },
];

const spelling = (path: string): Row[] => [
  {
    field: `${path}.spelling_dictionary`,
    fallback: undefined,
    takes: [{}, { Trunkline: [] }, { Trunkline: ['trunk line', 'trank line'], 'New York': ['NY'] }],
    refuses: [{ Trunkline: 'trunk line' }, { Trunkline: [1] }, ['a'], 'a', 1],
  },
];

const translation = (path: string): Row[] => [
  {
    field: `${path}.target_languages`,
    fallback: undefined,
    takes: [...codes.map((code) => [code]), ['wo'], ['en', 'wo']],
    refuses: [[], ['xx'], ['EN'], [1], 'en', {}],
  },
  oneOf(`${path}.model`, 'base', ['base', 'enhanced', 'batch'], ['best', 'BASE', 1]),
  flag(`${path}.match_original_utterances`, true),
  flag(`${path}.lipsync`, true),
  flag(`${path}.context_adaptation`, true),
  oneOf(`${path}.context`, undefined, ['', 'a medical call'], [1]),
  flag(`${path}.informal`, false),
];

const summarization = (path: string): Row[] => [
  oneOf(`${path}.type`, 'general', ['general', 'bullet_points', 'concise'], ['long', 1]),
];

const metadata: Row = {
  field: 'custom_metadata',
  fallback: undefined,
  // Free-form: null inside it is the client's own value. At most 2000 characters as JSON text.
  takes: [{}, { call: 'c-1', deep: { list: [1, null, 'x'] } }, { a: 'x'.repeat(1992) }],
  refuses: [{ a: 'x'.repeat(1993) }, 'text', 1, [1], true],
};

const url: Pick<Row, 'takes' | 'refuses'> = {
  takes: ['https://crm.example.com/hook', 'http://127.0.0.1:9/x?y=z', 'http://localhost:9'],
  refuses: [
    '',
    'crm.example.com',
    '/hook',
    'ftp://example.com/a',
    'javascript:alert(1)',
    1,
    {},
    [],
  ],
};

const liveRows: Row[] = [
  oneOf('encoding', 'wav/pcm', ['wav/pcm', 'wav/alaw', 'wav/ulaw'], ['wav', 'mp3', 'WAV/PCM', 8]),
  oneOf('bit_depth', 16, [8, 16, 24, 32], [0, 12, 64, '16', 16.5]),
  oneOf('sample_rate', 16000, [8000, 16000, 32000, 44100, 48000], [11025, 22050, '8000', 8000.5]),
  oneOf('channels', 1, [1, 2, 3, 4, 5, 6, 7, 8], [0, 9, -1, 1.5, '1']),
  metadata,
  oneOf('model', 'model-1', ['model-1', 'solaria-1'], ['model-2', 'Model-1', '', 1]),
  within('endpointing', 0.05, 0.01, 10),
  within('maximum_duration_without_endpointing', 5, 5, 60),
  ...languageConfig,
  flag('pre_processing.audio_enhancer', false),
  within('pre_processing.speech_threshold', 0.6, 0, 1),
  flag('realtime_processing.custom_vocabulary', false),
  ...vocabulary('realtime_processing.custom_vocabulary_config'),
  flag('realtime_processing.custom_spelling', false),
  ...spelling('realtime_processing.custom_spelling_config'),
  flag('realtime_processing.translation', false),
  ...translation('realtime_processing.translation_config'),
  flag('realtime_processing.named_entity_recognition', false),
  flag('realtime_processing.sentiment_analysis', false),
  flag('post_processing.summarization', false),
  ...summarization('post_processing.summarization_config'),
  flag('post_processing.chapterization', false),
  flag('messages_config.receive_partial_transcripts', false),
  flag('messages_config.receive_final_transcripts', true),
  flag('messages_config.receive_speech_events', true),
  flag('messages_config.receive_pre_processing_events', true),
  flag('messages_config.receive_realtime_processing_events', true),
  flag('messages_config.receive_post_processing_events', true),
  flag('messages_config.receive_acknowledgments', true),
  flag('messages_config.receive_errors', true),
  flag('messages_config.receive_lifecycle_events', false),
  { field: 'callback', fallback: false, takes: [false], refuses: ['true', 1, {}] },
  { field: 'callback_config.url', fallback: undefined, ...url },
  flag('callback_config.receive_partial_transcripts', false),
  flag('callback_config.receive_final_transcripts', true),
  flag('callback_config.receive_speech_events', false),
  flag('callback_config.receive_pre_processing_events', true),
  flag('callback_config.receive_realtime_processing_events', true),
  flag('callback_config.receive_post_processing_events', true),
  flag('callback_config.receive_acknowledgments', false),
  flag('callback_config.receive_errors', false),
  flag('callback_config.receive_lifecycle_events', true),
];

const preRecordedRows: Row[] = [
  { field: 'audio_url', fallback: undefined, ...url },
  oneOf('model', 'model-1', ['model-1', 'solaria-1'], ['model-2', 1]),
  // An earlier form, an array of terms, is still taken: see requests.test.ts.
  { ...flag('custom_vocabulary', false), refuses: ['true', 1, {}] },
  ...vocabulary('custom_vocabulary_config'),
  { field: 'callback_url', fallback: undefined, ...url },
  { field: 'callback', fallback: false, takes: [false], refuses: ['true', 1, {}] },
  { field: 'callback_config.url', fallback: undefined, ...url },
  oneOf('callback_config.method', 'POST', ['POST', 'PUT'], ['GET', 'post', 1]),
  flag('subtitles', false),
  {
    field: 'subtitles_config.formats',
    fallback: ['srt'],
    takes: [['srt'], ['vtt'], ['srt', 'vtt']],
    refuses: [[], ['txt'], 'srt', {}],
  },
  oneOf('subtitles_config.minimum_duration', undefined, [0, 0.5, 5], [-0.1, '1']),
  oneOf('subtitles_config.maximum_duration', undefined, [1, 7.5, 30], [0.9, 30.1, '5']),
  oneOf('subtitles_config.maximum_characters_per_row', undefined, [1, 42], [0, 1.5, '42']),
  oneOf('subtitles_config.maximum_rows_per_caption', undefined, [1, 5], [0, 6, 1.5]),
  oneOf('subtitles_config.style', 'default', ['default', 'compliance'], ['fancy', 1]),
  flag('diarization', false),
  oneOf('diarization_config.number_of_speakers', undefined, [1, 2, 30], [0, 1.5, '2']),
  oneOf('diarization_config.min_speakers', undefined, [0, 2], [-1, 1.5, '2']),
  oneOf('diarization_config.max_speakers', undefined, [0, 2], [-1, 1.5, '2']),
  flag('translation', false),
  ...translation('translation_config'),
  flag('summarization', false),
  ...summarization('summarization_config'),
  flag('named_entity_recognition', false),
  flag('custom_spelling', false),
  ...spelling('custom_spelling_config'),
  flag('sentiment_analysis', false),
  flag('audio_to_llm', false),
  {
    field: 'audio_to_llm_config.prompts',
    fallback: undefined,
    takes: [['What was agreed?'], ['a', 'b']],
    refuses: [[], [1], 1, {}],
  },
  oneOf('audio_to_llm_config.model', undefined, ['any/model'], [1]),
  flag('pii_redaction', false),
  {
    field: 'pii_redaction_config.entity_types',
    fallback: undefined,
    takes: [
      ...['GDPR', 'HEALTH_INFORMATION', 'HIPAA_SAFE_HARBOR', 'QUEBEC_PRIVACY_ACT'].map((x) => [x]),
      ['EMAIL_ADDRESS', 'NAME', 'PHONE_NUMBER'],
    ],
    refuses: [['PERSON'], ['name'], [1], {}],
  },
  oneOf('pii_redaction_config.processed_text_type', 'MARKER', ['MARKER', 'MASK'], ['marker', 1]),
  metadata,
  flag('sentences', false),
  flag('punctuation_enhanced', false),
  ...languageConfig,
];

/** Fields that must be there before their neighbours can be tried. */
const company: Record<string, unknown> = {
  custom_vocabulary_config: { vocabulary: [] },
  custom_spelling_config: { spelling_dictionary: {} },
  translation_config: { target_languages: ['fr'] },
  callback_config: { url: 'https://crm.example.com/hook' },
  audio_to_llm_config: { prompts: ['x'] },
};

function withField(base: Record<string, unknown>, field: string, value: unknown, live: boolean) {
  const body = structuredClone(base);
  const path = field.split('.');
  const last = path.pop() ?? '';
  let holder = body;
  for (const name of path) {
    const needed = live && name === 'callback_config' ? {} : structuredClone(company[name] ?? {});
    holder = (holder[name] ??= needed) as Record<string, unknown>;
  }
  holder[last] = value;
  return body;
}

function valueAt(value: unknown, field: string): unknown {
  return field
    .split('.')
    .reduce<unknown>(
      (holder, name) => (holder as Record<string, unknown> | undefined)?.[name],
      value,
    );
}

describe.each([
  { name: 'the live request', rows: liveRows, base: {}, parse: parseLiveRequest, live: true },
  {
    name: 'the pre-recorded request',
    rows: preRecordedRows,
    base: { audio_url: 'https://files.example.com/a.wav' },
    parse: parsePreRecordedRequest,
    live: false,
  },
])('$name, row by row of the document', ({ rows, base, parse, live }) => {
  test.each(rows)('$field defaults as the document says', ({ field, fallback }) => {
    if (field === 'audio_url') return;
    // A default inside an optional object shows once that object is there.
    const holder = field.split('.').slice(0, -1).at(-1);
    const body =
      holder !== undefined && holder.endsWith('_config')
        ? withField(base, field, null, live)
        : base;
    const parsed = parse(body);
    const lonely = ['vocabulary', 'spelling_dictionary', 'target_languages', 'prompts', 'url'];
    if (!parsed.ok && lonely.includes(field.split('.').at(-1) ?? '')) {
      expect(parsed).toMatchObject({ status: 400, validationErrors: [`${field} is required`] });
      return;
    }
    expect(parsed).toMatchObject({ ok: true });
    expect(parsed.ok && valueAt(parsed.request, field)).toEqual(fallback);
  });

  test.each(rows)('$field takes every value the document allows', ({ field, takes }) => {
    for (const value of takes) {
      // A feature of a job that can do nothing without its configuration is refused without it.
      const config = `${field}_config`;
      const around =
        !live && value === true && config in company ? { [config]: company[config] } : {};
      const parsed = parse(withField({ ...base, ...around }, field, value, live));
      expect(parsed, JSON.stringify(value)).toMatchObject({ ok: true });
      expect(parsed.ok && valueAt(parsed.request, field)).toEqual(value);
    }
  });

  test.each(rows)('$field refuses everything else with 400 and its path', ({ field, refuses }) => {
    for (const value of refuses) {
      const parsed = parse(withField(base, field, value, live));
      expect(parsed, JSON.stringify(value)).toMatchObject({ ok: false, status: 400 });
      const errors = !parsed.ok && parsed.status === 400 ? parsed.validationErrors : [];
      for (const line of errors)
        expect(line).toMatch(
          new RegExp(`^${field.replaceAll('.', '\\.')}(\\.\\S+)? (must |is required)`),
        );
    }
  });

  test.each(rows)('null means that $field was not sent', ({ field }) => {
    const required = ['vocabulary', 'spelling_dictionary', 'target_languages', 'prompts'];
    const name = field.split('.').at(-1) ?? '';
    const parsed = parse(withField(base, field, null, live));
    if (required.includes(name) || field === 'audio_url' || (name === 'url' && !live))
      expect(parsed).toMatchObject({ status: 400, validationErrors: [`${field} is required`] });
    else expect(parsed).toMatchObject({ ok: true });
  });

  test('an unknown key is refused by its path, at every level', () => {
    const holders = [...new Set(rows.map(({ field }) => field.split('.').slice(0, -1).join('.')))];
    for (const holder of holders) {
      const field = holder === '' ? 'nonsense' : `${holder}.nonsense`;
      expect(parse(withField(base, field, 1, live))).toEqual({
        ok: false,
        status: 400,
        validationErrors: [`${field} must not be present`],
      });
    }
  });

  test('an object field refuses what is no object', () => {
    const holders = new Set(rows.map(({ field }) => field.split('.').slice(0, -1).join('.')));
    for (const holder of [...holders].filter(Boolean))
      for (const value of ['text', 1, true, [1]])
        expect(parse(withField(base, holder, value, live))).toMatchObject({
          status: 400,
          validationErrors: [`${holder} must be an object`],
        });
  });
});

test('both language enumerations are the document’s', () => {
  expect(codes).toHaveLength(99);
  expect([...transcriptionLanguages].sort()).toEqual([...codes].sort());
  expect([...TranslationLanguage.options].sort()).toEqual([...codes, 'wo'].sort());
  expect(TranslationLanguage.safeParse('wo').success).toBe(true);
});

test('G.711 without a bit depth is 8, and PCM is 16', () => {
  for (const [encoding, depth] of [
    ['wav/ulaw', 8],
    ['wav/alaw', 8],
    ['wav/pcm', 16],
  ]) {
    const parsed = parseLiveRequest({ encoding });
    expect(parsed.ok && parsed.request.bit_depth).toBe(depth);
  }
});
