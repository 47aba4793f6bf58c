import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { MessagesConfig } from '../../protocol/live-request.ts';

/** Which flag governs a message, of `messages_config` and `callback_config` alike (notes 1.5). */
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

/** A refusal is told to whoever asked for errors, too. */
export function isWanted(
  message: ServerMessage,
  flags: { [Flag in keyof MessagesConfig]: boolean },
): boolean {
  if (flags[flagOf(message)]) return true;
  return 'acknowledged' in message && !message.acknowledged && flags.receive_errors;
}

export type MessageKind = 'ack' | 'partial' | 'message';

/** What may be left out when a peer cannot follow: acks and partials are replaced by later ones. */
export function kindOf(message: ServerMessage): MessageKind {
  if ('acknowledged' in message) return 'ack';
  return message.type === 'transcript' && !message.data.is_final ? 'partial' : 'message';
}
