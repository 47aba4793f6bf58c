import { findEntities } from '../entities/find-entities.ts';
import { dayAt, smallAt } from '../text/numbers.ts';
import { tokenize } from '../text/tokens.ts';
import { dateOf } from '../values/days.ts';

const dayMs = 86_400_000;
/** A time until which something is to be done, and the words that tell it. */
export type DueDay = { until: string; text: string; start: number };

const number =
  '(?:\\d{1,3}|(?!working|business|calendar|last\\b|past\\b|previous|every)[a-z]+(?:[ -](?!working|business|calendar)[a-z]+)?)';
const lasting = new RegExp(
  `\\b(?:(?:with)?in(?: the next)?|it takes|takes|take|after|for up to|up to)?\\s*(?:about |around |at most |up to |between )?(?<!\\b(?:last|past|previous|every) )(?:${number} (?:to|or|and|-) )?(${number}) (working |business )?(minutes?|hours?|days?|weeks?|months?)\\b`,
  'i',
);
const ofToday = /\b(?:today|tonight|this (?:morning|afternoon|evening)|right (?:now|away)|straight away|in a (?:minute|moment)|(?<!\b(?:right|just|by|for) )now$|before lunch|end of the day)\b/i; // prettier-ignore
const weekend = /\b(?:by |over |at |before |on )?(?:this|the) weekend\b/i;
const fewMinutes = /\bin (?:a few|a couple of|some) (?:minutes|moments|hours)\b/i;
const endOfNextWeek = /\b(?:by |before |at )?(?:the )?end of next week\b/i;
const endOfWeek = /\b(?:by |before |at )?(?:the )?end of (?:the|this) week\b/i;
const endOfMonth = /\b(?:by |before |at )?(?:the )?end of (?:the|this) month\b/i;
const ofMonth = /\b(?:on |by |until |from )?the ((?:twenty|thirty)?[- ]?[a-z]+(?:st|nd|rd|th)|\d{1,2}(?:st|nd|rd|th))\b(?! of\b| (?:one|time|floor|item|payment|charge))/i; // prettier-ignore
const namedDay =
  /\b(?:(?:next|this|coming) )?(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:the )?day after tomorrow\b|\btomorrow\b/i;
/** The word before a day that belongs to it. */
const before = /(?:\b(?:by|on|until|till|before|from|for|of|not later than|no later than),? )+$/i;
const after =
  /^(?: (?:morning|afternoon|evening|night|lunchtime|dinner time|at the latest|before lunch|before noon|at noon)\b)+/i;

/** The last day that the words allow, or undefined where they name none. `day` is the day of the call. */
export function deadlineOf(text: string, day: string | undefined): DueDay | undefined {
  if (day === undefined) return undefined;
  const found = [
    ...findEntities(text)
      .filter(({ type }) => type === 'DATE')
      .map(({ text: said, start }) => ({ said, start, until: dateOf(said, day, 'next') })),
    ...matched(text, namedDay, (said) => dateOf(said.replace(/^the /i, ''), day, 'next')),
    ...matched(text, ofMonth, (_, which) => dayOfMonth(which, day)),
    ...matched(text, endOfNextWeek, () => plus(nextWeekday(day), 7)),
    ...matched(text, weekend, () => plus(day, (7 - new Date(day).getUTCDay()) % 7)),
    ...matched(text, fewMinutes, () => day),
    ...matched(text, endOfWeek, () => nextWeekday(day)),
    ...matched(text, endOfMonth, () => lastOfMonth(day)),
    ...matched(text, lasting, (_, many, working, unit) => later(day, many, working, unit)),
    ...matched(text, ofToday, () => day),
  ];
  const first = found.find(({ until }) => until !== undefined && until >= day);
  if (first?.until === undefined) return undefined;
  const lead = before.exec(text.slice(0, first.start))?.[0] ?? '';
  const rest = after.exec(text.slice(first.start + first.said.length))?.[0] ?? '';
  const start = first.start - lead.length;
  return { until: first.until, text: `${lead}${first.said}${rest}`, start };
}

function matched(
  text: string,
  pattern: RegExp,
  dayFrom: (said: string, ...groups: string[]) => string | undefined,
): { said: string; start: number; until: string | undefined }[] {
  const match = pattern.exec(text);
  if (match === null) return [];
  const [said, ...groups] = match;
  const skipped = said.length - said.trimStart().length;
  return [{ said: said.trim(), start: match.index + skipped, until: dayFrom(said.trim(), ...groups) }]; // prettier-ignore
}

/** The end of a time that lasts so long. Working days leave out Saturdays and Sundays. */
function later(
  day: string,
  many = '',
  working: string | undefined = '',
  unit = '',
): string | undefined {
  const tokens = tokenize(many.toLowerCase().replace('-', ' '));
  const last = tokens.at(-1);
  const figure = /^\d+$/.test(many) ? Number(many) : undefined;
  const whole = smallAt(tokens, 0);
  const amount =
    figure ??
    (whole !== undefined && whole.next === tokens.length
      ? whole.value
      : last === undefined
        ? undefined
        : smallAt(tokens, tokens.length - 1)?.value);
  if (amount === undefined || amount > 366) return undefined;
  if (/^minute/i.test(unit)) return day;
  // Nobody knows the hour of the call here: a few hours end on its day, a day's hours on the next one.
  if (/^hour/i.test(unit)) return plus(day, Math.round(amount / 24));
  if (/^week/i.test(unit)) return plus(day, amount * 7);
  if (/^month/i.test(unit)) return monthsLater(day, amount);
  if ((working ?? '') === '') return plus(day, amount);
  let at = day;
  for (let left = amount; left > 0;) {
    at = plus(at, 1);
    if (![0, 6].includes(new Date(at).getUTCDay())) left -= 1;
  }
  return at;
}

function plus(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10);
}

function monthsLater(day: string, months: number): string {
  const date = new Date(day);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 10);
}

/** The Friday of the call's week, or of the next one where the call is at a weekend. */
function nextWeekday(day: string): string {
  const now = new Date(day).getUTCDay();
  return plus(day, (5 - now + 7) % 7);
}

function lastOfMonth(day: string): string {
  const date = new Date(day);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0))
    .toISOString()
    .slice(0, 10);
}

/** "the thirtieth": the next day with this number. */
function dayOfMonth(which = '', day: string): string | undefined {
  const said = dayAt(tokenize(which), 0);
  if (said?.named !== true) return undefined;
  const { value } = said;
  const date = new Date(day);
  for (let ahead = 0; ahead < 3; ahead++) {
    const at = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead, value));
    const text = at.toISOString().slice(0, 10);
    if (at.getUTCDate() === value && text >= day) return text;
  }
  return undefined;
}
