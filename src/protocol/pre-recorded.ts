import { z } from 'zod';
import {
  CustomSpellingConfig,
  CustomVocabularyConfig,
  LanguageConfig,
  SummarizationConfig,
  TranslationConfig,
} from './addon-configs.ts';
import { entityTypeNames } from './entity-types.ts';
import { ModelName } from './names.ts';
import { CustomMetadata, HttpUrl, Seconds, Uuid } from './values.ts';

const CallbackConfig = z
  .strictObject({ url: HttpUrl, method: z.enum(['POST', 'PUT']).default('POST') })
  .meta({ id: 'CallbackConfig' });

const SubtitlesConfig = z
  .strictObject({
    formats: z
      .array(z.enum(['srt', 'vtt']))
      .min(1)
      .default(['srt']),
    minimum_duration: z.number().min(0).optional(),
    maximum_duration: z.number().min(1).max(30).optional(),
    maximum_characters_per_row: z.int().min(1).optional(),
    maximum_rows_per_caption: z.int().min(1).max(5).optional(),
    style: z.enum(['default', 'compliance']).default('default'),
  })
  .meta({ id: 'SubtitlesConfig' });

const DiarizationConfig = z
  .strictObject({
    number_of_speakers: z.int().min(1).optional(),
    min_speakers: z.int().min(0).optional(),
    max_speakers: z.int().min(0).optional(),
  })
  .meta({ id: 'DiarizationConfig' });

const AudioToLlmConfig = z
  .strictObject({
    prompts: z.array(z.string()).min(1).max(100),
    model: z.string().min(1).max(200).optional().describe('By default the one of the service.'),
  })
  .meta({ id: 'AudioToLlmConfig' });

const PiiEntityType = z.enum([...entityTypeNames]).meta({
  id: 'PiiEntityType',
  description: 'One type, or a preset that stands for a set of them.',
});

const PiiRedactionConfig = z
  .strictObject({
    entity_types: z.array(PiiEntityType).optional().describe('Without it, everything detected.'),
    processed_text_type: z.enum(['MARKER', 'MASK']).default('MARKER'),
  })
  .meta({ id: 'PiiRedactionConfig' });

const StructuredDataConfig = z
  .strictObject({ classes: z.array(z.string().max(80)).max(100).default([]) })
  .meta({ id: 'StructuredDataConfig' });

/**
 * Add-ons of earlier versions that still have a block in the result. They have no default, so clients that do not
 * request them never see them.
 */
const earlierFlag = z.boolean().optional().describe('Of earlier versions: a block in the result.');

/** Body of POST /v2/pre-recorded. Requests from outside go through `parsePreRecordedRequest`. */
export const PreRecordedRequest = z
  .strictObject({
    audio_url: HttpUrl,
    model: ModelName.default('model-1'),
    custom_vocabulary: z.boolean().default(false),
    custom_vocabulary_config: CustomVocabularyConfig.optional(),
    callback_url: HttpUrl.optional().describe('Deprecated: use callback and callback_config.'),
    callback: z.boolean().default(false),
    callback_config: CallbackConfig.optional(),
    subtitles: z.boolean().default(false),
    subtitles_config: SubtitlesConfig.optional(),
    diarization: z
      .boolean()
      .default(false)
      .describe(
        'Tells speakers apart: each utterance has a speaker, from 0, and ends where another one begins. Needs the model voice-encoder; where it is missing, a block in the result says so.',
      ),
    diarization_config: DiarizationConfig.optional(),
    translation: z.boolean().default(false),
    translation_config: TranslationConfig.optional(),
    summarization: z.boolean().default(false),
    summarization_config: SummarizationConfig.optional(),
    named_entity_recognition: z.boolean().default(false),
    custom_spelling: z.boolean().default(false),
    custom_spelling_config: CustomSpellingConfig.optional(),
    sentiment_analysis: z.boolean().default(false),
    audio_to_llm: z.boolean().default(false),
    audio_to_llm_config: AudioToLlmConfig.optional(),
    pii_redaction: z.boolean().default(false),
    pii_redaction_config: PiiRedactionConfig.optional(),
    custom_metadata: CustomMetadata.optional(),
    sentences: z.boolean().default(false),
    punctuation_enhanced: z.boolean().default(false),
    chapterization: z.boolean().optional().describe('Beyond the interface: a block of chapters.'),
    moderation: earlierFlag,
    name_consistency: earlierFlag,
    display_mode: earlierFlag,
    structured_data_extraction: earlierFlag,
    structured_data_extraction_config: StructuredDataConfig.optional(),
    language_config: LanguageConfig.prefault({}),
  })
  .meta({ id: 'PreRecordedRequest' });
export type PreRecordedRequest = z.output<typeof PreRecordedRequest>;

export const InitPreRecordedResponse = z
  .object({ id: Uuid, result_url: z.url() })
  .meta({ id: 'InitPreRecordedResponse' });
export type InitPreRecordedResponse = z.infer<typeof InitPreRecordedResponse>;

/** POST /v2/upload with a JSON body: the server fetches the address and stores the file. */
export const UploadByUrlRequest = z
  .strictObject({ audio_url: HttpUrl })
  .meta({ id: 'UploadByUrlRequest' });

export const UploadedFile = z
  .object({
    audio_url: z.url(),
    audio_metadata: z.object({
      id: Uuid,
      filename: z.string(),
      extension: z.string(),
      size: z.int(),
      audio_duration: Seconds,
      number_of_channels: z.int(),
      source: z.url().optional(),
    }),
  })
  .meta({ id: 'UploadedFile' });
export type UploadedFile = z.infer<typeof UploadedFile>;
