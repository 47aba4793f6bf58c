import { sentimentLexicon } from '../data/sentiment-lexicon.ts';

export type Entry = { value: number; emotion: string };

type Node = { next: Map<string, Node>; stems: [string, Node][]; entry?: Entry };

/** The lexicon as a tree of words: the longest phrase that begins at a word is found in as many steps as it has words. */
const root: Node = { next: new Map(), stems: [] };

for (const line of sentimentLexicon.split('\n')) {
  const [phrases, value, emotion] = line.split('|').map((part) => part.trim());
  if (!phrases || !emotion) continue;
  for (const phrase of phrases.split(',')) {
    let node = root;
    for (const word of phrase.trim().split(/[\s-]+/)) {
      let next = node.next.get(word);
      if (!next) node.next.set(word, (next = { next: new Map(), stems: [] }));
      node = next;
    }
    // The first mention wins: the strong groups stand before the weak ones.
    node.entry ??= { value: Number(value), emotion };
  }
}

export function entryAt(
  words: readonly string[],
  i: number,
): { entry: Entry; end: number } | undefined {
  let node: Node | undefined = root;
  let found: { entry: Entry; end: number } | undefined;
  for (let at = i; at < words.length; at++) {
    node = node.next.get(words[at] ?? '');
    if (!node) break;
    if (node.entry) found = { entry: node.entry, end: at + 1 };
  }
  return found;
}
