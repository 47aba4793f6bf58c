/** A span of a text, by its characters. */
type TextSpan = { start: number; end: number };

const abbreviations = new Set(
  'mr mrs ms dr prof st ave rd blvd apt no vs etc inc ltd co corp jr sr dept ext approx e.g i.e a.m p.m u.s u.k'.split(
    ' ',
  ),
);

/** Splits a text at the marks that end sentences. Abbreviations, initials, decimals and addresses end none. */
export function splitSentences(text: string): TextSpan[] {
  const spans: TextSpan[] = [];
  let start = 0;
  const marks = /[.!?…]+["'”’)\]]*(?=\s|$)|[。！？؟]|\n+/gu;
  for (const match of text.matchAll(marks)) {
    const end = match.index + match[0].length;
    if (match[0] === '.' && !endsSentence(text, match.index, end)) continue;
    pushTrimmed(spans, text, start, end);
    start = end;
  }
  pushTrimmed(spans, text, start, text.length);
  return spans;
}

/** German writes the day of a month with a dot: "am 9. März". */
const month =
  /^\s*(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b/u;

function endsSentence(text: string, dot: number, end: number): boolean {
  const before = /\S{1,12}$/u.exec(text.slice(Math.max(0, dot - 12), dot))?.[0].toLowerCase() ?? '';
  const next = /^\s*(\S)/u.exec(text.slice(end, end + 40))?.[1];
  if (next === undefined) return true;
  if (/\d$/.test(before) && month.test(text.slice(end, end + 20))) return false;
  const clean = before.replace(/^["'(]+/u, '');
  if (clean === 'a.m' || clean === 'p.m') return /[\p{Lu}]/u.test(next);
  if (abbreviations.has(clean)) return false;
  return !/^\p{L}$/u.test(clean) || clean === 'i' ? true : !/\p{L}/u.test(next);
}

function pushTrimmed(spans: TextSpan[], text: string, start: number, end: number): void {
  const piece = text.slice(start, end);
  const lead = piece.length - piece.trimStart().length;
  const length = piece.trim().length;
  if (length > 0) spans.push({ start: start + lead, end: start + lead + length });
}
