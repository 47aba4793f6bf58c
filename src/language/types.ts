/**
 * The shapes the language tasks read and write: the interface's words, sentences and add-on blocks.
 * They are structural, so what the protocol's schemas parse fits them as it is.
 */
export type Word = { word: string; start: number; end: number; confidence: number };

export type Utterance = {
  start: number;
  end: number;
  confidence: number;
  channel: number;
  words: Word[];
  text: string;
  language: string;
};

export type NamedEntity = { entity_type: string; text: string; start: number; end: number };

/** An entity by its characters in the text: `text.slice(start, end)` is the entity. */
export type EntitySpan = { type: string; text: string; start: number; end: number };

export type SentimentLabel = 'positive' | 'negative' | 'neutral' | 'mixed' | 'unknown';

export type SentimentItem = {
  sentiment: SentimentLabel;
  emotion: string;
  text: string;
  start: number;
  end: number;
  channel: number;
};

export type ChapterSentence = { sentence: string; start: number; end: number; words: Word[] };

export type Chapter = {
  headline: string;
  gist: string;
  keywords: string[];
  start: number;
  end: number;
  sentences: ChapterSentence[];
  text: string;
  summary: string;
  extractive_summary: string;
  abstractive_summary?: string;
};

export type SummaryType = 'general' | 'bullet_points' | 'concise';

/** One turn of a call, both legs merged, in order of time. */
export type Turn = { role: string; text: string; start: number; end: number };

export type AddonError = { status_code: number; exception: string; message: string };

export type AddonBlock<T> = {
  success: boolean;
  is_empty: boolean;
  exec_time: number;
  error: AddonError | null;
  results: T | null;
};

/** How one party's mood went over the call: the mean of its sentences in each quarter, -1 to 1. */
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
  entities: (NamedEntity & { role: string })[];
  sentiment: SentimentCourse[];
};
