import type { WrapUp } from '../protocol/wrap-up.ts';
import type { Chapter, Emotion, NamedEntity, SentimentItem } from '../protocol/addons.ts';

/** An entity by its characters in the text: `text.slice(start, end)` is the entity. */
export type EntitySpan = { type: string; text: string; start: number; end: number };

/** A stretch of the spoken text and what a reader sees in its place. */
export type TextEdit = { start: number; end: number; text: string };

/** Facts about the call that the value of an entity depends on, beside its words. */
export type ValueContext = {
  /** The day of the call, such as 2026-03-04. */
  day: string;
  /** The calling code of the call's country, without the plus. */
  callingCode?: string | undefined;
  /** The language of the words. Without it they are English. */
  language?: string | undefined;
};

/**
 * The meaning of an entity for a program. `valid` tells whether its check digit is right; it is absent for types
 * without a check digit.
 */
export type EntityValue = { value: string; currency?: string | undefined; valid?: boolean };

/** An entity with the value that its words say. */
export type ValuedSpan = EntitySpan & Partial<EntityValue>;

export type SentimentLabel = SentimentItem['sentiment'];

/** The feeling of one sentence. */
export type SentimentScore = { label: SentimentLabel; emotion: Emotion };

/**
 * One turn of a call, with both legs merged in order of time. Where the parties are unnamed, each channel is a role.
 */
export type SpokenTurn = {
  role: string;
  text: string;
  /** The words as they were said, where `text` has their numbers in figures. */
  spoken?: string | undefined;
  /** Words, in small letters, of which the recogniser was not sure. Undefined where nothing is known of that. */
  doubtful?: readonly string[] | undefined;
  start: number;
  end: number;
  /** The id of the turn in its call. Sessions and jobs have none. */
  utterance_id?: string | undefined;
};

/** The mood of one party over the call: the mean score of its sentences in each quarter, from -1 to 1. */
export type SentimentCourse = {
  role: string;
  overall: SentimentLabel;
  score: number;
  course: number[];
  counts: Record<SentimentLabel, number>;
};

export type CallInsight = {
  summary: string;
  /** `extractive`, or `llm` where a configured model wrote it. */
  summary_kind: 'extractive' | 'llm';
  chapters: Chapter[];
  wrap_up: WrapUp;
  entities: (NamedEntity & Partial<EntityValue> & { role: string })[];
  sentiment: SentimentCourse[];
};

/** The moods of sentences, by their texts, as a model heard them. */
export type FeltSentences = Map<string, SentimentLabel>;

/** A model that hears what sentences of other languages than English express. */
export type SentenceFeelings = {
  /** True if the model is installed. */
  isThere(): Promise<boolean>;
  /** Undefined: there is no model, or no time. A live sentence waits a third of a second at most. */
  of(text: string, isLive: boolean): Promise<SentimentLabel | undefined>;
};
