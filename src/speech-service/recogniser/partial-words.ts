import { bare } from './consensus.ts';

/**
 * What of a growing utterance may be shown: the words that two readings in a row began with, and
 * before there are two, all but the last word of the first, which may still be half a word.
 */
export class PartialWords {
  #last: string[] = [];
  #shown: string[] = [];
  /** Seconds of audio that each leading word has survived, and when it was first there. */
  readonly #firstSeen: { word: string; atS: number }[] = [];

  /** The words to show now, or undefined when nothing new is sure. */
  update(words: string[], atS: number): string[] | undefined {
    const common = commonStart(this.#last, words);
    const sure = Math.max(common, Math.min(words.length - 1, this.#shown.length));
    for (const [index, word] of words.entries()) {
      const seen = this.#firstSeen[index];
      if (!seen || seen.word !== bare(word)) {
        this.#firstSeen.length = index;
        this.#firstSeen.push({ word: bare(word), atS });
      }
    }
    this.#firstSeen.length = Math.min(this.#firstSeen.length, words.length);
    const first = this.#last.length === 0;
    this.#last = words;
    const show = words.slice(0, first ? words.length - 1 : sure);
    if (show.length === 0 || same(show, this.#shown)) return undefined;
    this.#shown = show;
    return show;
  }

  /** For each word of the final the second of audio by which it had been read, where it was. */
  seenBy(words: readonly string[]): (number | undefined)[] {
    return words.map((word, index) => {
      const seen = this.#firstSeen[index];
      return seen?.word === bare(word) ? seen.atS : undefined;
    });
  }
}

function commonStart(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < a.length && count < b.length && bare(a[count] ?? '') === bare(b[count] ?? ''))
    count++;
  return count;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}
