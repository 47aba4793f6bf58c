import type { Utterance } from '../protocol/addons.ts';

/** The language of most of the words. */
export function mainLanguageOf(
  utterances: readonly Pick<Utterance, 'text' | 'language'>[],
): string {
  const counts = new WordsByLanguage();
  for (const { text, language } of utterances) counts.add(text, language);
  return counts.main;
}

/** Counts words by their language, in a call that may change it. */
export class WordsByLanguage {
  readonly #letters = new Map<string, number>();

  add(text: string, language: string): void {
    if (language === '') return;
    this.#letters.set(language, (this.#letters.get(language) ?? 0) + text.trim().length);
  }

  get main(): string {
    const [most] = [...this.#letters].toSorted(([, one], [, other]) => other - one);
    return most?.[0] ?? 'en';
  }
}
