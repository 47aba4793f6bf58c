import { z } from 'zod';
import { PreRecordedResult } from './job.ts';
import { ServerMessage } from './live-messages.ts';
import { FreeObject, Uuid } from './values.ts';

const liveEvents = [
  'start_session',
  'start_recording',
  'end_recording',
  'end_session',
  'speech_start',
  'speech_end',
  'transcript',
  'translation',
  'named_entity_recognition',
  'sentiment_analysis',
  'post_transcript',
  'post_final_transcript',
  'post_summarization',
  'post_chapterization',
  'audio_chunk',
  'stop_recording',
] as const;

export const LiveCallbackEvent = z.enum(liveEvents.map((type) => `live.${type}` as const));
export type LiveCallbackEvent = z.infer<typeof LiveCallbackEvent>;

/** POST to `callback_config.url` of a session. The payload is exactly the socket's message. */
export const LiveCallback = z
  .object({ id: Uuid, event: LiveCallbackEvent, payload: ServerMessage })
  .meta({ id: 'LiveCallback' });
export type LiveCallback = z.infer<typeof LiveCallback>;

/** A webhook of the account: the event and its session, nothing more. */
export const LiveWebhook = z
  .object({
    event: z.enum([
      'live.start_session',
      'live.start_recording',
      'live.end_recording',
      'live.end_session',
    ]),
    payload: z.object({ id: Uuid }),
  })
  .meta({ id: 'LiveWebhook' });
export type LiveWebhook = z.infer<typeof LiveWebhook>;

export const PreRecordedWebhook = z
  .object({
    event: z.enum(['transcription.created', 'transcription.success', 'transcription.error']),
    payload: z.object({ id: Uuid }),
  })
  .meta({ id: 'PreRecordedWebhook' });
export type PreRecordedWebhook = z.infer<typeof PreRecordedWebhook>;

const callbackFields = { id: Uuid, custom_metadata: FreeObject.nullish() };
export const PreRecordedCallback = z
  .discriminatedUnion('event', [
    z.object({
      ...callbackFields,
      event: z.literal('transcription.success'),
      payload: PreRecordedResult,
    }),
    z.object({
      ...callbackFields,
      event: z.literal('transcription.error'),
      error: z.object({ code: z.int(), message: z.string() }),
    }),
  ])
  .meta({ id: 'PreRecordedCallback' });
export type PreRecordedCallback = z.infer<typeof PreRecordedCallback>;
