import { z } from 'zod';
import { TranscriptionLanguage, TranslationLanguage } from './languages.ts';

const Intensity = z.number().min(0).max(1);

const VocabularyEntry = z
  .strictObject({
    value: z.string(),
    intensity: Intensity.optional(),
    pronunciations: z.array(z.string()).optional(),
    language: TranscriptionLanguage.optional(),
  })
  .meta({ id: 'VocabularyEntry' });

export const CustomVocabularyConfig = z
  .strictObject({
    vocabulary: z
      .array(z.union([z.string(), VocabularyEntry]))
      .describe('Words or terms to listen for, each a string or an object with its own settings.'),
    default_intensity: Intensity.optional().describe(
      'How readily a similar sound becomes the term.',
    ),
  })
  .meta({ id: 'CustomVocabularyConfig' });

export const CustomSpellingConfig = z
  .strictObject({
    spelling_dictionary: z
      .record(z.string(), z.array(z.string()))
      .describe('Preferred spelling → what it replaces. Case does not matter in what is replaced.'),
  })
  .meta({ id: 'CustomSpellingConfig' });

export const TranslationConfig = z
  .strictObject({
    target_languages: z.array(TranslationLanguage).min(1),
    model: z.enum(['base', 'enhanced', 'batch']).default('base'),
    match_original_utterances: z.boolean().default(true),
    lipsync: z.boolean().default(true),
    context_adaptation: z.boolean().default(true),
    context: z.string().optional(),
    informal: z.boolean().default(false),
  })
  .meta({ id: 'TranslationConfig' });

const SummarizationType = z.enum(['general', 'bullet_points', 'concise']);

export const SummarizationConfig = z
  .strictObject({ type: SummarizationType.default('general') })
  .meta({ id: 'SummarizationConfig' });

/**
 * With one language, that one is used. With none or several the language is detected, for each utterance if switching
 * is on.
 */
export const LanguageConfig = z
  .strictObject({
    languages: z.array(TranscriptionLanguage).default([]),
    code_switching: z.boolean().default(false),
  })
  .meta({ id: 'LanguageConfig' });

export type CustomVocabularyConfig = z.infer<typeof CustomVocabularyConfig>;
export type CustomSpellingConfig = z.infer<typeof CustomSpellingConfig>;
export type TranslationConfig = z.infer<typeof TranslationConfig>;
export type SummarizationType = z.infer<typeof SummarizationType>;
export type SummarizationConfig = z.infer<typeof SummarizationConfig>;
export type LanguageConfig = z.infer<typeof LanguageConfig>;
