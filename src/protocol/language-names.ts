import { languageName } from '../lib/language-name.ts';
import { transcriptionLanguages } from './languages.ts';

/** At most this many languages are read from one text. */
const maxNamed = 20;
const longestName = 60;

let byName: ReadonlyMap<string, string> | undefined;

/** Codes by the names that people write: in English and in the language itself. */
function codesByName(): ReadonlyMap<string, string> {
  byName ??= new Map(
    transcriptionLanguages.flatMap((code): [string, string][] => {
      const own = new Intl.DisplayNames(code, { type: 'language' }).of(code) ?? code;
      return [
        [own.toLowerCase(), code],
        [languageName(code).toLowerCase(), code],
        [code, code],
      ];
    }),
  );
  return byName;
}

/** The code of one language: `es`, `es-MX` and `es_mx`, `Spanish` and `español` are all `es`. */
export function languageCodeOf(text: string): string | undefined {
  const name = text.trim().toLowerCase();
  if (name === '' || name.length > longestName) return undefined;
  return codesByName().get(name) ?? codesByName().get(/^([a-z]{2,3})[-_][a-z0-9_-]+$/.exec(name)?.[1] ?? '');
} // prettier-ignore

/**
 * The languages that a text names, divided by commas. `auto` names none: the language is to be found. Undefined if any
 * part is no language.
 */
export function languagesNamed(text: string): string[] | undefined {
  if (/^\s*auto\s*$/i.test(text)) return [];
  const codes = text.split(',', maxNamed + 1).map(languageCodeOf);
  if (codes.length > maxNamed || codes.includes(undefined)) return undefined;
  return [...new Set(codes as string[])];
}
