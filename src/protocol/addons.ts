import { z } from 'zod';
import { LanguageCode, Seconds } from './values.ts';

export const Word = z
  .object({ word: z.string(), start: Seconds, end: Seconds, confidence: z.number() })
  .meta({ id: 'Word' });

export const Utterance = z
  .object({
    start: Seconds,
    end: Seconds,
    confidence: z.number(),
    channel: z.int().min(0),
    words: z.array(Word),
    text: z.string(),
    language: LanguageCode,
    speaker: z
      .int()
      .min(0)
      .optional()
      .describe(
        'With diarization, and in the record of a live session whose `custom_metadata.role` is `mixed`: in no message before it.',
      ),
  })
  .meta({ id: 'Utterance' });

export type Word = z.infer<typeof Word>;
export type Utterance = z.infer<typeof Utterance>;

const AddonError = z
  .object({ status_code: z.int(), exception: z.string(), message: z.string() })
  .meta({ id: 'AddonError' });
export type AddonError = z.infer<typeof AddonError>;

export const NotCovered = z
  .array(z.string())
  .optional()
  .describe('What is left out, because it is not understood in the language that was spoken.');

/** The answer of every add-on: results, or the reason why there are none. An add-on never throws. */
export type AddonBlock<T> = {
  success: boolean;
  is_empty: boolean;
  exec_time: number;
  error: AddonError | null;
  results: T | null;
  /** The gaps of the results, because it is not understood in the language that was spoken. */
  not_covered?: string[];
};

export function addonBlock<T extends z.ZodType>(results: T) {
  return z.object({
    success: z.boolean(),
    is_empty: z.boolean(),
    exec_time: Seconds,
    error: AddonError.nullable(),
    results: results.nullable(),
    not_covered: NotCovered,
  });
}

/** The value of an entity. Redacted words have none. */
const entityValue = {
  value: z
    .string()
    .optional()
    .describe(
      'Digits, +12125550147, 89.00, 2026-03-04, 15:30, 2029-04, an address or a code as it is written, a name as it was spelled.',
    ),
  currency: z
    .string()
    .optional()
    .describe("Of an amount: USD, as its words or the call's country have it."),
  valid: z.boolean().optional().describe('Whether the check digit is right, of cards, IBANs and routing numbers.'), // prettier-ignore
};

export const NamedEntity = z
  .object({
    entity_type: z.string().describe('One of the entity types, see entity-types.'),
    text: z.string(),
    start: Seconds,
    end: Seconds,
    ...entityValue,
  })
  .meta({ id: 'NamedEntity' });
export type NamedEntity = z.infer<typeof NamedEntity>;

export const Sentiment = z.enum(['positive', 'negative', 'neutral', 'mixed', 'unknown']);
export type Sentiment = z.infer<typeof Sentiment>;

export const Emotion = z.enum([
  'adoration',
  'amusement',
  'anger',
  'awe',
  'confusion',
  'contempt',
  'contentment',
  'desire',
  'disappointment',
  'disgust',
  'distress',
  'ecstatic',
  'elation',
  'embarrassment',
  'fear',
  'interest',
  'pain',
  'realization',
  'relief',
  'sadness',
  'negative_surprise',
  'positive_surprise',
  'sympathy',
  'triumph',
  'neutral',
]);
export type Emotion = z.infer<typeof Emotion>;

export const SentimentItem = z
  .object({
    sentiment: Sentiment,
    emotion: Emotion,
    text: z.string(),
    start: Seconds,
    end: Seconds,
    channel: z.int().min(0),
    speaker: z.int().min(0).optional().describe('Pre-recorded with diarization only.'),
  })
  .meta({ id: 'SentimentItem' });
export type SentimentItem = z.infer<typeof SentimentItem>;

export const Chapter = z
  .object({
    headline: z.string(),
    gist: z.string(),
    keywords: z.array(z.string()),
    start: Seconds,
    end: Seconds,
    sentences: z.array(
      z.object({ sentence: z.string(), start: Seconds, end: Seconds, words: z.array(Word) }),
    ),
    text: z.string(),
    summary: z.string().optional(),
    abstractive_summary: z.string().optional(),
    extractive_summary: z.string().optional(),
  })
  .meta({ id: 'Chapter' });
export type Chapter = z.infer<typeof Chapter>;

const Sentence = z
  .object({
    sentence: z.string(),
    start: Seconds,
    end: Seconds,
    words: z.array(Word),
    confidence: z.number(),
    language: LanguageCode,
    speaker: z.int().min(0).optional(),
    channel: z.int().min(0),
  })
  .meta({ id: 'Sentence' });
export type Sentence = z.infer<typeof Sentence>;

const Subtitles = z
  .object({ format: z.enum(['srt', 'vtt']), subtitles: z.string() })
  .meta({ id: 'Subtitles' });
export type Subtitles = z.infer<typeof Subtitles>;

/** The block of `transcription.sentences`. A hosted service may send plain strings. */
export const SentencesBlock = addonBlock(z.array(z.union([Sentence, z.string()]))).meta({
  id: 'SentencesBlock',
});

export const Transcription = z
  .object({
    full_transcript: z.string(),
    languages: z.array(LanguageCode),
    utterances: z.array(Utterance),
    sentences: z.array(SentencesBlock).optional(),
    subtitles: z.array(Subtitles).optional(),
  })
  .meta({ id: 'Transcription' });
export type Transcription = z.infer<typeof Transcription>;

export const TranslatedTranscript = Transcription.extend({
  error: AddonError.nullable(),
}).meta({ id: 'TranslatedTranscript' });
export type TranslatedTranscript = z.infer<typeof TranslatedTranscript>;
