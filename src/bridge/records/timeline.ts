import { digestOf } from '../../lib/digest.ts';
import { storableText } from '../../lib/storable.ts';
import { round3 } from '../../lib/round.ts';
import type { Utterance } from '../../protocol/addons.ts';
import type { CallEventData, JoinedEntity, NewCallEvent } from '../../protocol/events.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { WaitingGaps } from './gap.ts';

/** The type and the data of an event that is to be stored. */
export type Said = {
  [Event in NewCallEvent as Event['type']]: { type: Event['type']; data: Event['data'] };
}[NewCallEvent['type']];

/** Types of the events that are made from messages of a speech session. */
type ResultType = 'call.transcript' | 'call.sentiment' | 'call.entities' | 'call.translation';

/** An entity before it is sent as an event. The redaction needs the positions of its words. */
export type EntityOfResult = JoinedEntity & {
  parts?: { session: string; of_session: string; from: number; to: number }[];
};

/** The data of an event before it is sent. An add-on still has the words that are needed to redact its texts. */
type ResultData<Type extends ResultType> = Type extends 'call.entities'
  ? Omit<CallEventData<Type>, 'utterance' | 'results'> & {
      utterance: Utterance;
      results: EntityOfResult[];
    }
  : Type extends 'call.transcript'
    ? CallEventData<Type>
    : Omit<CallEventData<Type>, 'utterance'> & { utterance: Utterance };

export type Result = {
  [Type in ResultType]: {
    type: Type;
    /** Identifies a repeated message, together with the leg, the session and the type. */
    key: string;
    sessionId: string;
    channel: number;
    start: number;
    end: number;
    /** The times of redacted words. The recording has a tone at these times. */
    hidden?: { start: number; end: number }[];
    /**
     * Text that is stored with the result: the words of a transcript or the values of a sentiment. It is empty for
     * other types.
     */
    text: string;
    /** The words of a transcript as they were said, where `text` has their numbers in figures. */
    spoken?: string;
    data: ResultData<Type>;
  };
}[ResultType];

/**
 * Results and gaps that were not sent as events yet. The leg's journal keeps them so that a killed process does not
 * lose them.
 */
export type WaitingResults = {
  gaps?: WaitingGaps;
  /** The results. `order` is their order of arrival, counted over the whole call. */
  results: { order: number; result: Result }[];
  /** The last words of each channel. A number that continues may have begun there. */
  tails: Record<string, string>;
  /** The last turns of the leg's parties, without numbers. They may contain the question to a later answer. */
  asked?: { speaker: string; text: string; start: number; end: number }[];
  /** The highest entity number given so far, by label. */
  used: Record<string, number>;
};

export type FinalResult = Extract<Result, { type: 'call.transcript' }>;

/** The final with the text that a person reads. Its words, and `spoken`, stay as they were said. */
export function withText(final: FinalResult, text: string): FinalResult {
  if (text === final.data.text) return final;
  return { ...final, spoken: final.data.text, text, data: { ...final.data, text } };
}

export type PartialResult = {
  utteranceId: string;
  sessionId: string;
  channel: number;
  start: number;
  end: number;
  text: string;
  language: string;
};

type Placed =
  | { kind: 'result'; result: Result }
  | { kind: 'partial'; partial: PartialResult }
  /** The message does not appear on the call's timeline: acknowledgements, life-cycle and post-processing messages. */
  | { kind: 'none' };

type SentimentPoint = CallEventData<'call.summary'>['sentiment_course']['customer'][number];

/** The place of a session's time 0 on the call's clock, in seconds. */
type SessionPlace = { sessionId: string; zeroS: number };

/** The final before a failed add-on: such an add-on has no utterance of its own. */
export type LastFinal = { utteranceId: string; utterance: Utterance } | undefined;

/**
 * Converts a session's message to the call's clock: call time = leg offset + session offset + session time. Pure. Texts
 * lose the leading space of live messages. The speech client has already limited times, texts and lists, because the
 * service may belong to anybody.
 */
export function place(message: ServerMessage, at: SessionPlace, lastFinal?: LastFinal): Placed {
  switch (message.type) {
    case 'transcript': {
      const { id } = message.data;
      const utterance = placedUtterance(message.data.utterance, at);
      if (!message.data.is_final) return { kind: 'partial', partial: partialOf(id, utterance, at) };
      // A final without words is of no use to anybody.
      if (utterance.text === '') return { kind: 'none' };
      const { start, end, text, language, confidence, channel, words } = utterance;
      const data = { utterance_id: id, start, end, text, language, confidence, channel, words };
      return result({ type: 'call.transcript', key: id, text, data }, utterance, at);
    }
    case 'sentiment_analysis': {
      const about = message.data ?? failedAbout(message, lastFinal);
      if (about === undefined) return { kind: 'none' };
      const key = about.utterance_id;
      const utterance = placedUtterance(about.utterance, at);
      const results = placedItems(message.data?.results ?? [], at);
      const data = { utterance_id: key, utterance, results, ...errorOf(message) };
      // The call's sentiment over time is made from this text at the end, whatever events were sent in between.
      const text = JSON.stringify(results.map(pointOf));
      return result({ type: 'call.sentiment', key, text, data }, utterance, at);
    }
    case 'named_entity_recognition': {
      const about = message.data ?? failedAbout(message, lastFinal);
      if (about === undefined) return { kind: 'none' };
      const key = about.utterance_id;
      const utterance = placedUtterance(about.utterance, at);
      const results = placedItems(message.data?.results ?? [], at);
      // Most utterances have no entity. They are kept because they may hold a part of an entity that spans several
      // utterances.
      const data = { utterance_id: key, utterance, results, ...errorOf(message) };
      return result({ type: 'call.entities', key, text: '', data }, utterance, at);
    }
    case 'translation': {
      if (message.data === null) return { kind: 'none' };
      const { utterance_id, original_language, target_language } = message.data;
      const utterance = placedUtterance(message.data.utterance, at);
      const translated_utterance = placedUtterance(message.data.translated_utterance, at);
      const data = {
        utterance_id,
        utterance,
        original_language,
        target_language,
        translated_utterance,
      };
      const key = `${utterance_id}:${target_language}`;
      return result({ type: 'call.translation', key, text: '', data }, utterance, at);
    }
    default:
      return { kind: 'none' };
  }
}

/** The final that a failed add-on belongs to: the service sends an utterance's final before its add-ons. */
export function finalOf(message: ServerMessage): LastFinal {
  if (message.type !== 'transcript' || !message.data.is_final) return undefined;
  return { utteranceId: message.data.id, utterance: message.data.utterance };
}

/** The event for a result. Its words are sent once, with the final: add-ons refer to them without repeating them. */
export function toldOf(result: Result, legId: string): Said {
  const utterance_id = utteranceIdOf(legId, result.sessionId, result.data.utterance_id);
  switch (result.type) {
    case 'call.transcript':
      return { type: result.type, data: { ...result.data, utterance_id } };
    case 'call.entities': {
      const { words: _words, ...utterance } = result.data.utterance;
      const results = result.data.results.map(({ parts: _parts, ...entity }) => entity);
      return { type: result.type, data: { ...result.data, utterance_id, utterance, results } };
    }
    case 'call.sentiment':
    case 'call.translation': {
      const { words: _words, ...utterance } = result.data.utterance;
      return { type: result.type, data: { ...result.data, utterance_id, utterance } } as Said;
    }
  }
}

/**
 * The id of an utterance within its call. It is derived only from the leg and the session, so a restart gives the same
 * id. The parts are used in the form that the store keeps.
 */
export function utteranceIdOf(legId: string, sessionId: string, ofSession: string): string {
  const parts = [legId, sessionId, ofSession].map(storableText);
  return `utt_${digestOf(JSON.stringify(parts)).slice(0, 16)}`;
}

/** True for a result without an entity and without an error. No event is sent for it. */
export function isNothing({ type, data }: Result): boolean {
  return type === 'call.entities' && data.results.length === 0 && data.error === undefined;
}

/** True for a neutral result without an error. No event is sent for it, because nobody would act on it. */
export function isNeutral(result: Result): boolean {
  if (result.type !== 'call.sentiment' || result.data.error !== undefined) return false;
  return result.data.results.every(({ sentiment }) => sentiment === 'neutral');
}

type ResultDraft = {
  [Type in ResultType]: { type: Type; key: string; text: string; data: ResultData<Type> };
}[ResultType];

function result(draft: ResultDraft, utterance: Utterance, at: SessionPlace): Placed {
  const { start, end, channel } = utterance;
  return { kind: 'result', result: { ...draft, sessionId: at.sessionId, channel, start, end } };
}

/** The part of a sentence's sentiment that is stored. Its words are stored with the final. */
function pointOf({ start, end, sentiment, emotion }: SentimentPoint): SentimentPoint {
  return { start, end, sentiment, emotion };
}

function partialOf(utteranceId: string, utterance: Utterance, at: SessionPlace): PartialResult {
  const { start, end, channel, text, language } = utterance;
  return { utteranceId, sessionId: at.sessionId, channel, start, end, text, language };
}

function failedAbout(
  message: { error: { message: string } | null },
  lastFinal: LastFinal,
): { utterance_id: string; utterance: Utterance } | undefined {
  if (message.error === null || lastFinal === undefined) return undefined;
  return { utterance_id: lastFinal.utteranceId, utterance: lastFinal.utterance };
}

function errorOf(message: { error: { message: string } | null }): { error?: { message: string } } {
  if (message.error === null) return {};
  return { error: { message: message.error.message } };
}

function placedUtterance(utterance: Utterance, at: SessionPlace): Utterance {
  return {
    ...placedSpan(utterance, at),
    text: utterance.text.trim(),
    words: utterance.words.map((word) => ({ ...placedSpan(word, at), word: word.word.trim() })),
  };
}

function placedItems<Item extends { start: number; end: number }>(
  items: readonly Item[],
  at: SessionPlace,
): Item[] {
  return items.map((item) => placedSpan(item, at));
}

/** Converts session time to call time. */
function placedSpan<Span extends { start: number; end: number }>(
  span: Span,
  at: SessionPlace,
): Span {
  return { ...span, start: round3(span.start + at.zeroS), end: round3(span.end + at.zeroS) };
}
