import type { ValuedSpan } from '../types.ts';
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
const relative: Record<LanguageAbroad, Readonly<Record<string, number>>> = {
  es: { hoy: 0, ayer: -1 },
  fr: { hier: -1, demain: 1 },
  de: { heute: 0, gestern: -1, ubermorgen: 2 },
  it: { oggi: 0, ieri: -1, domani: 1, dopodomani: 2 },
  pt: { hoje: 0, ontem: -1 },
  nl: { vandaag: 0, gisteren: -1, overmorgen: 2 },
};
const dayMs = 86_400_000;
/** A day without a year means the past one if it was at most this many days ago. */
const recentDays = 60;

type AboutDay = { language: LanguageAbroad; day?: string | undefined };

/** Days with the name of a month ("el 14 de marzo", "le 1er mai 2024", "14. März"), and a few that are counted from today. */
export function datesAbroad(
  text: string,
  tokens: readonly TokenAbroad[],
  { language, day }: AboutDay,
): ValuedSpan[] {
  const names = months[language].split(' ');
  const found = numericDates(text);
  for (const [at, token] of tokens.entries()) {
    const days = relative[language][token.plain];
    if (days !== undefined && Object.hasOwn(relative[language], token.plain))
      found.push(entityOf(text, token.start, token.end, day && dayAfter(day, days)));
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

function dayAfter(day: string, days: number): string | undefined {
  const at = Date.parse(day);
  return Number.isNaN(at) ? undefined : new Date(at + days * dayMs).toISOString().slice(0, 10);
}

function entityOf(
  text: string,
  start: number,
  end: number,
  value: string | undefined,
  type = 'DATE',
): ValuedSpan {
  // prettier-ignore
  return { type, text: text.slice(start, end), start, end, ...(value ? { value } : {}) };
}

type ClockWords = { before: RegExp; oclock: RegExp; half: RegExp; quarter: RegExp; minus: RegExp };

const clocks: Partial<Record<LanguageAbroad, ClockWords>> = {
  es: { before: /^(?:las|la)$/, oclock: /^(?:horas?|h)$/, half: /^media$/, quarter: /^cuarto$/, minus: /^menos$/ },
  fr: { before: /^(?:a|vers|est)$/, oclock: /^(?:heures?|h)$/, half: /^demie?$/, quarter: /^quart$/, minus: /^moins$/ },
  it: { before: /^(?:alle|le|all|ore)$/, oclock: /^ore$/, half: /^(?:mezza|mezzo)$/, quarter: /^quarto$/, minus: /^meno$/ },
  pt: { before: /^(?:as|sao|a)$/, oclock: /^(?:horas?|h)$/, half: /^meia$/, quarter: /^quarto$/, minus: /^menos$/ },
}; // prettier-ignore

/** Times of day: "15:30", "a las tres y media", "à dix heures et quart", "um halb vier", "10 Uhr 30". */
export function timesAbroad(
  text: string,
  tokens: readonly TokenAbroad[],
  language: LanguageAbroad,
): ValuedSpan[] {
  const found: ValuedSpan[] = [];
  for (const { 0: all, 1: hour = '', 2: minute = '', index } of text.matchAll(
    /(?<![\d:.,])([01]?\d|2[0-3])(?::|\s?h\s?)([0-5]\d)(?![\d:])/g,
  ))
    found.push(timeOf(text, index, index + all.length, Number(hour), Number(minute)));
  for (let at = 0; at < tokens.length; at++) {
    const time = language === 'de' || language === 'nl' ? germanicAt(text, tokens, at, language) : romanceAt(text, tokens, at, language); // prettier-ignore
    if (!time) continue;
    const [start, end] = [tokens[at]?.start ?? 0, tokens[time.next - 1]?.end ?? 0];
    found.push(timeOf(text, start, end, time.hour, time.minute));
    at = time.next - 1;
  }
  return found;
}

type ClockTime = { hour: number; minute: number; next: number };

function romanceAt(
  text: string,
  tokens: readonly TokenAbroad[],
  at: number,
  language: LanguageAbroad,
): ClockTime | undefined {
  const words = clocks[language];
  const hour = numberAt(text, tokens, at, language);
  if (!words || !hour || hour.value > 24) return undefined;
  let next = hour.next;
  const isNamed = words.oclock.test(tokens[next]?.plain ?? '');
  if (isNamed) next++;
  // "son las dos" is a time, "las dos cosas" is none: without more words only "horas" proves it.
  const isAfterWord = words.before.test(tokens[at - 1]?.plain ?? '');
  if (!isNamed && (!isAfterWord || language === 'fr')) return undefined;
  const joined = /^(?:y|et|e)$/.test(tokens[next]?.plain ?? '') ? next + 1 : next;
  const isMinus = words.minus.test(tokens[next]?.plain ?? '');
  const from = isMinus ? next + 1 : joined;
  const from2 = /^(?:un|le|um)$/.test(tokens[from]?.plain ?? '') ? from + 1 : from;
  const word = tokens[from2]?.plain ?? '';
  const isQuarter = words.quarter.test(word);
  const minutes = words.half.test(word) ? 30 : isQuarter ? 15 : undefined;
  if (minutes !== undefined && (isMinus || joined > next || isNamed))
    return clockOf(hour.value, isMinus ? -minutes : minutes, from2 + 1);
  const spoken = numberAt(text, tokens, from, language);
  if (spoken && spoken.value < 60 && (isMinus || joined > next || isNamed))
    return clockOf(hour.value, isMinus ? -spoken.value : spoken.value, spoken.next);
  return isNamed ? clockOf(hour.value, 0, next) : undefined;
}

function germanicAt(
  text: string,
  tokens: readonly TokenAbroad[],
  at: number,
  language: LanguageAbroad,
): ClockTime | undefined {
  const first = tokens[at]?.plain ?? '';
  const isGerman = language === 'de';
  const behind = (from: number) => numberAt(text, tokens, from, language);
  if (/^half$|^halb$/.test(first)) {
    const hour = behind(at + 1);
    return hour && hour.value >= 1 && hour.value <= 12
      ? clockOf(hour.value, -30, hour.next)
      : undefined;
  }
  if (/^viertel$|^kwart$/.test(first)) {
    const isPast = /^(?:nach|over)$/.test(tokens[at + 1]?.plain ?? '');
    const isBefore = /^(?:vor|voor)$/.test(tokens[at + 1]?.plain ?? '');
    const hour = isPast || isBefore ? behind(at + 2) : undefined;
    return hour && hour.value <= 24 ? clockOf(hour.value, isPast ? 15 : -15, hour.next) : undefined;
  }
  const hour = behind(at);
  const oclock = isGerman ? /^uhr$/ : /^(?:uur)$/;
  if (!hour || hour.value > 24 || !oclock.test(tokens[hour.next]?.plain ?? '')) return undefined;
  const minute = behind(hour.next + 1);
  const isMinute = minute !== undefined && minute.value < 60 && /^\s+$/.test(text.slice(tokens[hour.next]?.end, tokens[hour.next + 1]?.start)); // prettier-ignore
  return isMinute
    ? clockOf(hour.value, minute.value, minute.next)
    : clockOf(hour.value, 0, hour.next + 1);
}

function clockOf(hour: number, minute: number, next: number): ClockTime {
  const all = (((hour * 60 + minute) % 1440) + 1440) % 1440;
  return { hour: Math.floor(all / 60), minute: all % 60, next };
}

/** "de la tarde", "du soir", "nachmittags", "di sera", "da noite", "'s avonds". */
const late =
  /^\s*(?:de la (?:tarde|noche)|de l.apr[eè]s-midi|du soir|nachmittags|abends|del pomeriggio|di sera|da (?:tarde|noite)|.?s (?:middags|avonds))(?!\p{L})/iu;

function timeOf(
  text: string,
  start: number,
  end: number,
  hour: number,
  minute: number,
): ValuedSpan {
  const isLate = hour < 12 && late.test(text.slice(end));
  const value = `${String(isLate ? hour + 12 : hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
  return entityOf(text, start, end, value, 'TIME');
}
