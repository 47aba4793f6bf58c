import { distance } from 'fastest-levenshtein';
import { bare } from '../offline/readings.ts';
import type { RecognisedWord } from '../recogniser.ts';
import { figureOf } from './spoken-figures.ts';

/** A word of one of the readers. */
export type Reconciled = RecognisedWord & {
  /** The unit of speech that the word belongs to. */
  unit: number;
};

/**
 * Two readings of the same audio, word by word in order of time: words that both have at one place, words that only the
 * second has, words that only the first has. The second reader's times come from its attention heads and are sometimes
 * far off.
 */
export type WordPlace = {
  first?: number;
  second?: number;
  /** The reader whose word is right here, if both were asked. */
  right?: 'first' | 'second' | undefined;
};

/** The prices of a word without a partner, of a pair that differs, and of a pair that lies apart in time. */
const alonePrice = 0.7;
const differentPrice = { least: 0.5, ofLetters: 0.8 };
const apartPrice = { each: 0.3, free: 0.3, most: 1.5 };

export function placesOf(
  first: readonly RecognisedWord[],
  second: readonly RecognisedWord[],
): WordPlace[] {
  const names = {
    first: first.map(({ word }) => asHeard(word)),
    second: second.map(({ word }) => asHeard(word)),
  };
  const width = second.length + 1;
  const price = new Float64Array((first.length + 1) * width);
  const at = (i: number, j: number) => price[i * width + j] ?? Infinity;
  const pair = (i: number, j: number): number => {
    const apart = Math.abs((first[i]?.start ?? 0) - (second[j]?.start ?? 0));
    const far = apartPrice.each * Math.max(0, apart - apartPrice.free);
    return Math.min(far, apartPrice.most) + difference(names.first[i] ?? '', names.second[j] ?? '');
  };
  for (let i = first.length; i >= 0; i--)
    for (let j = second.length; j >= 0; j--) {
      if (i === first.length && j === second.length) continue;
      const both = i < first.length && j < second.length ? pair(i, j) + at(i + 1, j + 1) : Infinity;
      const firstAlone = i < first.length ? alonePrice + at(i + 1, j) : Infinity;
      const secondAlone = j < second.length ? alonePrice + at(i, j + 1) : Infinity;
      price[i * width + j] = Math.min(both, firstAlone, secondAlone);
    }
  const places: WordPlace[] = [];
  for (let i = 0, j = 0; i < first.length || j < second.length;) {
    const here = at(i, j);
    if (i < first.length && j < second.length && here === pair(i, j) + at(i + 1, j + 1))
      places.push({ first: i++, second: j++ });
    else if (i < first.length && here === alonePrice + at(i + 1, j)) places.push({ first: i++ });
    else places.push({ second: j++ });
  }
  return places;
}

function difference(a: string, b: string): number {
  if (a === b) return 0;
  const share = distance(a, b) / Math.max(1, a.length, b.length);
  return differentPrice.least + differentPrice.ofLetters * share;
}

/** The form in which words are compared: "five" of one reader equals "5" of the other. */
export function asHeard(word: string): string {
  const name = bare(word);
  return figureOf(name) ?? name;
}
