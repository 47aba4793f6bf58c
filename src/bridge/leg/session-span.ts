import type { Utterance } from '../../protocol/addons.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { SessionSnapshot } from '../records/leg-snapshot.ts';

/** The session times between which a session's words count for the leg. The beginning can differ by channel. */
export type SpokenSpan = { fromS(channel: number): number; toS(channel: number): number };

/**
 * The part of a message for which its session's words count; undefined if there is none. If two sessions heard the
 * same audio, the first one that returned words counts. Pure.
 */
export function spokenBy(
  { from, end, said }: Pick<SessionSnapshot, 'from' | 'end' | 'said'>,
  message: ServerMessage,
  {
    origin,
    bytesPerSecond,
    isReplaced,
  }: {
    /** The leg position of the session's time 0. */
    origin: number;
    bytesPerSecond: number;
    /** True if another session of the leg followed this one. */
    isReplaced: boolean;
  },
): ServerMessage | undefined {
  // Audio that the session heard beyond its end was sent again to the session after it.
  const to = isReplaced ? end : undefined;
  if (from === undefined && to === undefined) return message;
  return withinSpan(message, {
    fromS: (channel) => ((from?.[channel] ?? 0) - origin) / bytesPerSecond,
    toS: (channel) =>
      to === undefined ? Infinity : (Math.max(to, said?.[channel] ?? 0) - origin) / bytesPerSecond,
  });
}

/**
 * The part of a message within a span; other sessions of the leg cover the rest. An utterance across a border is cut
 * between two words. Undefined if nothing is left. Pure.
 */
export function withinSpan(message: ServerMessage, span: SpokenSpan): ServerMessage | undefined {
  switch (message.type) {
    case 'speech_start':
    case 'speech_end': {
      const { time, channel } = message.data;
      return time >= span.fromS(channel) && time < span.toS(channel) ? message : undefined;
    }
    case 'transcript': {
      const utterance = cut(message.data.utterance, span);
      return utterance && { ...message, data: { ...message.data, utterance } };
    }
    case 'sentiment_analysis': {
      if (message.data === null) return message;
      const data = cutResults(message.data, span);
      return data && { ...message, data };
    }
    case 'named_entity_recognition': {
      if (message.data === null) return message;
      const data = cutResults(message.data, span);
      return data && { ...message, data };
    }
    case 'translation': {
      if (message.data === null) return message;
      const utterance = cut(message.data.utterance, span);
      const translated_utterance = cut(message.data.translated_utterance, span);
      if (!utterance || !translated_utterance) return undefined;
      return { ...message, data: { ...message.data, utterance, translated_utterance } };
    }
    default:
      return message;
  }
}

type Timed = { start: number; end: number };

/** The results of an add-on are cut with the words that they belong to. */
function cutResults<D extends { utterance: Utterance; results: Timed[] }>(
  data: D,
  span: SpokenSpan,
): D | undefined {
  const utterance = cut(data.utterance, span);
  const { channel } = data.utterance;
  const results = data.results.filter((one) => isWithin(one, channel, span));
  return utterance && { ...data, utterance, results };
}

/** The larger part of a word decides: if a border divides it, one session heard more of it than the other. */
function isWithin({ start, end }: Timed, channel: number, span: SpokenSpan): boolean {
  const middle = (start + end) / 2;
  return middle >= span.fromS(channel) && middle < span.toS(channel);
}

function cut(utterance: Utterance, span: SpokenSpan): Utterance | undefined {
  const { words, channel } = utterance;
  // An utterance without words cannot be cut. It belongs to the span that has the larger part of it.
  if (words.length === 0) return isWithin(utterance, channel, span) ? utterance : undefined;
  const first = words.findIndex((word) => isWithin(word, channel, span));
  const last = words.findLastIndex((word) => isWithin(word, channel, span));
  const [firstWord, lastWord] = [words[first], words[last]];
  if (!firstWord || !lastWord) return undefined;
  if (first === 0 && last === words.length - 1) return utterance;
  return {
    ...utterance,
    words: words.slice(first, last + 1),
    text: textOf(utterance, first, last),
    start: first === 0 ? utterance.start : firstWord.start,
    end: last === words.length - 1 ? utterance.end : lastWord.end,
  };
}

/** The original text with its spaces and punctuation, from one word to another. */
function textOf({ text, words }: Utterance, first: number, last: number): string {
  let at = 0;
  let from = 0;
  for (const [index, { word }] of words.slice(0, last + 1).entries()) {
    const found = text.indexOf(word.trim(), at);
    if (found < 0) return wordsOf(words.slice(first, last + 1));
    if (index === first && first > 0) from = found;
    at = found + word.trim().length;
  }
  return last === words.length - 1 ? text.slice(from) : text.slice(from, at);
}

function wordsOf(words: Utterance['words']): string {
  return words.map(({ word }) => word.trim()).join(' ');
}
