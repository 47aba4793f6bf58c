import { spellingOf } from './spelling.ts';
import type { RewriteSettings } from './types.ts';
import { rewriteWords } from './words.ts';
import type { Utterance } from '../types.ts';

export function rewriteUtterance(utterance: Utterance, settings: RewriteSettings): Utterance {
  let result = utterance;
  if (settings.custom_spelling && settings.custom_spelling_config)
    result = rewriteWords(result, spellingOf(settings.custom_spelling_config.spelling_dictionary));
  return result;
}
