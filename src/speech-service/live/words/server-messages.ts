import type { MessageKind } from '../../callbacks/callback-queue.ts';
import type {
  MessageOf,
  ServerMessage,
  ServerMessageType,
} from '../../../protocol/live-messages.ts';
import type { MessagesConfig } from '../../../protocol/live-request.ts';

type MessageBody<Type extends ServerMessageType> = Omit<
  MessageOf<Type>,
  'session_id' | 'created_at' | 'type'
>;

/**
 * Builds a message. Clients drop a message without one of the keys that may not be null, so the types require all keys.
 */
export function message<Type extends ServerMessageType>(
  sessionId: string,
  nowMs: number,
  type: Type,
  body: MessageBody<Type>,
): ServerMessage {
  return {
    session_id: sessionId,
    created_at: new Date(nowMs).toISOString(),
    type,
    ...body,
  } as unknown as ServerMessage;
}

/** An id such as `00_00000003`: channel and count, unique in the session. Clients treat it as opaque. */
export function utteranceId(channel: number, index: number): string {
  return `${String(channel).padStart(2, '0')}_${String(index).padStart(8, '0')}`;
}

/** The flag that switches a message on, in `messages_config` and in `callback_config`. */
function flagOf(message: ServerMessage): keyof MessagesConfig {
  switch (message.type) {
    case 'audio_chunk':
    case 'stop_recording':
      return 'receive_acknowledgments';
    case 'speech_start':
    case 'speech_end':
      return 'receive_speech_events';
    case 'transcript':
      return message.data.is_final ? 'receive_final_transcripts' : 'receive_partial_transcripts';
    case 'translation':
    case 'named_entity_recognition':
    case 'sentiment_analysis':
    case 'speakers':
      return 'receive_realtime_processing_events';
    case 'post_transcript':
    case 'post_final_transcript':
    case 'post_summarization':
    case 'post_chapterization':
      return 'receive_post_processing_events';
    case 'start_session':
    case 'start_recording':
    case 'end_recording':
    case 'end_session':
      return 'receive_lifecycle_events';
    case 'error':
      return 'receive_errors';
  }
}

/** True if the client wants the message. A refused command is also sent to a client that asked for errors only. */
export function isWanted(
  message: ServerMessage,
  flags: { [Flag in keyof MessagesConfig]: boolean },
): boolean {
  if (flags[flagOf(message)]) return true;
  return 'acknowledged' in message && !message.acknowledged && flags.receive_errors;
}

/** Acks and partials may be dropped for a slow peer, since later ones replace them. */
export function kindOf(message: ServerMessage): MessageKind {
  if ('acknowledged' in message) return 'ack';
  return message.type === 'transcript' && !message.data.is_final ? 'partial' : 'message';
}
