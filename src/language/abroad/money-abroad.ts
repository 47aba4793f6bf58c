import type { ValuedSpan } from '../types.ts';
import type { LanguageAbroad } from './number-words.ts';
import { numberAt, type TokenAbroad } from './numbers-abroad.ts';

/** Names of currencies, without accents, in all of these languages. */
const currencies: readonly (readonly [RegExp, string])[] = [
  [/^(?:euros?|eur)$/, 'EUR'],
  [/^(?:dolar(?:es)?|dollars?|dollari|dollaro)$/, 'USD'],
  [/^(?:libras?|livres?|pfund|sterline|sterlina|pond)$/, 'GBP'],
  [/^(?:francos?|francs?|franken|franchi|franco|frank)$/, 'CHF'],
  [/^(?:pesos?)$/, 'MXN'],
  [/^(?:real|reais)$/, 'BRL'],
];

const signs: Readonly<Record<string, string>> = { '€': 'EUR', $: 'USD', '£': 'GBP' };
const cents = /^(?:centimos?|centavos?|centimes?|cents?|centesimi|centesimo|rappen)$/;
/** Between the whole amount and its cents: "cuarenta y cinco euros con treinta". */
const joins = /^(?:y|con|et|und|e|en)$/;

/** Amounts with the name or the sign of their currency. "120" alone is no amount. */
export function moneyAbroad(
  text: string,
  tokens: readonly TokenAbroad[],
  language: LanguageAbroad,
): ValuedSpan[] {
  const found: ValuedSpan[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const amount = amountAt(text, tokens, at, language);
    if (!amount) continue;
    const entity = withCurrency(text, tokens, { ...amount, at }, language);
    if (!entity) {
      at = amount.next - 1;
      continue;
    }
    found.push(entity.entity);
    at = entity.next - 1;
  }
  return found;
}

type Amount = { value: number; next: number };

/** "1.200,50" and "1 200,50" in figures, or a number in words. */
function amountAt(
  text: string,
  tokens: readonly TokenAbroad[],
  at: number,
  language: LanguageAbroad,
): Amount | undefined {
  const first = tokens[at];
  if (!first) return undefined;
  const number = numberAt(text, tokens, at, language);
  if (!number?.isFigures) return number;
  const figures = /^\d{1,3}(?:[.\s]\d{3}(?!\d))*(?:[.,]\d{2}(?!\d))?|^\d+(?:[.,]\d{2}(?!\d))?/.exec(text.slice(first.start))?.[0] ?? ''; // prettier-ignore
  const end = first.start + Math.max(figures.length, first.text.length);
  const next = tokens.findIndex((token) => token.start >= end);
  const whole = figures.length > first.text.length ? figures : first.text;
  const decimals = /[.,](\d{2})$/.exec(whole)?.[1] ?? '';
  const digits = (decimals === '' ? whole : whole.slice(0, -3)).replace(/\D/g, '');
  return { value: Number(`${digits}.${decimals || '0'}`), next: next < 0 ? tokens.length : next };
}

function withCurrency(
  text: string,
  tokens: readonly TokenAbroad[],
  { value, next, at }: Amount & { at: number },
  language: LanguageAbroad,
): { entity: ValuedSpan; next: number } | undefined {
  const from = tokens[at]?.start ?? 0;
  const last = tokens[next - 1]?.end ?? from;
  const before = signs[/([€$£])\s?$/.exec(text.slice(0, from))?.[1] ?? ''];
  const after = /^\s?([€$£])/.exec(text.slice(last));
  const of = (start: number, end: number, sum: number, currency: string, to: number) => ({
    entity: {
      type: 'MONEY',
      text: text.slice(start, end),
      start,
      end,
      value: sum.toFixed(2),
      currency,
    },
    next: to,
  });
  if (after) return of(from, last + after[0].length, value, signs[after[1] ?? ''] ?? '', next);
  if (before !== undefined)
    return of(from - 1 - (text[from - 1] === ' ' ? 1 : 0), last, value, before, next);
  // "mil euros", "un millón de euros"
  const named = /^(?:de|d)$/.test(tokens[next]?.plain ?? '') ? next + 1 : next;
  const currency = currencies.find(([name]) => name.test(tokens[named]?.plain ?? ''))?.[1];
  if (currency === undefined || !/^[\s]*$/.test(text.slice(last, tokens[next]?.start)))
    return undefined;
  const end = tokens[named]?.end ?? last;
  const joined = joins.test(tokens[named + 1]?.plain ?? '') ? named + 2 : named + 1;
  const rest = numberAt(text, tokens, joined, language);
  const isCents = rest !== undefined && rest.value < 100 && (cents.test(tokens[rest.next]?.plain ?? '') || (joined === named + 2 && rest.value >= 10 && isEnd(text, tokens[rest.next - 1]?.end ?? 0)) || (joined === named + 1 && rest.value >= 10 && /^\s+$/.test(text.slice(end, tokens[joined]?.start)))); // prettier-ignore
  if (!isCents) return of(from, end, value, currency, named + 1);
  const to = cents.test(tokens[rest.next]?.plain ?? '') ? rest.next + 1 : rest.next;
  return of(from, tokens[to - 1]?.end ?? end, value + rest.value / 100, currency, to);
}

function isEnd(text: string, at: number): boolean {
  return /^\s*(?:[.,;:!?]|$)/.test(text.slice(at));
}
