import { tokenize, type TextToken } from './tokens.ts';

type PhraseNode = { next: Map<string, PhraseNode>; ends: boolean };

/**
 * Searches many phrases at once, word by word. A hyphen, a dot after a short word ("St. Louis") or an ampersand may
 * stand between the words in the text, so one entry matches every spelling of a phrase.
 */
export class Phrases {
  readonly #root: PhraseNode = { next: new Map(), ends: false };

  constructor(list: string) {
    for (const entry of list.split(/\s+/)) {
      if (entry === '') continue;
      let node = this.#root;
      for (const token of tokenize(entry.replaceAll('_', ' '))) {
        if (token.kind === 'mark') continue;
        let next = node.next.get(token.lower);
        if (!next) node.next.set(token.lower, (next = { next: new Map(), ends: false }));
        node = next;
      }
      node.ends = true;
    }
  }

  has(word: string): boolean {
    return this.#root.next.get(word)?.ends ?? false;
  }

  /** The end of the longest phrase that begins at the token, or 0. */
  match(tokens: readonly TextToken[], i: number): number {
    let node: PhraseNode | undefined = this.#root;
    let end = 0;
    let at = i;
    while (node) {
      const token = tokens[at];
      if (!token) break;
      if (token.kind === 'mark') {
        if (at === i || !joins(tokens, at)) break;
        at += 1;
        continue;
      }
      let next: PhraseNode | undefined = node.next.get(token.lower);
      if (!next && token.lower.endsWith("'s")) {
        next = node.next.get(token.lower.slice(0, -2));
        if (next?.ends) return at + 1;
        break;
      }
      node = next;
      at += 1;
      if (node?.ends) end = at;
    }
    return end;
  }
}

function joins(tokens: readonly TextToken[], at: number): boolean {
  const mark = tokens[at]?.text;
  if (mark === '-' || mark === '&' || mark === '.') {
    if (mark === '.') return (tokens[at - 1]?.text.length ?? 9) <= 3;
    return true;
  }
  return false;
}
