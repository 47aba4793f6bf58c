import type { Utterance } from '../protocol/addons.ts';
import type { ServerMessage } from '../protocol/live-messages.ts';
import { sessionTimeOf } from '../speech-client/messages.ts';

/**
 * What a message says of the audio before a session time: another session heard the rest and says it. An
 * utterance that goes over the border is cut between two words; undefined where nothing of it is left. Pure.
 */
export function heardBefore(message: ServerMessage, endS: number): ServerMessage | undefined {
  const time = sessionTimeOf(message);
  if (time !== undefined && time >= endS) return undefined;
  switch (message.type) {
    case 'transcript': {
      const utterance = cut(message.data.utterance, endS);
      return utterance && { ...message, data: { ...message.data, utterance } };
    }
    case 'sentiment_analysis': {
      if (message.data === null) return message;
      const utterance = cut(message.data.utterance, endS);
      const results = message.data.results.filter((one) => isBefore(one, endS));
      return utterance && { ...message, data: { ...message.data, utterance, results } };
    }
    case 'named_entity_recognition': {
      if (message.data === null) return message;
      const utterance = cut(message.data.utterance, endS);
      const results = message.data.results.filter((one) => isBefore(one, endS));
      return utterance && { ...message, data: { ...message.data, utterance, results } };
    }
    case 'translation': {
      if (message.data === null) return message;
      const utterance = cut(message.data.utterance, endS);
      const translated_utterance = cut(message.data.translated_utterance, endS);
      if (!utterance || !translated_utterance) return undefined;
      return { ...message, data: { ...message.data, utterance, translated_utterance } };
    }
    default:
      return message;
  }
}

/** More of it before the border than behind it: of a word that is cut in two one session heard the greater part. */
function isBefore({ start, end }: { start: number; end: number }, endS: number): boolean {
  return (start + end) / 2 < endS;
}

/** One without words cannot be cut and stays whole. */
function cut(utterance: Utterance, endS: number): Utterance | undefined {
  const words = utterance.words.filter((word) => isBefore(word, endS));
  if (words.length === utterance.words.length) return utterance;
  const last = words.at(-1);
  if (!last) return undefined;
  return { ...utterance, words, text: textOf(utterance.text, words), end: last.end };
}

/** As it was written, with its spaces and signs, up to the last of these words. */
function textOf(text: string, words: Utterance['words']): string {
  let at = 0;
  for (const { word } of words) {
    const found = text.indexOf(word.trim(), at);
    if (found < 0) return words.map((one) => one.word.trim()).join(' ');
    at = found + word.trim().length;
  }
  return text.slice(0, at);
}
