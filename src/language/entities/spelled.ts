import type { Doc } from './doc.ts';

/** At least this many letters make a spelling. Fewer are initials. */
const fewestLetters = 3;

/** The end of single letters that spell a word, with or without marks between them. 0 if there are fewer than three. */
export function spellingEnd(doc: Doc, i: number): number {
  let at = i;
  let end = 0;
  let letters = 0;
  while (/^(?:\p{L}|[,.-])$/u.test(doc.word(at))) {
    if (doc.tokens[at]?.kind === 'word') {
      letters += 1;
      end = at + 1;
    } else if (letters === 0) return 0;
    at += 1;
  }
  return letters >= fewestLetters ? end : 0;
}
