import type { CustomSpellingConfig, CustomVocabularyConfig } from '../../protocol/addon-configs.ts';
import { timelineOf } from '../timing.ts';
import type { Utterance } from '../../protocol/addons.ts';
import { punctuate } from './punctuation.ts';
import { spellingOf } from './spelling.ts';
import { vocabularyOf } from './vocabulary.ts';
import { rewriteWords } from './rewrite-words.ts';

/** The settings that change words, from a request's `realtime_processing` or from a job. */
export type RewriteSettings = {
  custom_vocabulary?: boolean | undefined;
  custom_vocabulary_config?: CustomVocabularyConfig | null | undefined;
  custom_spelling?: boolean | undefined;
  custom_spelling_config?: CustomSpellingConfig | null | undefined;
  /** Adds sentences and capitals where a model writes none. */
  punctuation_enhanced?: boolean | undefined;
};

/**
 * Rewrites an utterance in three steps: marks first, since they need the recognised words; then the caller's
 * vocabulary; the caller's spelling last, so that it wins.
 */
export function rewriteUtterance(utterance: Utterance, settings: RewriteSettings): Utterance {
  let result = utterance;
  if (settings.punctuation_enhanced) result = rewriteWords(result, punctuate);
  const vocabulary = settings.custom_vocabulary ? settings.custom_vocabulary_config : undefined;
  if (vocabulary) {
    const items = vocabulary.vocabulary.filter(
      (item) => typeof item === 'string' || !item.language || item.language === utterance.language,
    );
    const replace = cached(`v${vocabulary.default_intensity ?? ''}${JSON.stringify(items)}`, () =>
      vocabularyOf(items, vocabulary.default_intensity),
    );
    const confidenceOf = confidenceIn(result);
    result = rewriteWords(result, (text) => replace(text, confidenceOf));
  }
  const spelling = settings.custom_spelling ? settings.custom_spelling_config : undefined;
  if (spelling) {
    const dictionary = spelling.spelling_dictionary;
    result = rewriteWords(
      result,
      cached(`s${JSON.stringify(dictionary)}`, () => spellingOf(dictionary)),
    );
  }
  return result;
}

/** Sessions send the same settings with every utterance, so the last few prepared ones are kept. */
const prepared = new Map<string, unknown>();
const preparedMax = 32;

function cached<T>(key: string, make: () => T): T {
  const known = prepared.get(key) as T | undefined;
  if (known !== undefined) return known;
  if (prepared.size >= preparedMax) prepared.delete(prepared.keys().next().value ?? '');
  const made = make();
  prepared.set(key, made);
  return made;
}

/** The recogniser's confidence in the words of a span. */
function confidenceIn(utterance: Utterance): (start: number, end: number) => number {
  const at = timelineOf(utterance);
  return (start, end) => {
    const time = at(start, end);
    const words = utterance.words.filter(
      (word) => word.start >= time.start && word.end <= time.end,
    );
    return words.length === 0
      ? 1
      : words.reduce((sum, word) => sum + word.confidence, 0) / words.length;
  };
}
