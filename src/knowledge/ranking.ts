import type { PassageRow } from './passage-rows.ts';
import { termsOf, type TermCounts } from './terms.ts';

/** The part of an article in which a word of the question stands: its weight there. */
const weights = { title: 1, asked: 1, heading: 0.85, text: 0.7 };
/** A passage with the same words in a row is likelier the right one. */
const forPair = 0.15;

/** A question as the index takes it: its words, the rarest first. */
export type QuestionWords = {
  terms: { term: string; word: string; weight: number }[];
  pairs: ReadonlySet<string>;
};

/** More words of a question do not make it clearer. */
const maxTerms = 12;
/** At most this many are looked up; the commonest would find every passage. */
export const maxLookedUp = 8;

export function questionWords(text: string, counts: TermCounts): QuestionWords {
  const all = termsOf(text);
  const pairs = new Set(all.slice(1).map(({ term }, at) => `${all[at]?.term ?? ''} ${term}`));
  const terms = [...new Map(all.map((one) => [one.term, one])).values()]
    .map((one) => ({ ...one, weight: counts.weight(one.term) }))
    .toSorted((one, other) => other.weight - one.weight)
    .slice(0, maxTerms);
  return { terms, pairs };
}

/**
 * The share of the question's words that the passage has, rare words counting more: 1 if the title has them all. Equal
 * on every database, whose own ranks are not comparable.
 */
export function wordScore({ terms, pairs }: QuestionWords, passage: PassageRow): number {
  const where = new Map<string, number>();
  const pairsHere = new Set<string>();
  for (const field of ['text', 'heading', 'asked', 'title'] as const) {
    let before = '';
    for (const { term } of termsOf(passage[field])) {
      where.set(term, weights[field]);
      if (pairs.has(`${before} ${term}`)) pairsHere.add(`${before} ${term}`);
      before = term;
    }
  }
  let [found, all] = [0, 0];
  for (const { term, weight } of terms) {
    found += weight * (where.get(term) ?? 0);
    all += weight;
  }
  if (all === 0) return 0;
  const inRow = pairs.size === 0 ? 0 : pairsHere.size / pairs.size;
  return (found / all) * (1 - forPair) + inRow * forPair;
}

/** The nearness of meanings counts for most; words tell apart what means nearly the same, and find names and codes. */
const wordShare = 0.2;
/**
 * A question that an article answers, by its author or by an agent's word, raises its nearest sentence by this share of the
 * difference. Two questions are likelier alike than a question and a text: in full, they would hide other articles.
 */
export const askedShare = 0.5;

export type Scores = { words: number; meaning: number | undefined };

export function scoreOf({ words, meaning }: Scores): number {
  return meaning === undefined ? words : meaning + wordShare * words;
}

/** Below these an article is likelier wrong than right, and nothing is shown. Learnt from labelled questions. */
const sureWithMeaning = 0.41;
const sureByWords = 0.38;

export function isSure({ words, meaning }: Scores): boolean {
  const score = scoreOf({ words, meaning });
  return score >= (meaning === undefined ? sureByWords : sureWithMeaning);
}

export type ArticleVerdicts = { useful: number; notUseful: number };

/** The verdicts of agents move an article a little: up to a tenth, and only with several of one mind. */
export function priorOf({ useful, notUseful }: ArticleVerdicts): number {
  const share = (useful + 3) / (useful + notUseful + 6);
  return 0.9 + 0.2 * share;
}
