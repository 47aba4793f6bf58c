import { failed } from '../block.ts';
import type { AddonBlock, Utterance } from '../types.ts';

export type TranslationConfig = { target_languages: string[]; model?: string };

export type Translated = {
  original_language: string;
  target_language: string;
  translated_utterance: Utterance;
};

export const noProvider =
  'translation needs a language model: set TRUNKLINE_LLM_URL and TRUNKLINE_LLM_MODEL';

/** Without a provider nothing here can translate, and it says so rather than hand back the original. */
export function translationAnswers(config: TranslationConfig): AddonBlock<Translated>[] {
  const startedAtMs = performance.now();
  return config.target_languages.map(() => failed(501, 'NotConfigured', noProvider, startedAtMs));
}
