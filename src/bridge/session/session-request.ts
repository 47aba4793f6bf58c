import type { LegFormat } from '../records/leg-record.ts';
import { isObject } from '../../lib/json.ts';
import { silenceCode } from './leg-request.ts';
import type { StreamingRequest } from '../../protocol/live-request.ts';
import { languagesNamed } from '../../protocol/language-names.ts';
import type { CustomMetadata } from '../records/call-record.ts';

type Json = Record<string, unknown>;

/**
 * The default session of one party of a phone call. People on the phone answer quickly, so 0.3 s of silence end an
 * utterance. Without a longest duration, a monologue would give no final for minutes.
 */
const telephonyTemplate = {
  endpointing: 0.3,
  maximum_duration_without_endpointing: 15,
  realtime_processing: { sentiment_analysis: true, named_entity_recognition: true },
  messages_config: {
    receive_partial_transcripts: true,
    receive_final_transcripts: true,
    receive_speech_events: true,
    receive_realtime_processing_events: true,
    receive_post_processing_events: true,
    receive_acknowledgments: true,
    receive_errors: true,
    receive_lifecycle_events: true,
  },
} as const satisfies Json;

/**
 * Always requested: a session without acknowledgements cannot be resumed, and without finals there is no transcript.
 */
export const neededMessages = {
  receive_final_transcripts: true,
  receive_realtime_processing_events: true,
  receive_acknowledgments: true,
};

const wireEncodings = {
  mulaw: { encoding: 'wav/ulaw', bit_depth: 8 },
  alaw: { encoding: 'wav/alaw', bit_depth: 8 },
  pcm8: { encoding: 'wav/pcm', bit_depth: 8 },
  pcm16: { encoding: 'wav/pcm', bit_depth: 16 },
} as const;

/** The sample rates that the speech interface accepts, in Hz. */
const sampleRates = [8000, 16000, 32000, 44100, 48000] as const;

export function silenceOf(encoding: LegFormat['encoding']): number {
  return silenceCode(wireEncodings[encoding]);
}

/** Returns undefined if the speech interface does not accept such audio. */
export function sessionFormat(
  format: LegFormat,
): Pick<StreamingRequest, 'encoding' | 'bit_depth' | 'sample_rate' | 'channels'> | undefined {
  const sampleRate = sampleRates.find((rate) => rate === format.sampleRate);
  if (sampleRate === undefined) return undefined;
  return { ...wireEncodings[format.encoding], sample_rate: sampleRate, channels: format.channels };
}

/**
 * The body of `POST /v2/live` for one leg. Later values override earlier ones: defaults for telephony, the
 * configuration, this call's own parameters, the facts of the stream.
 */
export function sessionRequest(options: {
  template: Json;
  overrides: Json;
  format: LegFormat;
  metadata: CustomMetadata;
}): StreamingRequest {
  const fields = sessionFields(options.template, options.overrides);
  return {
    ...fields,
    ...sessionFormat(options.format),
    messages_config: merge((fields['messages_config'] ?? {}) as Json, neededMessages),
    custom_metadata: options.metadata,
  };
}

/** Builds the fields that hold for every session of a call, whatever streams the call has. */
export function sessionFields(template: Json, overrides: Json): Json {
  return merge(merge(telephonyTemplate, template), overrides);
}

/** The allowed carrier parameters as session fields. Unusable parameters are returned by name. */
export function callOverrides(
  parameters: Record<string, unknown>,
  allowed: readonly ('language' | 'vocabulary')[],
): { overrides: Json; ignored: string[] } {
  const overrides: Json = {};
  const ignored: string[] = [];
  const language = allowed.includes('language') ? parameters['language'] : undefined;
  if (language !== undefined) {
    const asked = languageOverrides(language);
    if (asked === undefined) ignored.push('language');
    else Object.assign(overrides, asked);
  }
  const vocabulary = allowed.includes('vocabulary') ? parameters['vocabulary'] : undefined;
  if (vocabulary !== undefined) {
    const words = wordsOf(vocabulary);
    if (words.length === 0) ignored.push('vocabulary');
    else
      overrides['realtime_processing'] = {
        custom_vocabulary: true,
        custom_vocabulary_config: { vocabulary: words },
      };
  }
  return { overrides, ignored };
}

/**
 * The languages that somebody wrote, as session fields: codes such as `es` or `es-MX`, names such as `Spanish`, several
 * of them with commas, or `auto` for a language that is to be found.
 */
export function languageOverrides(named: unknown): Json | undefined {
  const languages = typeof named === 'string' ? languagesNamed(named) : undefined;
  return languages && { language_config: { languages, code_switching: false } };
}

type Numbers = {
  direction?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

/**
 * The languages of the number that was called, as session fields. Of an outbound call the own number is asked second.
 * `+34*` stands for all numbers that begin so; the longest one counts.
 */
export function numberLanguages(
  settings: Readonly<Record<string, string>>,
  { direction, from, to }: Numbers,
): Json | undefined {
  for (const number of direction === 'outbound' ? [to, from] : [to]) {
    const named = number === undefined ? undefined : languageOfNumber(settings, number);
    if (named !== undefined) return languageOverrides(named);
  }
  return undefined;
}

function languageOfNumber(
  settings: Readonly<Record<string, string>>,
  number: string,
): string | undefined {
  const dialled = dialledForm(number);
  let best: { length: number; named: string } | undefined;
  for (const [pattern, named] of Object.entries(settings)) {
    const isPrefix = pattern.endsWith('*');
    const wanted = dialledForm(isPrefix ? pattern.slice(0, -1) : pattern);
    if (isPrefix ? !dialled.startsWith(wanted) : dialled !== wanted) continue;
    const length = isPrefix ? wanted.length : Infinity;
    if (best === undefined || length > best.length) best = { length, named };
  }
  return best?.named;
}

/** Carriers write numbers with and without marks between the digits. */
function dialledForm(number: string): string {
  return number.replace(/[\s().-]/g, '').toLowerCase();
}

/** The overrides with further words to listen for, beside those of the template and of the call. */
export function withVocabulary(template: Json, overrides: Json, words: readonly string[]): Json {
  if (words.length === 0) return {};
  const processing = sessionFields(template, overrides)['realtime_processing'] as Json;
  const config = isObject(processing['custom_vocabulary_config']) ? processing['custom_vocabulary_config'] : {}; // prettier-ignore
  const known: unknown[] = processing['custom_vocabulary'] === true && Array.isArray(config['vocabulary']) ? config['vocabulary'] : []; // prettier-ignore
  const fresh = words.filter((word) => !known.includes(word));
  const vocabulary = [...known, ...fresh].slice(0, vocabularyLimit);
  return {
    realtime_processing: merge((overrides['realtime_processing'] ?? {}) as Json, {
      custom_vocabulary: true,
      custom_vocabulary_config: { ...config, vocabulary },
    }),
  };
}

/** The overrides of a session that asks for nobody's feelings. */
export function withoutSentiment(overrides: Json): Json {
  return merge(overrides, { realtime_processing: { sentiment_analysis: false } });
}

const vocabularyLimit = 200;

function wordsOf(value: unknown): string[] {
  const items: unknown[] =
    typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [];
  return items
    .filter((item) => typeof item === 'string')
    .map((item) => item.trim())
    .filter((item) => item !== '' && item.length <= 100)
    .slice(0, vocabularyLimit);
}

/** Merges objects and replaces everything else. */
function merge(under: Json, over: Json): Json {
  const result: Json = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isObject(below) && isObject(value) ? merge(below, value) : value;
  }
  return result;
}
