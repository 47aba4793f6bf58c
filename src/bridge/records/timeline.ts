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

/** The types of event that a speech session's messages become. */
type ResultType = 'call.transcript' | 'call.sentiment' | 'call.entities' | 'call.translation';

/** An entity before it is told: by the places of its words it is redacted. */
export type EntityOfResult = JoinedEntity & {
  parts?: { session: string; of_session: string; from: number; to: number }[];
};

/** The data of an event before it is told: an add-on still has the words, by which its texts are redacted. */
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
    /** With the leg, the session and the type, what a repeated message is known by. */
    key: string;
    sessionId: string;
    channel: number;
    start: number;
    end: number;
    /** When redacted words were said: the recording has a tone there. */
    hidden?: { start: number; end: number }[];
    /** Kept with the result: the words of a transcript, the points of a sentiment; empty for the rest. */
    text: string;
    data: ResultData<Type>;
  };
}[ResultType];

/** Results and gaps that are not told yet, as the leg's journal keeps them: a killed process must not lose them. */
export type WaitingResults = {
  gaps?: WaitingGaps;
  /** Of the whole call: in which order they came. */
  results: { order: number; result: Result }[];
  /** Of each channel: the end of what was said last, where a number that goes on may have begun. */
  tails: Record<string, string>;
  /** What the leg's parties said last, without its numbers: it may be the question of an answer to come. */
  asked?: { speaker: string; text: string; start: number; end: number }[];
  /** Entities that have a number, by label. */
  used: Record<string, number>;
};

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
  /** Acknowledgements, life-cycle and post-processing messages are nothing for the call's timeline. */
  | { kind: 'none' };

type SentimentPoint = CallEventData<'call.summary'>['sentiment_course']['customer'][number];

/** Where a session's own zero lies on the call's clock, in seconds. */
type SessionPlace = { sessionId: string; zeroS: number };

/** The final before an add-on that failed: such an add-on carries no utterance of its own. */
export type LastFinal = { utteranceId: string; utterance: Utterance } | undefined;

/**
 * Puts a session's message on the call's one clock: call time = leg offset + session offset + session time.
 * Pure. Texts lose the leading space that live messages have. The speech client has bounded
 * times, texts and lists before: the service may be anybody's.
 */
export function place(message: ServerMessage, at: SessionPlace, lastFinal?: LastFinal): Placed {
  switch (message.type) {
    case 'transcript': {
      const { id } = message.data;
      const utterance = placedUtterance(message.data.utterance, at);
      if (!message.data.is_final) return { kind: 'partial', partial: partialOf(id, utterance, at) };
      // A final without words tells nobody anything.
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
      // The course of the call is made of this at the end, whatever is told of it meanwhile.
      const text = JSON.stringify(results.map(pointOf));
      return result({ type: 'call.sentiment', key, text, data }, utterance, at);
    }
    case 'named_entity_recognition': {
      const about = message.data ?? failedAbout(message, lastFinal);
      if (about === undefined) return { kind: 'none' };
      const key = about.utterance_id;
      const utterance = placedUtterance(about.utterance, at);
      const results = placedItems(message.data?.results ?? [], at);
      // The usual case is an utterance without entities: it may be a piece of one all the same.
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

/** The final that a failed add-on is about: the service sends an utterance's final before its add-ons. */
export function finalOf(message: ServerMessage): LastFinal {
  if (message.type !== 'transcript' || !message.data.is_final) return undefined;
  return { utteranceId: message.data.id, utterance: message.data.utterance };
}

/** The event that a result becomes. Its words go out once, with the final: add-ons tell what they are about without them. */
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
 * The name of an utterance within its call, made of its leg and session alone, so that a restart gives it again. The
 * parts are taken as the store keeps them.
 */
export function utteranceIdOf(legId: string, sessionId: string, ofSession: string): string {
  const parts = [legId, sessionId, ofSession].map(storableText);
  return `utt_${digestOf(JSON.stringify(parts)).slice(0, 16)}`;
}

/** An utterance without an entity and without a fault is no event. */
export function isNothing({ type, data }: Result): boolean {
  return type === 'call.entities' && data.results.length === 0 && data.error === undefined;
}

/** Nothing that anybody would act on: an answer without a fault and without a feeling. */
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

/** What is kept of a sentence's sentiment: its words are with the final. */
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

/** Session time to call time. */
function placedSpan<Span extends { start: number; end: number }>(
  span: Span,
  at: SessionPlace,
): Span {
  return { ...span, start: round3(span.start + at.zeroS), end: round3(span.end + at.zeroS) };
}
