import { expect, test } from 'vitest';
import { languageName } from '../../../src/lib/language-name.ts';
import { languageCodeOf, languagesNamed } from '../../../src/protocol/language-names.ts';

test('a language has many spellings', () => {
  for (const text of ['es', 'ES', ' es-MX ', 'es_419', 'Spanish', 'español'])
    expect(languageCodeOf(text)).toBe('es');
  expect(languageCodeOf('haw')).toBe('haw');
  for (const text of ['', 'klingon', 'e', 'es-', '-', 'x'.repeat(100_000), '__proto__'])
    expect(languageCodeOf(text)).toBeUndefined();
});

test('a text names several languages, or none that is to be found', () => {
  expect(languagesNamed('de, French,it-IT, de')).toEqual(['de', 'fr', 'it']);
  expect(languagesNamed('Auto')).toEqual([]);
  for (const text of ['', 'es,', 'es, auto', 'es,klingon', 'es,'.repeat(1_000) + 'es'])
    expect(languagesNamed(text)).toBeUndefined();
});

test('a code has a name in words, and anything else stays as it is', () => {
  expect(languageName('es')).toBe('Spanish');
  for (const text of ['', '<b>', 'no such code']) expect(languageName(text)).toBe(text);
});
