import type { ValuedSpan } from '../types.ts';
import { type AboutDay, dayMs, entityOf, namedDays } from './named-days.ts';
import type { LanguageAbroad } from './number-words.ts';
import { numberAt, type TokenAbroad } from './numbers-abroad.ts';

const months: Record<LanguageAbroad, string> = {
  es: 'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre',
  fr: 'janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre',
  de: 'januar februar marz april mai juni juli august september oktober november dezember',
  it: 'gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre',
  pt: 'janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro',
  nl: 'januari februari maart april mei juni juli augustus september oktober november december',
};

/** Ordinals of the first day, and German days as they are said: "dritten März". */
const firsts = /^(?:primero|premier|1er|erste[rn]?|primo|primeiro|eerste)$/;
/** A day without a year means the past one if it was at most this many days ago. */
const recentDays = 60;

/** Days with the name of a month ("el 14 de marzo", "le 1er mai 2024", "14. März"), and a few that are counted from today. */
export function datesAbroad(
  text: string,
  tokens: readonly TokenAbroad[],
  { language, day }: AboutDay,
): ValuedSpan[] {
  const names = months[language].split(' ');
  const found = [...numericDates(text), ...namedDays(text, tokens, { language, day })];
  for (const [at, token] of tokens.entries()) {
    const month = names.indexOf(token.plain) + 1;
    if (month === 0) continue;
    const of = /^(?:de|do)$/.test(tokens[at - 1]?.plain ?? '') ? at - 1 : at;
    const date = dateEnding(text, tokens, of, language);
    if (!date) continue;
    const year = yearAt(text, tokens, at + 1, language);
    const end = tokens[(year?.next ?? at + 1) - 1]?.end ?? token.end;
    const value = calendarDay(year?.value, month, date.value, day);
    found.push(entityOf(text, tokens[date.from]?.start ?? 0, end, value));
  }
  return found;
}

/** "12/05/2024" and "2024-05-12". The day comes before the month. */
function numericDates(text: string): ValuedSpan[] {
  const found: ValuedSpan[] = [];
  for (const { 0: all, 1: first = '', 2: second = '', 3: third = '', index } of text.matchAll(
    numeric,
  )) {
    const [date, month, year] =
      first.length === 4 ? [third, second, first] : [first, second, third];
    const full = Number(year) + (year.length === 2 ? (Number(year) < 70 ? 2000 : 1900) : 0);
    const value = isoDay(full, Number(month), Number(date));
    if (value !== undefined) found.push(entityOf(text, index, index + all.length, value));
  }
  return found;
}

const numeric =
  /(?<![\p{N}.,/-])(\d{1,2}|(?:19|20)\d\d)[./-](\d{1,2})[./-](\d{1,2}|\d{4})(?![\p{N}/-]|[.,]\p{N})/gu;

/** The day of the month whose words end before a token. */
function dateEnding(
  text: string,
  tokens: readonly TokenAbroad[],
  end: number,
  language: LanguageAbroad,
): { from: number; value: number } | undefined {
  if (firsts.test(tokens[end - 1]?.plain ?? '')) return { from: end - 1, value: 1 };
  for (let from = Math.max(0, end - 3); from < end; from++) {
    const number = numberAt(text, tokens, from, language);
    if (number?.next === end && number.value >= 1 && number.value <= 31)
      return { from, value: number.value };
  }
  // "am vierzehnten März": an ordinal has an ending of its own.
  const ordinal = tokens[end - 1];
  const stem = language === 'de' ? /^(.+?)(?:s?te[nrs]?)$/.exec(ordinal?.plain ?? '')?.[1] : undefined; // prettier-ignore
  if (!ordinal || stem === undefined) return undefined;
  const word = { drit: 'drei', siebt: 'sieben', sieb: 'sieben', ach: 'acht', dri: 'drei' }[stem] ?? stem; // prettier-ignore
  const number = numberAt(word, [{ ...ordinal, text: word, plain: word, start: 0, end: word.length }], 0, language); // prettier-ignore
  return number && number.value >= 1 && number.value <= 31
    ? { from: end - 1, value: number.value }
    : undefined;
}

function yearAt(
  text: string,
  tokens: readonly TokenAbroad[],
  at: number,
  language: LanguageAbroad,
): { value: number; next: number } | undefined {
  const from = /^(?:de|del|do)$/.test(tokens[at]?.plain ?? '') ? at + 1 : at;
  const number = numberAt(text, tokens, from, language);
  return number && number.value >= 1900 && number.value < 2100 ? number : undefined;
}

function calendarDay(
  year: number | undefined,
  month: number,
  date: number,
  day: string | undefined,
): string | undefined {
  if (year !== undefined) return isoDay(year, month, date);
  if (day === undefined || day === '') return undefined;
  const now = Date.parse(day);
  const own = isoDay(new Date(now).getUTCFullYear(), month, date);
  if (own === undefined) return undefined;
  const isPast = Date.parse(own) < now - recentDays * dayMs;
  return isPast ? isoDay(new Date(now).getUTCFullYear() + 1, month, date) : own;
}

/** Undefined for the 31st of April. */
function isoDay(year: number, month: number, date: number): string | undefined {
  const at = new Date(Date.UTC(year, month - 1, date));
  return at.getUTCMonth() === month - 1 ? at.toISOString().slice(0, 10) : undefined;
}
