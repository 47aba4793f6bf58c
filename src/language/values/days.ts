import { runAt } from '../entities/code-runs.ts';
import { Doc } from '../entities/doc.ts';
import { dayAt, smallAt, yearAt } from '../text/numbers.ts';
import { tokenize, type TextToken } from '../text/tokens.ts';

const months = 'january february march april may june july august september october november december'.split(' '); // prettier-ignore
const weekdays = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ');
const dayMs = 86_400_000;
/**
 * A day without a year means the past day if it was at most this many days ago. Otherwise the next day with this date
 * is meant.
 */
const recentDays = 60;

export function monthOf(word: string): number {
  const plain = word.replace(/\.$/, '');
  return plain.length < 3 ? 0 : months.findIndex((month) => month === plain || (plain.length <= 4 && month.startsWith(plain))) + 1; // prettier-ignore
}

/**
 * A calendar day such as 2026-03-04. `day` is the day of the call, which "tomorrow" and days without a year refer to.
 */
export function dateOf(text: string, day: string, side: 'past' | 'next'): string | undefined {
  const lower = text.toLowerCase();
  return relativeDay(lower, day) ?? writtenDay(lower, day, side) ?? spokenDay(lower, day, side);
}

function relativeDay(text: string, day: string): string | undefined {
  const today = Date.parse(day);
  const at = (days: number): string => new Date(today + days * dayMs).toISOString().slice(0, 10);
  if (/\bday after tomorrow\b/.test(text)) return at(2);
  if (/\bday before yesterday\b/.test(text)) return at(-2);
  if (/\btomorrow\b/.test(text)) return at(1);
  if (/\byesterday\b/.test(text)) return at(-1);
  if (/\b(?:today|tonight)\b/.test(text)) return at(0);
  const [, which = '', name = ''] =
    /^(?:on )?(next|this|last|coming)? ?(sunday|monday|tuesday|wednesday|thursday|friday|saturday)$/.exec(
      text.trim(),
    ) ?? [];
  const weekday = weekdays.indexOf(name);
  if (weekday < 0) return undefined;
  const now = new Date(today).getUTCDay();
  // Weeks begin on Monday. "Next Friday" is the Friday of the next week, "Friday" the first that comes.
  const inWeek = ((weekday + 6) % 7) - ((now + 6) % 7);
  if (which === 'next') return at(inWeek + 7);
  if (which === 'last') return at(inWeek < 0 ? inWeek : inWeek - 7);
  return at(inWeek < 0 ? inWeek + 7 : inWeek);
}

/** Reads 2026-03-04, 3/14/1986, 14.3.1986 or 14/03/86. With slashes the month comes first unless it cannot be one. */
function writtenDay(text: string, day: string, side: 'past' | 'next'): string | undefined {
  const iso = /\b(\d{4})-(\d{1,2})-(\d{1,2})\b/.exec(text);
  if (iso) return calendarDay(Number(iso[1]), Number(iso[2]), Number(iso[3]));
  const [, one = '', mark = '', two = '', year = ''] =
    /\b(\d{1,2})([/.-])(\d{1,2})(?:[/.-](\d{4}|\d{2}))?\b/.exec(text) ?? [];
  if (one === '' || /[a-z]{3}/.test(text.replace(/[ap]\.?m/, ''))) return undefined;
  const dayFirst = mark === '.' || Number(one) > 12;
  const [month, date] = dayFirst ? [Number(two), Number(one)] : [Number(one), Number(two)];
  return withYear(
    year === '' ? undefined : fullYear(Number(year), day, side),
    month,
    date,
    day,
    side,
  );
}

function fullYear(year: number, day: string, side: 'past' | 'next'): number {
  if (year >= 100) return year;
  const century = Math.floor(Number(day.slice(0, 4)) / 100) * 100;
  const full = century + year;
  return side === 'past' && full > Number(day.slice(0, 4)) ? full - 100 : full;
}

/** Reads "March third" or "the 21st of June 1986", also with a spoken year after it ("nineteen eighty six"). */
function spokenDay(text: string, day: string, side: 'past' | 'next'): string | undefined {
  const tokens = tokenize(text);
  const at = tokens.findIndex(({ lower }) => monthOf(lower) > 0);
  if (at < 0) return undefined;
  const month = monthOf(tokens[at]?.lower ?? '');
  const behind = dayAt(tokens, past(tokens, at + 1));
  const before = dayBefore(tokens, at);
  // In "june 1986" the number is the year.
  const isYear = behind !== undefined && !behind.named && yearAt(tokens, past(tokens, at + 1)) !== undefined && before !== undefined; // prettier-ignore
  const date = before ?? behind;
  if (date === undefined) return undefined;
  const rest = before === undefined || (behind !== undefined && !isYear && before === undefined) ? (behind?.next ?? at + 1) : at + 1; // prettier-ignore
  let yearFrom = past(tokens, rest);
  let year: number | undefined;
  for (; yearFrom < tokens.length && year === undefined; yearFrom++) {
    year = yearAt(tokens, yearFrom)?.value;
    const small = smallAt(tokens, yearFrom);
    if (
      year === undefined &&
      side === 'past' &&
      small !== undefined &&
      small.value >= 10 &&
      small.value < 100
    )
      year = fullYear(small.value, day, side);
  }
  return withYear(year, month, date.value, day, side);
}

/** Skips marks and small words inside a date. */
function past(tokens: readonly TextToken[], from: number): number {
  let at = from;
  while (/^(?:[,.]|the|of|um|uh|in)$/.test(tokens[at]?.lower ?? '')) at += 1;
  return at;
}

/** In "the third of March": the day that ends directly before the month. */
function dayBefore(tokens: readonly TextToken[], month: number) {
  for (let i = Math.max(0, month - 5); i < month; i++) {
    const day = dayAt(tokens, i);
    if (day !== undefined && past(tokens, day.next) === month) return day;
  }
  return undefined;
}

function withYear(
  year: number | undefined,
  month: number,
  date: number,
  day: string,
  side: 'past' | 'next',
): string | undefined {
  if (year !== undefined) return calendarDay(year, month, date);
  // A birthday without a year is any year's, as vCards write it.
  if (side === 'past') return calendarDay(leapYear, month, date) && `--${pad(month)}-${pad(date)}`;
  const thisYear = Number(day.slice(0, 4));
  const found = calendarDay(thisYear, month, date);
  const oldest = Date.parse(day) - recentDays * dayMs;
  return found !== undefined && Date.parse(found) < oldest
    ? calendarDay(thisYear + 1, month, date)
    : found;
}

function calendarDay(year: number, month: number, date: number): string | undefined {
  const text = `${String(year).padStart(4, '0')}-${pad(month)}-${pad(date)}`;
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) || new Date(parsed).getUTCDate() !== date ? undefined : text;
}

/** A year that has each day. */
const leapYear = 2000;

const pad = (value: number): string => String(value).padStart(2, '0');

/** The month on a card, such as 2029-04. */
export function expiryOf(text: string): string | undefined {
  const doc = new Doc(text.toLowerCase());
  const { tokens } = doc;
  const at = tokens.findIndex(({ lower }) => monthOf(lower) > 0);
  if (at >= 0) {
    const from = past(tokens, at + 1);
    const year = yearAt(tokens, from)?.value ?? smallAt(tokens, from)?.value;
    return year === undefined ? undefined : monthYear(monthOf(tokens[at]?.lower ?? ''), year);
  }
  let chars = '';
  for (let i = 0; i < tokens.length; i++) {
    const run = runAt(doc, i, false);
    if (!run) continue;
    chars += run.chars;
    i = Math.max(i, run.to - 1);
  }
  if (chars.length === 3 || chars.length === 5) chars = `0${chars}`;
  if (chars.length === 8) chars = chars.slice(0, 2) + chars.slice(4);
  if (chars.length !== 4 && chars.length !== 6) return undefined;
  return monthYear(Number(chars.slice(0, 2)), Number(chars.slice(2)));
}

function monthYear(month: number, year: number): string | undefined {
  if (month < 1 || month > 12) return undefined;
  return `${year < 100 ? 2_000 + year : year}-${pad(month)}`;
}

/** A time of day such as 15:30. If no word tells the half of the day, it stays as said: 3:30. */
export function timeOf(text: string): string | undefined {
  const lower = text.toLowerCase();
  if (/\bnoon\b|\bmidday\b/.test(lower)) return '12:00';
  if (/\bmidnight\b/.test(lower)) return '00:00';
  const tokens = tokenize(lower);
  const isAfternoon = /\bp\.? ?m\b|\bafternoon\b|\bevening\b|\bnight\b/.test(lower);
  const isMorning = /\ba\.? ?m\b|\bmorning\b/.test(lower);
  const relation = /\b(half|quarter|[a-z-]+(?: [a-z]+)?) (past|after|to|of|before) /.exec(lower);
  let hour: number | undefined;
  let minute = 0;
  if (relation) {
    const place = tokens.findIndex(({ lower: word }) => word === relation[2]);
    const [said] = [relation[1]];
    const amount = said === 'half' ? 30 : said?.endsWith('quarter') ? 15 : smallAt(tokens, Math.max(0, place - (tokens[place - 1]?.lower === 'minutes' ? 2 : 1)))?.value; // prettier-ignore
    const full = smallAt(tokens, place + 1)?.value;
    if (amount === undefined || full === undefined) return undefined;
    const isBefore = relation[2] === 'to' || relation[2] === 'of' || relation[2] === 'before';
    hour = isBefore ? full - 1 : full;
    minute = isBefore ? 60 - amount : amount;
  } else
    for (let i = 0; i < tokens.length && hour === undefined; i++) {
      const first = smallAt(tokens, i);
      if (!first || first.value > 24) continue;
      hour = first.value;
      const mark = tokens[first.next]?.lower ?? '';
      const next = /^[:.]$/.test(mark) ? first.next + 1 : first.next;
      const isZero = /^(?:oh|o|zero)$/.test(tokens[next]?.lower ?? '');
      minute = smallAt(tokens, isZero ? next + 1 : next)?.value ?? 0;
    }
  if (hour === undefined || hour < 0 || hour > 24 || minute > 59) return undefined;
  if (isAfternoon && hour < 12) hour += 12;
  if (isMorning && hour === 12) hour = 0;
  const isSure = isAfternoon || isMorning || hour > 12 || hour === 0;
  return `${isSure ? pad(hour) : String(hour)}:${pad(minute)}`;
}
