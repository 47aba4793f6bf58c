import type { LanguageAbroad } from './number-words.ts';
import { numberAt, type TokenAbroad } from './numbers-abroad.ts';
import type { ValuedSpan } from '../types.ts';

const at: Record<LanguageAbroad, RegExp> = {
  es: /^(?:arroba|at)$/,
  fr: /^(?:arobase|arrobase|arobas|at)$/,
  de: /^(?:at|klammeraffe|klammeraffen|aet)$/,
  it: /^(?:chiocciola|chiocciolina|at)$/,
  pt: /^(?:arroba|at)$/,
  nl: /^(?:apenstaartje|apestaartje|at)$/,
};

/** Marks of an address by their words. */
const marks: Record<LanguageAbroad, readonly (readonly [RegExp, string])[]> = {
  es: [[/^punto$/, '.'], [/^guion$/, '-'], [/^subrayado$/, '_']],
  fr: [[/^point$/, '.'], [/^tiret$/, '-'], [/^underscore$/, '_']],
  de: [[/^punkt$/, '.'], [/^(?:bindestrich|minus)$/, '-'], [/^unterstrich$/, '_']],
  it: [[/^punto$/, '.'], [/^trattino$/, '-'], [/^underscore$/, '_']],
  pt: [[/^ponto$/, '.'], [/^(?:hifen|traco)$/, '-'], [/^underscore$/, '_']],
  nl: [[/^punt$/, '.'], [/^(?:streepje|koppelteken)$/, '-'], [/^underscore$/, '_']],
}; // prettier-ignore

/** "guion bajo", "tiret bas", "trattino basso": the second word makes the mark an underscore. */
const low = /^(?:bajo|bas|basso|baixo|laag)$/;
/** An address of more tokens is none. */
const mostTokens = 14;

/** Mail addresses as they are written, said, or both: "maria punto lopez arroba gmail.com". */
export function emailsAbroad(
  text: string,
  tokens: readonly TokenAbroad[],
  language: LanguageAbroad,
): ValuedSpan[] {
  const found: ValuedSpan[] = [];
  for (const { 0: address, index } of text.matchAll(/[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,4}/gu))
    found.push({ type: 'EMAIL_ADDRESS', text: address, start: index, end: index + address.length, value: address.toLowerCase() }); // prettier-ignore
  for (const [i, token] of tokens.entries()) {
    if (!at[language].test(token.plain)) continue;
    const local = localBefore(text, tokens, i, language);
    const domain = domainAfter(text, tokens, i + 1, language);
    if (!local || !domain) continue;
    const [start, end] = [tokens[local.from]?.start ?? 0, tokens[domain.to - 1]?.end ?? 0];
    const value = `${local.chars}@${domain.chars}`;
    found.push({ type: 'EMAIL_ADDRESS', text: text.slice(start, end), start, end, value });
  }
  return found;
}

function markOf(token: TokenAbroad | undefined, language: LanguageAbroad): string | undefined {
  return token && marks[language].find(([word]) => word.test(token.plain))?.[1];
}

/** Walks back while a mark, a figure or a spelled letter binds a word to the address. */
function localBefore(
  text: string,
  tokens: readonly TokenAbroad[],
  end: number,
  language: LanguageAbroad,
): { from: number; chars: string } | undefined {
  let from = end - 1;
  const [last, sign] = [tokens[from], tokens[end]];
  if (!last || !sign || !isClose(text, last, sign)) return undefined;
  while (from > 0 && end - from < mostTokens) {
    const [before, token] = [tokens[from - 1], tokens[from]];
    if (!before || !token || !isClose(text, before, token)) break;
    const isBound =
      markOf(token, language) !== undefined ||
      markOf(before, language) !== undefined ||
      low.test(token.plain) ||
      /^\d+$/.test(token.text) ||
      (token.text.length === 1 && before.text.length === 1) ||
      numberAt(text, tokens, from, language) !== undefined;
    if (!isBound) break;
    from--;
  }
  return { from, chars: written(text, tokens, { from, to: end }, language) };
}

function domainAfter(
  text: string,
  tokens: readonly TokenAbroad[],
  from: number,
  language: LanguageAbroad,
): { to: number; chars: string } | undefined {
  const first = tokens[from];
  if (!first || !isClose(text, tokens[from - 1] ?? first, first)) return undefined;
  let to = from + 1;
  let ends = 0;
  while (to < tokens.length && to - from < mostTokens) {
    const [before, token] = [tokens[to - 1], tokens[to]];
    if (!before || !token) break;
    const gap = text.slice(before.end, token.start);
    const isDot = gap === '.' || markOf(before, language) !== undefined;
    if (gap !== '.' && !isClose(text, before, token)) break;
    if (!isDot && markOf(token, language) === undefined) break;
    to++;
    if (isDot) ends = to;
  }
  if (ends === 0) return undefined;
  return { to: ends, chars: written(text, tokens, { from, to: ends }, language) };
}

function isClose(text: string, before: TokenAbroad, token: TokenAbroad): boolean {
  return /^[\s,]{0,3}$|^[._-]$/.test(text.slice(before.end, token.start));
}

/** The tokens as an address has them. */
function written(
  text: string,
  tokens: readonly TokenAbroad[],
  { from, to }: { from: number; to: number },
  language: LanguageAbroad,
): string {
  let chars = '';
  for (let i = from; i < to; i++) {
    const token = tokens[i];
    if (!token) break;
    const gap = i > from ? text.slice(tokens[i - 1]?.end, token.start) : '';
    if (/^[._-]$/.test(gap)) chars += gap;
    const mark = markOf(token, language);
    const number = mark === undefined ? numberAt(text, tokens, i, language) : undefined;
    if (mark !== undefined) {
      const isLow = low.test(tokens[i + 1]?.plain ?? '');
      chars += isLow ? '_' : mark;
      if (isLow) i++;
    } else if (number) {
      chars += number.digits;
      i = number.next - 1;
    } else chars += token.plain;
  }
  return chars;
}
