import { z } from 'zod';
import {
  Chapter,
  NamedEntity,
  NotCovered,
  SentimentItem,
  Transcription,
  Utterance,
} from './addons.ts';
import { PostFinalResult } from './job.ts';
import { DateTime, LanguageCode, Seconds, Uuid } from './values.ts';

export type { Utterance, Word } from './addons.ts';

/** Only `message` is always present. The hosted service sends the other two with some errors only. */
const WireError = z
  .object({
    message: z.string(),
    status_code: z.int().optional(),
    exception: z.string().optional(),
  })
  .meta({ id: 'WireError' });
type WireError = z.infer<typeof WireError>;

const envelope = { session_id: Uuid, created_at: DateTime };
const error = WireError.nullable().default(null);

function message<Type extends string>(type: Type) {
  return z.object({ ...envelope, type: z.literal(type) });
}

const AudioChunkAck = message('audio_chunk')
  .extend({
    acknowledged: z.boolean(),
    error,
    data: z
      .object({
        byte_range: z
          .tuple([z.int().min(0), z.int().min(0)])
          .describe(
            'Of the whole session, end exclusive: the second number is what is safely received.',
          ),
        time_range: z.tuple([Seconds, Seconds]),
      })
      .nullable()
      .default(null),
  })
  .meta({ id: 'AudioChunkAck' });

const StopRecordingAck = message('stop_recording')
  .extend({
    acknowledged: z.boolean(),
    error,
    data: z
      .object({ recording_duration: Seconds, recording_left_to_process: Seconds })
      .nullable()
      .default(null),
  })
  .meta({ id: 'StopRecordingAck' });

const speechData = z.object({ time: Seconds, channel: z.int().min(0) });
const SpeechStartMessage = message('speech_start')
  .extend({ data: speechData })
  .meta({ id: 'SpeechStartMessage' });
const SpeechEndMessage = message('speech_end')
  .extend({ data: speechData })
  .meta({ id: 'SpeechEndMessage' });

const TranscriptMessage = message('transcript')
  .extend({
    data: z.object({
      id: z.string().describe('Shared by the partials and the final of one utterance; opaque.'),
      is_final: z.boolean(),
      utterance: Utterance,
    }),
  })
  .meta({ id: 'TranscriptMessage' });

const TranslationMessage = message('translation')
  .extend({
    error,
    data: z
      .object({
        utterance_id: z.string(),
        utterance: Utterance,
        original_language: LanguageCode,
        target_language: LanguageCode,
        translated_utterance: Utterance,
      })
      .nullable()
      .default(null),
  })
  .meta({ id: 'TranslationMessage' });

const NamedEntityRecognitionMessage = message('named_entity_recognition')
  .extend({
    error,
    data: z
      .object({
        utterance_id: z.string(),
        utterance: Utterance,
        results: z.array(NamedEntity),
        not_covered: NotCovered,
      })
      .nullable()
      .default(null),
  })
  .meta({ id: 'NamedEntityRecognitionMessage' });

const SentimentAnalysisMessage = message('sentiment_analysis')
  .extend({
    error,
    data: z
      .object({
        utterance_id: z.string(),
        utterance: Utterance,
        results: z.array(SentimentItem),
        not_covered: NotCovered,
      })
      .nullable()
      .default(null),
  })
  .meta({ id: 'SentimentAnalysisMessage' });

/**
 * Our addition to the API: sent only in a session of one channel whose `custom_metadata.role` is `mixed`. Other
 * services do not send it, and clients that do not know it ignore it.
 */
const SpeakersMessage = message('speakers')
  .extend({
    data: z.object({
      time: Seconds.describe('Up to here the session was listened to.'),
      is_final: z.boolean().describe('False while the labels may still change.'),
      utterances: z
        .array(
          z.object({
            id: z.string().describe('As in the transcript message.'),
            speaker: z.int().min(0).describe('The voice that says most of it, from 0.'),
          }),
        )
        .describe('Those whose speaker is new or another one than was told before.'),
    }),
  })
  .meta({ id: 'SpeakersMessage' });

const StartSessionMessage = message('start_session').meta({ id: 'StartSessionMessage' });
const StartRecordingMessage = message('start_recording').meta({
  id: 'StartRecordingMessage',
});
const EndRecordingMessage = message('end_recording')
  .extend({ data: z.looseObject({ recording_duration: Seconds }) })
  .meta({ id: 'EndRecordingMessage' });
const EndSessionMessage = message('end_session').meta({ id: 'EndSessionMessage' });

const PostTranscriptMessage = message('post_transcript')
  .extend({ data: Transcription })
  .meta({ id: 'PostTranscriptMessage' });
const PostFinalTranscriptMessage = message('post_final_transcript')
  .extend({ data: PostFinalResult })
  .meta({ id: 'PostFinalTranscriptMessage' });
const PostSummarizationMessage = message('post_summarization')
  .extend({ error, data: z.object({ results: z.string() }).nullable().default(null) })
  .meta({ id: 'PostSummarizationMessage' });
const PostChapterizationMessage = message('post_chapterization')
  .extend({
    error,
    data: z
      .object({ results: z.array(Chapter) })
      .nullable()
      .default(null),
  })
  .meta({ id: 'PostChapterizationMessage' });

/**
 * A stand-alone error. It is not sent by default: the vendor's Python client does not know the type, and without an
 * error listener its receiving thread dies of it. It is always accepted when read, with either or both keys.
 */
const ErrorMessage = message('error')
  .extend({
    error,
    data: z
      .looseObject({
        code: z.union([z.int(), z.string()]).optional(),
        message: z.string().optional(),
      })
      .nullable()
      .default(null),
  })
  .meta({ id: 'ErrorMessage' });

export const ServerMessage = z
  .discriminatedUnion('type', [
    AudioChunkAck,
    StopRecordingAck,
    SpeechStartMessage,
    SpeechEndMessage,
    TranscriptMessage,
    TranslationMessage,
    NamedEntityRecognitionMessage,
    SentimentAnalysisMessage,
    SpeakersMessage,
    StartSessionMessage,
    StartRecordingMessage,
    EndRecordingMessage,
    EndSessionMessage,
    PostTranscriptMessage,
    PostFinalTranscriptMessage,
    PostSummarizationMessage,
    PostChapterizationMessage,
    ErrorMessage,
  ])
  .meta({ id: 'ServerMessage' });
export type ServerMessage = z.infer<typeof ServerMessage>;
export type ServerMessageType = ServerMessage['type'];
export type SpeakersData = z.infer<typeof SpeakersMessage>['data'];
export type MessageOf<Type extends ServerMessageType> = Extract<ServerMessage, { type: Type }>;

/** The text form of an audio chunk. Raw bytes travel in binary frames. */
const AudioChunkCommand = z
  .object({
    type: z.literal('audio_chunk'),
    data: z.object({ chunk: z.base64().describe('Empty keeps the session alive.') }),
    message_id: z.string().optional().describe('From an earlier version; comes back in the ack.'),
  })
  .meta({ id: 'AudioChunkCommand' });
const StopRecordingCommand = z
  .object({ type: z.literal('stop_recording'), message_id: z.string().optional() })
  .meta({ id: 'StopRecordingCommand' });
export const ClientMessage = z
  .discriminatedUnion('type', [AudioChunkCommand, StopRecordingCommand])
  .meta({ id: 'ClientMessage' });
export type ClientMessage = z.infer<typeof ClientMessage>;

type ReadServerMessage =
  | { outcome: 'message'; message: ServerMessage }
  /** An unknown type, from a newer service. It is ignored and counted. */
  | { outcome: 'unknown'; type: string }
  | { outcome: 'malformed'; reason: string };

const knownTypes = new Set<string>(ServerMessage.options.map((option) => option.shape.type.value));

/** Reads a text frame of a session's socket. The reason names fields, never their contents. */
export function readServerMessage(frame: string): ReadServerMessage {
  let value: unknown;
  try {
    value = JSON.parse(frame);
  } catch {
    return { outcome: 'malformed', reason: 'not JSON' };
  }
  const type = z.object({ type: z.string() }).safeParse(value).data?.type;
  if (type === undefined) return { outcome: 'malformed', reason: 'no type' };
  if (!knownTypes.has(type)) return { outcome: 'unknown', type };
  const parsed = ServerMessage.safeParse(value);
  if (parsed.success) return { outcome: 'message', message: parsed.data };
  const paths = parsed.error.issues.map((issue) => issue.path.join('.'));
  return { outcome: 'malformed', reason: `${type}: ${[...new Set(paths)].join(', ')}` };
}
