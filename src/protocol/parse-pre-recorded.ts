import { model3Languages } from './languages.ts';
import { neutralModel } from './names.ts';
import { PreRecordedRequest } from './pre-recorded.ts';
import {
  fieldsOf,
  isFields,
  malformed,
  parseFields,
  takeOut,
  unaskedConfigs,
  unusable,
  type BodyFields,
  type ParsedRequest,
  type ParseOptions,
} from './request-body.ts';

/**
 * Fields of earlier versions of the API, without effect and without a block in the result. Released clients still send
 * them, so they are accepted and listed for the caller.
 */
const ignoredNames = [
  'context_prompt',
  'diarization_enhanced',
  'accurate_words_timestamps',
  'audio_enhancer',
];

/** Features that do nothing without a configuration. A job must not seem to succeed at them. */
const needsConfig = [
  ['custom_vocabulary', 'custom_vocabulary_config'],
  ['custom_spelling', 'custom_spelling_config'],
  ['translation', 'translation_config'],
  ['audio_to_llm', 'audio_to_llm_config'],
] as const;

const flagsWithConfig = [
  'callback',
  'custom_vocabulary',
  'custom_spelling',
  'subtitles',
  'diarization',
  'translation',
  'summarization',
  'audio_to_llm',
  'pii_redaction',
  'structured_data_extraction',
] as const;

/**
 * Parses a body of POST /v2/pre-recorded or /v2/transcription: with defaults filled in, or the answer that refuses it.
 */
export function parsePreRecordedRequest(
  body: unknown,
  options: ParseOptions = {},
): ParsedRequest<PreRecordedRequest> {
  const read = fieldsOf(body);
  if ('errors' in read) return malformed(read.errors);
  const { fields } = read;
  const ignored = takeOut(fields, ignoredNames);
  if (isFields(fields['diarization_config']))
    ignored.push(...takeOut(fields['diarization_config'], ['enhanced'], 'diarization_config.'));
  mapLanguage(fields);
  mapLists(fields);
  ignored.push(...unaskedConfigs(fields, flagsWithConfig));
  const parsed = parseFields(PreRecordedRequest, fields, options);
  if (!parsed.ok) return malformed(parsed.errors);
  ignored.push(...parsed.ignored);
  const { request } = parsed;
  if (request.callback && callbackOf(request) === undefined)
    return malformed(['callback_config.url is required when callback is true']);
  const missing = needsConfig.filter(([flag, config]) => request[flag] && !request[config]);
  if (missing.length > 0)
    return malformed(missing.map(([flag, config]) => `${config} is required when ${flag} is true`));
  const reason = whyUnusable(request);
  return reason === undefined ? { ok: true, request, ignored } : unusable(reason);
}

/** The address that receives the result of a job, from the current or the deprecated field. */
export function callbackOf(
  request: PreRecordedRequest,
): { url: string; method: 'POST' | 'PUT' } | undefined {
  if (request.callback && request.callback_config) return request.callback_config;
  if (request.callback_url !== undefined) return { url: request.callback_url, method: 'POST' };
  return undefined;
}

/** Converts three earlier ways to name languages to `language_config`, which wins if it is present. */
function mapLanguage(fields: BodyFields): void {
  const { language, detect_language, enable_code_switching, code_switching_config } = fields;
  const old = ['language', 'detect_language', 'enable_code_switching', 'code_switching_config'];
  if (takeOut(fields, old).length === 0 || 'language_config' in fields) return;
  const config: BodyFields = {};
  if (isFields(code_switching_config) && 'languages' in code_switching_config)
    config['languages'] = code_switching_config['languages'];
  if (language !== undefined && detect_language !== true) config['languages'] = [language];
  if (enable_code_switching !== undefined) config['code_switching'] = enable_code_switching;
  fields['language_config'] = config;
}

/** Converts fields that clients send as one value, as a list, or as a list of lists. */
function mapLists(fields: BodyFields): void {
  const vocabulary = fields['custom_vocabulary'];
  if (Array.isArray(vocabulary)) {
    fields['custom_vocabulary'] = true;
    fields['custom_vocabulary_config'] ??= { vocabulary };
  }
  const redaction = fields['pii_redaction_config'];
  if (isFields(redaction)) asList(redaction, 'entity_types');
  const prompts = fields['audio_to_llm_config'];
  if (isFields(prompts)) asList(prompts, 'prompts');
}

function asList(fields: BodyFields, name: string): void {
  const value = fields[name];
  if (typeof value === 'string') fields[name] = [value];
  else if (Array.isArray(value)) fields[name] = value.flat();
}

function whyUnusable(request: PreRecordedRequest): string | undefined {
  const model = neutralModel(request.model);
  const { languages, code_switching } = request.language_config;
  if (model === 'model-fusion') return `model ${request.model} is not offered`;
  if (model === 'model-3' && (code_switching || languages.length !== 1))
    return `model ${request.model} takes exactly one language and no code switching`;
  if (model === 'model-3' && !languages.every((code) => model3Languages.includes(code)))
    return `model ${request.model} takes one of ${model3Languages.join(', ')}`;
  const { min_speakers = 0, max_speakers = Infinity } = request.diarization_config ?? {};
  const speakers = request.diarization_config?.number_of_speakers;
  if (min_speakers > max_speakers)
    return 'diarization_config.min_speakers is above diarization_config.max_speakers';
  if (speakers !== undefined && (speakers < min_speakers || speakers > max_speakers))
    return 'diarization_config.number_of_speakers is outside min_speakers and max_speakers';
  const subtitles = request.subtitles_config;
  if ((subtitles?.minimum_duration ?? 0) > (subtitles?.maximum_duration ?? Infinity))
    return 'subtitles_config.minimum_duration is above subtitles_config.maximum_duration';
  return undefined;
}
