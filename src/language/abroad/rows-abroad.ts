import type { LanguageAbroad } from './number-words.ts';
import { numberAt, type TokenAbroad } from './numbers-abroad.ts';

/** A row of digits and spelled letters: a card, a telephone number, an IBAN, a code. */
export type RowAbroad = {
  start: number;
  end: number;
  /** Its tokens: `from` is the first of them, `to` the one behind it. */
  from: number;
  to: number;
  chars: string;
  digits: number;
  letters: number;
};

/** Marks and spaces that may stand inside a row. */
const between = /^[\s,.;:\-–/()_]{1,6}$/u;
/** Sounds between digits. */
const filler = /^(?:eh|em|este|euh|ben|ah|ahm|ehm|uh|eh|hm|hum|also)$/;

type RowPart = { chars: string; next: number; isLetter: boolean };

/** The rows of a text, in order. `isTaken` tells tokens that belong to something else. */
export function rowsAbroad(
  text: string,
  tokens: readonly TokenAbroad[],
  language: LanguageAbroad,
  isTaken: (token: number) => boolean,
): RowAbroad[] {
  const rows: RowAbroad[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const parts: (RowPart & { from: number })[] = [];
    let next = at;
    while (next < tokens.length && !isTaken(next)) {
      if (parts.length > 0 && !isJoined(text, tokens, next)) break;
      const part = partAt(text, tokens, next, language);
      if (part === undefined) {
        if (parts.length > 0 && filler.test(tokens[next]?.plain ?? '')) {
          next++;
          continue;
        }
        break;
      }
      parts.push({ ...part, from: next });
      next = part.next;
    }
    const row = rowOf(tokens, parts);
    if (row) rows.push(row);
    at = Math.max(at, (parts.at(-1)?.next ?? at + 1) - 1);
  }
  return rows;
}

function isJoined(text: string, tokens: readonly TokenAbroad[], at: number): boolean {
  return between.test(text.slice(tokens[at - 1]?.end, tokens[at]?.start));
}

function partAt(
  text: string,
  tokens: readonly TokenAbroad[],
  at: number,
  language: LanguageAbroad,
): RowPart | undefined {
  const number = numberAt(text, tokens, at, language);
  if (number) return { chars: number.digits, next: number.next, isLetter: false };
  const token = tokens[at];
  if (token === undefined) return undefined;
  // A letter that is spelled has a capital: "a", "e" and "y" are words.
  if (/^[A-Z]$/.test(token.text)) return { chars: token.text, next: at + 1, isLetter: true };
  if (
    /^[A-Z]{2,}$/.test(token.text) &&
    token.text.length <= 4 &&
    /^\s?\d/.test(text.slice(token.end))
  )
    return { chars: token.text, next: at + 1, isLetter: true };
  return /\d/.test(token.text) && token.text.length <= 40
    ? { chars: token.text.toUpperCase(), next: at + 1, isLetter: false }
    : undefined;
}

/** A single letter at the beginning is a word of the sentence. */
function rowOf(
  tokens: readonly TokenAbroad[],
  parts: readonly (RowPart & { from: number })[],
): RowAbroad | undefined {
  const [first, second] = parts;
  const own = first?.isLetter && first.chars.length === 1 && !second?.isLetter ? parts.slice(1) : parts; // prettier-ignore
  const [head, last] = [own[0], own.at(-1)];
  const chars = own.map((part) => part.chars).join('');
  const digits = chars.replace(/\D/g, '').length;
  if (!head || !last || digits === 0) return undefined;
  const start = tokens[head.from]?.start ?? 0;
  const end = tokens[last.next - 1]?.end ?? start;
  return {
    start,
    end,
    from: head.from,
    to: last.next,
    chars,
    digits,
    letters: chars.length - digits,
  };
}
