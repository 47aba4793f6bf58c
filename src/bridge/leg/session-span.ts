import type { Utterance } from '../../protocol/addons.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { SessionSnapshot } from '../records/leg-snapshot.ts';

/** The part of a session's time whose words count for the leg. Its beginning can differ by channel. */
export type SpokenSpan = { fromS(channel: number): number; toS(channel: number): number };

/**
 * Finds the part of its session in which a message's words count. Undefined if there is none. If two sessions heard the
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
  // Audio that the session heard beyond its end was also sent to the next session, which transcribes it.
  const to = isReplaced ? end : undefined;
  if (from === undefined && to === undefined) return message;
  return withinSpan(message, {
    fromS: (channel) => ((from?.[channel] ?? 0) - origin) / bytesPerSecond,
    toS: (channel) =>
      to === undefined ? Infinity : (Math.max(to, said?.[channel] ?? 0) - origin) / bytesPerSecond,
  });
}

/**
 * Cuts a message to a span; other sessions of the leg cover the rest. An utterance that crosses a border is cut between
 * two words. Returns undefined if nothing is left. Pure.
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

/** Cuts the results of an add-on together with their words. */
function cutResults<D extends { utterance: Utterance; results: Timed[] }>(
  data: D,
  span: SpokenSpan,
): D | undefined {
  const utterance = cut(data.utterance, span);
  const { channel } = data.utterance;
  const results = data.results.filter((one) => isWithin(one, channel, span));
  return utterance && { ...data, utterance, results };
}

/**
 * True if the larger part of a word lies in the span. If a border divides a word, the session that heard more of it
 * counts.
 */
function isWithin({ start, end }: Timed, channel: number, span: SpokenSpan): boolean {
  const middle = (start + end) / 2;
  return middle >= span.fromS(channel) && middle < span.toS(channel);
}

function cut(utterance: Utterance, span: SpokenSpan): Utterance | undefined {
  const { words, channel } = utterance;
  // An utterance without words cannot be cut. It belongs to the span that covers the larger part of it.
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

/** The original text from one word to another, with spaces and punctuation. */
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
