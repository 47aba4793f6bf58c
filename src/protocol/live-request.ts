import { z } from 'zod';
import {
  CustomSpellingConfig,
  CustomVocabularyConfig,
  LanguageConfig,
  SummarizationConfig,
  TranslationConfig,
} from './addon-configs.ts';
import { ModelName } from './names.ts';
import { CustomMetadata, DateTime, HttpUrl, Uuid } from './values.ts';

const LiveEncoding = z.enum(['wav/pcm', 'wav/alaw', 'wav/ulaw']);
type LiveEncoding = z.infer<typeof LiveEncoding>;

const BitDepth = z.literal([8, 16, 24, 32]);
const SampleRate = z.literal([8000, 16000, 32000, 44100, 48000]);
export const Region = z.enum(['us-west', 'eu-west']);

const PreProcessing = z
  .strictObject({
    audio_enhancer: z.boolean().default(false),
    speech_threshold: z.number().min(0).max(1).default(0.6),
  })
  .meta({ id: 'PreProcessing' });

export const RealtimeProcessing = z
  .strictObject({
    custom_vocabulary: z.boolean().default(false),
    custom_vocabulary_config: CustomVocabularyConfig.optional(),
    custom_spelling: z.boolean().default(false),
    custom_spelling_config: CustomSpellingConfig.optional(),
    translation: z.boolean().default(false),
    translation_config: TranslationConfig.optional(),
    named_entity_recognition: z.boolean().default(false),
    sentiment_analysis: z.boolean().default(false),
  })
  .meta({ id: 'RealtimeProcessing' });

export const PostProcessing = z
  .strictObject({
    summarization: z.boolean().default(false),
    summarization_config: SummarizationConfig.optional(),
    chapterization: z.boolean().default(false),
  })
  .meta({ id: 'PostProcessing' });

export const MessagesConfig = z
  .strictObject({
    receive_partial_transcripts: z.boolean().default(false),
    receive_final_transcripts: z.boolean().default(true),
    receive_speech_events: z.boolean().default(true),
    receive_pre_processing_events: z.boolean().default(true),
    receive_realtime_processing_events: z.boolean().default(true),
    receive_post_processing_events: z.boolean().default(true),
    receive_acknowledgments: z.boolean().default(true),
    receive_errors: z.boolean().default(true),
    receive_lifecycle_events: z.boolean().default(false),
  })
  .meta({ id: 'MessagesConfig', description: 'Which messages the WebSocket carries.' });

const LiveCallbackConfig = z
  .strictObject({
    url: HttpUrl.optional(),
    receive_partial_transcripts: z.boolean().default(false),
    receive_final_transcripts: z.boolean().default(true),
    receive_speech_events: z.boolean().default(false),
    receive_pre_processing_events: z.boolean().default(true),
    receive_realtime_processing_events: z.boolean().default(true),
    receive_post_processing_events: z.boolean().default(true),
    receive_acknowledgments: z.boolean().default(false),
    receive_errors: z.boolean().default(false),
    receive_lifecycle_events: z.boolean().default(true),
  })
  .meta({ id: 'LiveCallbackConfig', description: 'Which messages are sent to `url` by POST.' });

/** Body of POST /v2/live, with defaults filled in by parsing. Requests from outside go through `parseLiveRequest`. */
export const StreamingRequest = z
  .strictObject({
    encoding: LiveEncoding.default('wav/pcm'),
    bit_depth: BitDepth.default(16).describe('8 when left out with wav/alaw or wav/ulaw.'),
    sample_rate: SampleRate.default(16000),
    channels: z.int().min(1).max(8).default(1),
    custom_metadata: CustomMetadata.optional().describe(
      'Free fields. With `role` set to `mixed` and one channel, the voices in it are told apart: `speakers` messages behind the words, and `speaker` in the record; needs the model voice-encoder.',
    ),
    model: ModelName.default('model-1').describe('Live sessions run on model-1 only.'),
    endpointing: z
      .number()
      .min(0.01)
      .max(10)
      .default(0.05)
      .describe(
        'Seconds of silence that end an utterance. A request without it gets 0.3, which `request_params` shows. Less than 0.3 also ends utterances inside words ("stop it") and within a breath: each is then read with fewer words around it.',
      ),
    maximum_duration_without_endpointing: z
      .number()
      .min(5)
      .max(60)
      .default(5)
      .describe('Seconds after which an utterance is ended without a silence.'),
    language_config: LanguageConfig.prefault({}),
    pre_processing: PreProcessing.prefault({}),
    realtime_processing: RealtimeProcessing.prefault({}),
    post_processing: PostProcessing.prefault({}),
    messages_config: MessagesConfig.prefault({}),
    callback: z.boolean().default(false),
    callback_config: LiveCallbackConfig.prefault({}),
  })
  .meta({ id: 'StreamingRequest' });

/** The request as a client writes it, with every field optional. */
export type StreamingRequest = z.input<typeof StreamingRequest>;
/** The request as the service uses it and shows it in `request_params`, with every default filled in. */
export type LiveRequest = z.output<typeof StreamingRequest>;
export type RealtimeProcessing = z.output<typeof RealtimeProcessing>;
export type PostProcessing = z.output<typeof PostProcessing>;
export type MessagesConfig = z.output<typeof MessagesConfig>;
type LiveCallbackConfig = z.output<typeof LiveCallbackConfig>;

export const InitStreamingResponse = z
  .object({
    id: Uuid.describe('Session and job id.'),
    created_at: DateTime,
    url: z.url().describe('WebSocket address; holds the temporary token of this session.'),
  })
  .meta({ id: 'InitStreamingResponse' });
export type InitStreamingResponse = z.infer<typeof InitStreamingResponse>;

/** The bytes of one second of audio in such a session. */
export function bytesPerSecond(
  request: Pick<LiveRequest, 'sample_rate' | 'channels' | 'bit_depth'>,
): number {
  return (request.sample_rate * request.channels * request.bit_depth) / 8;
}
