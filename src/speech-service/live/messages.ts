import type { MessageOf, ServerMessage, ServerMessageType } from '../../protocol/live-messages.ts';
import type { Utterance } from '../../protocol/addons.ts';
import type { RecognisedUtterance } from '../recognition/recogniser.ts';

type Body<Type extends ServerMessageType> = Omit<
  MessageOf<Type>,
  'session_id' | 'created_at' | 'type'
>;

/** Clients drop a message that lacks any key which is not nullable: the types ask for all of them. */
export function message<Type extends ServerMessageType>(
  sessionId: string,
  nowMs: number,
  type: Type,
  body: Body<Type>,
): ServerMessage {
  return {
    session_id: sessionId,
    created_at: new Date(nowMs).toISOString(),
    type,
    ...body,
  } as unknown as ServerMessage;
}

/** `00_00000003`: a counter per channel, unique in the session; clients must not read it. */
export function utteranceId(channel: number, index: number): string {
  return `${String(channel).padStart(2, '0')}_${String(index).padStart(8, '0')}`;
}

const rounded = (value: number): number => Math.round(value * 1e4) / 1e4;

/** Live text and every live word begin with exactly one space; joined words give the text (notes 1.7). */
export function utteranceOf(
  recognised: RecognisedUtterance,
  channel: number,
  language: string | undefined,
): Utterance {
  const words = recognised.words.map((word) => ({
    word: ` ${word.word.trim()}`,
    start: rounded(word.start),
    end: rounded(word.end),
    confidence: rounded(word.confidence),
  }));
  const text = recognised.text.trim().replace(/\s+/g, ' ');
  return {
    start: rounded(recognised.start),
    end: rounded(recognised.end),
    confidence: rounded(recognised.confidence),
    channel,
    words,
    text: text === '' ? '' : ` ${text}`,
    language: language ?? recognised.language,
  };
}
