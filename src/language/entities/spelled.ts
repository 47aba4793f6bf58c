import type { Doc } from './doc.ts';

/** At least this many letters make a spelling. Fewer are initials. */
const fewestLetters = 3;

/** The end of single letters that spell a word, with or without marks between them. 0 if there are fewer than three. */
export function spellingEnd(doc: Doc, i: number): number {
  return spellingAt(doc, i).end;
}

/** The letters of a spelling in order: "double L" is two of them. Empty if there are fewer than three. */
export function spelledLetters(doc: Doc, i: number): string[] {
  return spellingAt(doc, i).letters;
}

function spellingAt(doc: Doc, i: number): { end: number; letters: string[] } {
  const none = { end: 0, letters: [] };
  const letters: string[] = [];
  let at = i;
  let end = 0;
  for (;;) {
    const times = doc.word(at) === 'double' ? 2 : doc.word(at) === 'triple' ? 3 : 1;
    const letter = doc.word(times === 1 ? at : at + 1);
    if (/^\p{L}$/u.test(letter)) {
      letters.push(...Array<string>(times).fill(letter));
      at += times === 1 ? 1 : 2;
      end = at;
    } else if (times === 1 && /^[,.-]$/.test(letter)) {
      if (letters.length === 0) return none;
      at += 1;
    } else break;
  }
  return letters.length >= fewestLetters ? { end, letters } : none;
}
