import { bare } from './consensus.ts';

/** When a word was said, as far as readings of the growing audio tell: seconds of the stream. */
export type WordEvidence = { saidBy?: number; notBefore?: number };

/**
 * What of a growing utterance may be shown: the words that two readings in a row began with. The first
 * partial is one word and needs another behind it: the last one may still be half a word.
 */
export class PartialWords {
  #last: string[] = [];
  #shown: string[] = [];
  readonly #readings: { words: string[]; atS: number }[] = [];

  /** Nothing was worth showing yet. */
  get silent(): boolean {
    return this.#shown.length === 0;
  }

  /**
   * The words to show now, or undefined when nothing new is sure. `again` reads the same audio with
   * another beginning: asked before a first word is shown of so little audio that chance may agree.
   */
  update(words: string[], atS: number, again?: () => string[]): string[] | undefined {
    const common = commonStart(this.#last, words);
    const sure = this.silent
      ? this.#first(words, Math.min(common, words.length - 1), again)
      : Math.max(common, Math.min(words.length - 1, this.#shown.length));
    this.note(words, atS);
    this.#last = words;
    const show = words.slice(0, Math.max(0, sure));
    if (show.length === 0 || same(show, this.#shown)) return undefined;
    this.#shown = show;
    return show;
  }

  #first(words: string[], sure: number, again?: () => string[]): number {
    if (sure < 1) return 0;
    return again && commonStart(again(), words) < 1 ? 0 : 1;
  }

  /** A reading of the audio up to a moment that is evidence only and not to be shown. */
  note(words: string[], atS: number): void {
    this.#readings.push({ words, atS });
  }

  /**
   * For each word of the final: a reading that already held it, with all words before it, bounds its
   * end from above; one that had not come that far bounds it from below.
   */
  evidence(words: readonly string[]): WordEvidence[] {
    const evidence: WordEvidence[] = words.map(() => ({}));
    for (const reading of this.#readings) {
      const common = commonStart(reading.words, words);
      for (const [index, known] of evidence.entries()) {
        if (index < common) known.saidBy = Math.min(known.saidBy ?? Infinity, reading.atS);
        else if (index >= reading.words.length)
          known.notBefore = Math.max(known.notBefore ?? 0, reading.atS);
      }
    }
    return evidence;
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
