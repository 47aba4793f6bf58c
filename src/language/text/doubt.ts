/** A word that was heard with less confidence may be another one: names are the first to be misheard. */
const sureFrom = 0.95;

/** The words of which the recogniser was not sure, in small letters and without marks. */
export function doubtfulOf(words: readonly { word: string; confidence: number }[]): string[] {
  return words.filter(({ confidence }) => confidence < sureFrom).map(({ word }) => plainWord(word));
}

export function plainWord(word: string): string {
  return word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
