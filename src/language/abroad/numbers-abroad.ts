import { type LanguageAbroad, mostWords, numberTable, plain } from './number-words.ts';

/** A word, a group of figures, or both in one. */
export type TokenAbroad = { text: string; plain: string; start: number; end: number };

export function tokensOf(text: string): TokenAbroad[] {
  return Array.from(text.matchAll(/[\p{L}\p{M}\p{N}]+/gu), ({ 0: token, index }) => ({
    text: token,
    plain: plain(token),
    start: index,
    end: index + token.length,
  }));
}

/** A number in words, or one group of figures. `next` is the token behind it. */
export type NumberAbroad = { value: number; digits: string; next: number; isFigures: boolean };

/** Within one number in words stand spaces and hyphens. */
const within = /^[\s-]+$/u;

/** The number that begins at a token: "treinta y cuatro", "soixante-dix-huit", "vierunddreißig", "34". */
export function numberAt(
  text: string,
  tokens: readonly TokenAbroad[],
  at: number,
  language: LanguageAbroad,
): NumberAbroad | undefined {
  const token = tokens[at];
  if (token === undefined) return undefined;
  if (/^\d+$/.test(token.text))
    return { value: Number(token.text), digits: token.text, next: at + 1, isFigures: true };
  const small = smallAt(text, tokens, at, language);
  const { thousand } = numberTable(language);
  // "mil doscientos", "dos mil trescientos"
  const head = small ?? { value: 1, next: at };
  const mark = tokens[head.next];
  const isThousand = mark !== undefined && thousand.test(mark.plain) && head.value > 0 && isWithin(text, tokens, head.next, at); // prettier-ignore
  if (!isThousand) return small ?? compoundAt(token, at, language);
  // "mil e quinhentos"
  const isJoined = language === 'pt' && tokens[head.next + 1]?.plain === 'e' && isWithin(text, tokens, head.next + 1, at); // prettier-ignore
  const behind = head.next + (isJoined ? 2 : 1);
  const rest = isWithin(text, tokens, behind, at)
    ? smallAt(text, tokens, behind, language)
    : undefined;
  const value = head.value * 1000 + (rest?.value ?? 0);
  return { value, digits: String(value), next: rest?.next ?? head.next + 1, isFigures: false };
}

/** True if a token belongs to the number that began at `first`, by the marks before it. */
function isWithin(
  text: string,
  tokens: readonly TokenAbroad[],
  at: number,
  first: number,
): boolean {
  const [before, token] = [tokens[at - 1], tokens[at]];
  if (at === first) return true;
  return !!before && !!token && within.test(text.slice(before.end, token.start));
}

function smallAt(
  text: string,
  tokens: readonly TokenAbroad[],
  at: number,
  language: LanguageAbroad,
): NumberAbroad | undefined {
  const { byWords, same } = numberTable(language);
  let words = '';
  let found: NumberAbroad | undefined;
  for (let next = at; next < tokens.length && next < at + mostWords; next++) {
    const token = tokens[next];
    if (!token || !isWithin(text, tokens, next, at)) break;
    const word = Object.hasOwn(same, token.plain) ? (same[token.plain] ?? '') : token.plain;
    words = words === '' ? word : `${words} ${word}`;
    const value = byWords.get(words);
    if (value !== undefined)
      found = { value, digits: String(value), next: next + 1, isFigures: false };
  }
  return found;
}

/** German, Italian and Dutch write thousands as one word: "zwölfhundert", "milleduecento", "tweeduizend". */
function compoundAt(
  { plain: word }: TokenAbroad,
  at: number,
  language: LanguageAbroad,
): NumberAbroad | undefined {
  const parts = { de: /^(.*?)(tausend|hundert)(?:und)?(.*)$/, nl: /^(.*?)(duizend|honderd)(?:en)?(.*)$/, it: /^(.*?)(mila|mille)(.*)$/, es: undefined, fr: undefined, pt: undefined }[language]; // prettier-ignore
  const [, head = '', name = '', rest = ''] = (word.length < 60 && parts?.exec(word)) || [];
  if (name === '') return undefined;
  const { byWords } = numberTable(language);
  const low = (part: string, empty: number) => (part === '' ? empty : byWords.get(part));
  const [many, more] = [head === 'ein' ? 1 : low(head, 1), low(rest, 0)];
  if (many === undefined || more === undefined) return undefined;
  const value = many * (/^(?:hundert|honderd)$/.test(name) ? 100 : 1000) + more;
  return { value, digits: String(value), next: at + 1, isFigures: false };
}
