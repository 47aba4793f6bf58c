import type { Utterance } from '../types.ts';

export type TranslationConfig = { target_languages: string[]; model?: string | undefined };

export type Translated = {
  original_language: string;
  target_language: string;
  translated_utterance: Utterance;
};

export type PromptAnswer = { prompt: string; response: string };
