/** Words that say nothing about a topic, and courtesies of a call. */
const stop = new Set(
  "a about after again all also am an and any are aren't as at be because been being but by can can't cannot could couldn't did didn't do does doesn't doing don't for from get gets getting go goes going gone got had has hasn't have haven't having he hello her here hers hey hi him his how i i'd i'll i'm i've if in into is isn't it it'll it's its just know let let's like may maybe me might mine my no nor not of off oh ok okay on or our ours out over please really right say says she should so some sorry still tell than thank thanks that that's the their them then there there's these they thing things this those to too uh um up us very want wants was wasn't we we'll we're we've well were what what's when where which while who why will with won't would wouldn't yeah yes you you'll you're you've your yours".split(
    ' ',
  ),
);

/** A word without its commonest endings, so that "refunded" and "refunds" count as one. */
export function termOf(word: string): string {
  const plain = word.replace(/'(?:s|ll|re|ve|d)?$/, '');
  if (plain.length <= 3 || /\d/.test(plain)) return plain;
  return plain
    .replace(/ies$/, 'y')
    .replace(/(?:ings?|edly|ed|ers?|ly|ments?|es|s)$/, '')
    .replace(/([^aeiouls])\1$/, '$1')
    .replace(/e$/, '')
    .replace(/i$/, 'y');
}

export type TopicWord = { term: string; word: string };

/** The words of a text that carry its topic, and codes such as E42. */
export function termsOf(text: string): TopicWord[] {
  const words =
    text
      .toLowerCase()
      .normalize('NFD')
      .replace(/\p{M}/gu, '')
      .replaceAll('’', "'")
      .match(/[\p{L}\p{N}][\p{L}\p{N}']{0,60}/gu) ?? [];
  return words
    .filter((word) => !stop.has(word) && (word.length > 1 || /\d/.test(word)))
    .map((word) => ({ term: termOf(word), word: word.replaceAll("'", '') }));
}

/** The number of passages that have each term. */
export class TermCounts {
  readonly #counts = new Map<string, number>();
  #passages = 0;

  add(text: string): void {
    this.#passages++;
    for (const term of new Set(termsOf(text).map(({ term }) => term)))
      this.#counts.set(term, (this.#counts.get(term) ?? 0) + 1);
  }

  has(term: string): boolean {
    return this.#counts.has(term);
  }

  /** High for a term that few passages have. A term that none has is as rare as one that a single passage has. */
  weight(term: string): number {
    const having = this.#counts.get(term) ?? 1;
    return Math.log(1 + this.#passages / having);
  }
}
