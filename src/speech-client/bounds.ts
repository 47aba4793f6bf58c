import { digestOf } from '../lib/digest.ts';
import { storableText } from '../lib/storable.ts';
import type { Utterance, Word } from '../protocol/addons.ts';
import type { ServerMessage } from '../protocol/live-messages.ts';

/** A recogniser's longest utterance has about a thousand characters, and an event must stay small enough to send. */
export const maxTextChars = 8_000;
const maxWordChars = 200;
export const maxWords = 2_000;
/** At most this many entities or sentiments are taken of one utterance. */
export const maxResults = 200;
/** At most this many utterances are taken of a message about speakers, more than a busy session of three hours has. */
const maxLabels = 20_000;
const maxSpeaker = 99;
/**
 * The longest id, because ids are compared and stored. A longer one is replaced by its digest: if it were cut, two ids
 * could become equal.
 */
const maxIdChars = 200;
/** The API's own limit. A number that a service invents must not become the length of a list. */
const maxChannel = 7;
/** A time may lie this far behind the audio, because recognisers pad its end. */
const slackS = 1;
/** The mark at the end of a text that was cut. */
const cutMark = '…';

/**
 * Bounds a message: every time lies inside the sent audio, every text and list has a bounded length with a mark where
 * it was cut, and U+0000 is removed, which Postgres refuses in texts. A broken or foreign service could otherwise bring
 * endless times, events of megabytes or rows that no store takes into a call. Pure.
 */
export function boundedMessage(message: ServerMessage, sentS: number): ServerMessage {
  const limitS = Math.max(0, sentS) + slackS;
  switch (message.type) {
    case 'speech_start':
    case 'speech_end': {
      const { time, channel } = message.data;
      const data = { time: timeIn(time, limitS), channel: Math.min(channel, maxChannel) };
      return { ...message, data };
    }
    case 'transcript': {
      const { data } = message;
      const utterance = boundedUtterance(data.utterance, limitS);
      return { ...message, data: { ...data, id: boundedId(data.id), utterance } };
    }
    case 'translation': {
      const { data } = message;
      if (data === null) return { ...message, error: boundedError(message.error) };
      return {
        ...message,
        error: boundedError(message.error),
        data: {
          ...data,
          utterance_id: boundedId(data.utterance_id),
          original_language: cut(data.original_language, maxWordChars),
          target_language: cut(data.target_language, maxWordChars),
          utterance: boundedUtterance(data.utterance, limitS),
          translated_utterance: boundedUtterance(data.translated_utterance, limitS),
        },
      };
    }
    case 'named_entity_recognition': {
      const { data } = message;
      if (data === null) return { ...message, error: boundedError(message.error) };
      const results = data.results.slice(0, maxResults).map((entity) => ({
        ...boundedSpan(entity, limitS),
        entity_type: cut(entity.entity_type, maxWordChars),
      }));
      const utterance = boundedUtterance(data.utterance, limitS);
      return {
        ...message,
        error: boundedError(message.error),
        data: { ...data, utterance_id: boundedId(data.utterance_id), utterance, results },
      };
    }
    case 'sentiment_analysis': {
      const { data } = message;
      if (data === null) return { ...message, error: boundedError(message.error) };
      const results = data.results.slice(0, maxResults).map((item) => ({
        ...boundedSpan(item, limitS),
        channel: Math.min(item.channel, maxChannel),
      }));
      const utterance = boundedUtterance(data.utterance, limitS);
      return {
        ...message,
        error: boundedError(message.error),
        data: { ...data, utterance_id: boundedId(data.utterance_id), utterance, results },
      };
    }
    case 'speakers': {
      const { time, is_final, utterances } = message.data;
      const some = utterances.slice(0, maxLabels).map(({ id, speaker }) => ({
        id: boundedId(id),
        speaker: Math.min(speaker, maxSpeaker),
      }));
      return { ...message, data: { time: timeIn(time, limitS), is_final, utterances: some } };
    }
    default:
      return message;
  }
}

export function boundedUtterance(utterance: Utterance, limitS: number): Utterance {
  const words = utterance.words.slice(0, maxWords).map((word): Word => ({
    ...word,
    word: cut(word.word, maxWordChars),
    ...timesIn(word, limitS),
  }));
  return {
    ...utterance,
    ...timesIn(utterance, limitS),
    words,
    channel: Math.min(utterance.channel, maxChannel),
    text: cut(utterance.text, maxTextChars),
    language: cut(utterance.language, maxWordChars),
  };
}

function boundedSpan<T extends { start: number; end: number; text: string }>(
  span: T,
  limitS: number,
): T {
  return { ...span, ...timesIn(span, limitS), text: cut(span.text, maxTextChars) };
}

function boundedError<T extends { message: string } | null>(error: T): T {
  return error === null ? error : { ...error, message: cut(error.message, maxTextChars) };
}

function timesIn(
  { start, end }: { start: number; end: number },
  limitS: number,
): { start: number; end: number } {
  const from = timeIn(start, limitS);
  return { start: from, end: Math.max(from, timeIn(end, limitS)) };
}

function timeIn(time: number, limitS: number): number {
  return Math.min(Math.max(time, 0), limitS);
}

function boundedId(id: string): string {
  if (id.length <= maxIdChars) return storableText(id);
  return digestOf(id);
}

export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return storableText(text);
  // A character that takes two UTF-16 units must not be cut in half.
  return storableText(text.slice(0, maxChars - cutMark.length).toWellFormed()) + cutMark;
}
