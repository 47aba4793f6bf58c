import type { Chapter, Emotion, NamedEntity, SentimentItem } from '../protocol/addons.ts';

/** An entity by its characters in the text: `text.slice(start, end)` is the entity. */
export type EntitySpan = { type: string; text: string; start: number; end: number };

/** Values depend on this beside their words. */
export type ValueContext = {
  /** The day of the call, as 2026-03-04. */
  day: string;
  /** The calling code of the country that the call is of, without the plus. */
  callingCode?: string | undefined;
};

/** The meaning of an entity for a program: `valid` says whether a check digit is right, where there is one. */
export type EntityValue = { value: string; currency?: string; valid?: boolean };

export type SentimentLabel = SentimentItem['sentiment'];

/** The feeling of one sentence. */
export type SentimentScore = { label: SentimentLabel; emotion: Emotion };

/** One turn of a call, both legs merged, in order of time. A call of unnamed parties has a role per channel. */
export type SpokenTurn = { role: string; text: string; start: number; end: number };

/** One party's mood over the call: the mean of its sentences in each quarter, -1 to 1. */
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
  entities: (NamedEntity & Partial<EntityValue> & { role: string })[];
  sentiment: SentimentCourse[];
};
