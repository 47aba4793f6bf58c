import { languageName } from '../lib/language-name.ts';
import { isAbroad } from './abroad/number-words.ts';

type AskedOf = 'entities' | 'sentiment' | 'summary' | 'chapters';

/**
 * The gaps of an add-on's results in the languages that were spoken, a sentence a language. Nothing may be absent
 * in silence: a reader would take "no name was found" for "no name was said".
 */
export function notCovered(
  asked: AskedOf,
  languages: Iterable<string>,
  hasFeelings = false,
): string[] {
  return [...new Set(languages)].flatMap((language) => {
    if (language === 'en' || language === '') return [];
    const missing = (isAbroad(language) ? understood(asked, hasFeelings) : unknownTo)[asked];
    return missing === undefined ? [] : [`${languageName(language)}: ${missing}`];
  });
}

function understood(asked: AskedOf, hasFeelings: boolean): Record<AskedOf, string | undefined> {
  return {
    entities: 'names are found beside a title or a cue alone; places, organisations and professions are not found', // prettier-ignore
    sentiment: hasFeelings
      ? 'emotions are not told; mixed feelings count as one of them'
      : 'moods are unknown without a model (npx trunkline models pull sentence-encoder-multilingual)',
    summary: undefined,
    chapters: 'chapters are cut by their words alone',
  };
}

const unknownTo: Record<AskedOf, string> = {
  entities: 'nothing is found but addresses, figures and amounts in figures',
  sentiment: 'moods are not told in this language',
  summary: 'the summary is of sentences alone; reasons and promises are not told in this language',
  chapters: 'chapters are cut by their words alone',
};
