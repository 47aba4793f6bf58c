import { z } from 'zod';
import {
  addonBlock,
  Chapter,
  NamedEntity,
  SentencesBlock,
  SentimentItem,
  Transcription,
  TranslatedTranscript,
  Utterance,
} from './addons.ts';
import { DateTime, FreeObject, Seconds, Uuid } from './values.ts';

export const JobStatus = z
  .enum(['queued', 'processing', 'done', 'error'])
  .meta({ id: 'JobStatus' });
export type JobStatus = z.infer<typeof JobStatus>;

export const JobKind = z.enum(['pre-recorded', 'live']).meta({ id: 'JobKind' });
export type JobKind = z.infer<typeof JobKind>;

const WordlessSpeech = z
  .object({ channel: z.int().min(0), start: Seconds, end: Seconds })
  .meta({ id: 'UnreadSpeech' });
export type WordlessSpeech = z.infer<typeof WordlessSpeech>;

const ResultMetadata = z
  .object({
    audio_duration: Seconds,
    number_of_distinct_channels: z.int().min(1),
    billing_time: Seconds,
    transcription_time: Seconds,
    unread: z
      .array(WordlessSpeech)
      .optional()
      .describe(
        'Where a voice was heard and no words were found; there only if it happened. Not in every service.',
      ),
  })
  .meta({ id: 'ResultMetadata' });
export type ResultMetadata = z.infer<typeof ResultMetadata>;

const TranslationBlock = addonBlock(z.array(TranslatedTranscript)).meta({
  id: 'TranslationBlock',
});
const SummarizationBlock = addonBlock(z.string()).meta({ id: 'SummarizationBlock' });
const NamedEntityBlock = addonBlock(z.array(NamedEntity)).meta({ id: 'NamedEntityBlock' });
/** JSON text of an array of sentiment items, as the API defines it. A hosted service may send the array itself. */
const SentimentBlock = addonBlock(z.union([z.string(), z.array(SentimentItem)])).meta({
  id: 'SentimentBlock',
});
/**
 * An object, because the vendor's Python client fails on the whole answer if it gets an array here. Both forms are
 * read.
 */
const ChapterizationBlock = addonBlock(
  z.union([z.looseObject({ chapters: z.array(Chapter) }), z.array(Chapter)]),
).meta({ id: 'ChapterizationBlock' });
const AudioToLlmBlock = addonBlock(
  z.array(addonBlock(z.object({ prompt: z.string().nullable(), response: z.string().nullable() }))),
).meta({ id: 'AudioToLlmBlock' });
const DiarizationBlock = addonBlock(z.array(Utterance)).meta({ id: 'DiarizationBlock' });
const TextBlock = addonBlock(z.string()).meta({ id: 'TextBlock' });
const DisplayModeBlock = addonBlock(z.array(z.string())).meta({ id: 'DisplayModeBlock' });

/** The data of `post_final_transcript`. The result of a live job is this and its messages. */
export const PostFinalResult = z
  .object({
    metadata: ResultMetadata,
    transcription: Transcription.optional(),
    translation: TranslationBlock.optional(),
    summarization: SummarizationBlock.optional(),
    named_entity_recognition: NamedEntityBlock.optional(),
    sentiment_analysis: SentimentBlock.optional(),
    chapterization: ChapterizationBlock.optional(),
  })
  .meta({ id: 'PostFinalResult' });
export type PostFinalResult = z.infer<typeof PostFinalResult>;

export const LiveResult = PostFinalResult.extend({
  messages: z.array(z.string()).describe('Each message as it was sent, as JSON text.'),
}).meta({ id: 'LiveResult' });
export type LiveResult = z.infer<typeof LiveResult>;

export const PreRecordedResult = PostFinalResult.extend({
  moderation: TextBlock.optional(),
  name_consistency: TextBlock.optional(),
  structured_data_extraction: TextBlock.optional(),
  audio_to_llm: AudioToLlmBlock.optional(),
  display_mode: DisplayModeBlock.optional(),
  diarization: DiarizationBlock.optional(),
  sentences: SentencesBlock.optional(),
  pii_redaction: TextBlock.optional().describe(
    'Only when some of the text could not be redacted: it reads [REDACTED], and here stands why.',
  ),
}).meta({ id: 'PreRecordedResult' });
export type PreRecordedResult = z.infer<typeof PreRecordedResult>;

const JobFile = z
  .object({
    id: z.string(),
    filename: z.string().nullable(),
    source: z.string().nullable().describe('Null for uploaded and for live audio.'),
    audio_duration: Seconds.nullable(),
    number_of_channels: z.int().nullable(),
  })
  .meta({ id: 'JobFile' });
export type JobFile = z.infer<typeof JobFile>;

/** Optional for services that omit keys. Ours sends every key, with null for a missing value. */
const jobFields = {
  id: Uuid,
  request_id: z.string().describe('`G-` and eight hex digits, to quote to an operator.'),
  version: z.int().describe('Generation of the interface: 2.'),
  status: JobStatus,
  created_at: DateTime,
  completed_at: DateTime.nullable().default(null).describe('Set when the status is done or error.'),
  custom_metadata: FreeObject.nullable().default(null),
  error_code: z
    .int()
    .min(400)
    .max(599)
    .nullable()
    .default(null)
    .describe('Set when the status is error.'),
  post_session_metadata: FreeObject.nullable().default({}),
  file: JobFile.nullable().default(null),
  request_params: FreeObject.nullable()
    .default(null)
    .describe('The parameters used, defaults filled in.'),
};

export const LiveJobRecord = z
  .object({
    ...jobFields,
    kind: z.literal('live'),
    result: LiveResult.nullable().default(null),
    error_message: z.string().optional().describe('Why the session failed. Not in every service.'),
  })
  .meta({ id: 'LiveJobRecord' });
export const PreRecordedJobRecord = z
  .object({
    ...jobFields,
    kind: z.literal('pre-recorded'),
    result: PreRecordedResult.nullable().default(null),
    error_message: z.string().optional().describe('Why the job failed. Not in every service.'),
    progress: z
      .object({ seconds_done: Seconds, seconds: Seconds })
      .optional()
      .describe('While the status is processing. Not in every service.'),
  })
  .meta({ id: 'PreRecordedJobRecord' });
export const JobRecord = z
  .discriminatedUnion('kind', [LiveJobRecord, PreRecordedJobRecord])
  .meta({ id: 'JobRecord' });

export type LiveJobRecord = z.infer<typeof LiveJobRecord>;
export type PreRecordedJobRecord = z.infer<typeof PreRecordedJobRecord>;
export type JobRecord = z.infer<typeof JobRecord>;

function jobList<T extends z.ZodType>(item: T) {
  return z.object({
    first: z.url(),
    current: z.url(),
    next: z.url().nullable(),
    items: z.array(item),
  });
}
export const LiveJobList = jobList(LiveJobRecord).meta({ id: 'LiveJobList' });
export const PreRecordedJobList = jobList(PreRecordedJobRecord).meta({ id: 'PreRecordedJobList' });
export const JobList = jobList(JobRecord).meta({ id: 'JobList' });
export type LiveJobList = z.infer<typeof LiveJobList>;
export type PreRecordedJobList = z.infer<typeof PreRecordedJobList>;
export type JobList = z.infer<typeof JobList>;

/** Body of PATCH /v2/live/{id}: data that a client wants to store after the session, mostly for debugging. */
export const PatchLiveRequest = z
  .strictObject({ post_session_metadata: FreeObject })
  .meta({ id: 'PatchLiveRequest' });
export type PatchLiveRequest = z.infer<typeof PatchLiveRequest>;

/** `G-` and the first eight digits of the id, as clients expect. */
export function jobRequestId(id: string): string {
  return `G-${id.slice(0, 8)}`;
}
