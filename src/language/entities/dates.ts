import { dayAt, yearAt, type Ordinal } from '../text/numbers.ts';
import type { Doc } from './doc.ts';

const months = new Set(
  'january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec'.split(
    ' ',
  ),
);
const weekdays = new Set(
  'monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun'.split(
    ' ',
  ),
);

export function isMonthName(word: string): boolean {
  return months.has(word);
}

type Day = { from: number; to: number; hasMonth: boolean };

/** Finds calendar days in figures. This runs early, before another finder takes the digits for a code. */
export function findNumericDates(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const to = numericDate(doc, i);
    if (to > 0) claimDay(doc, i, to);
  }
}

function numericDate(doc: Doc, i: number): number {
  const parts: string[] = [];
  let mark: string | undefined;
  let at = i;
  if (/^[/.-]$/.test(doc.word(i - 1)) && !(doc.tokens[i]?.spaced ?? true)) return 0;
  while (parts.length < 3) {
    const token = doc.tokens[at];
    if (token?.kind !== 'number' || (parts.length > 0 && token.spaced)) return 0;
    parts.push(token.text);
    if (parts.length === 3) break;
    const next = doc.tokens[at + 1];
    if (!next || next.spaced || !/^[/.-]$/.test(next.text) || (mark ?? next.text) !== next.text)
      return 0;
    mark = next.text;
    at += 2;
  }
  const [a = '', b = '', c = ''] = parts;
  const isYearFirst =
    a.length === 4 && Number(b) <= 12 && Number(c) <= 31 && b.length <= 2 && c.length <= 2;
  const isYearLast =
    a.length <= 2 &&
    b.length <= 2 &&
    (c.length === 4 || (c.length === 2 && mark !== '-')) &&
    Number(a) >= 1 &&
    Number(b) >= 1 &&
    Math.min(Number(a), Number(b)) <= 12 &&
    Math.max(Number(a), Number(b)) <= 31;
  const follows = doc.tokens[at + 1];
  if (follows && !follows.spaced && (follows.text === '/' || follows.text === '-')) return 0;
  return isYearFirst || isYearLast ? at + 1 : 0;
}

/** Finds days with a month, spans of days, and bare ordinals where the sentence expects a day. */
export function findDates(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const day = datedDay(doc, i) ?? bareDay(doc, i);
    if (!day) continue;
    const end = interval(doc, day);
    if (end > 0) doc.claim('DATE_INTERVAL', day.from, end);
    else if (day.hasMonth || isDayPlace(doc, day)) claimDay(doc, day.from, day.to);
    i = Math.max(i, (end || day.to) - 1);
  }
}

function claimDay(doc: Doc, from: number, to: number): void {
  doc.claim(isBirth(doc, from, to) ? 'DOB' : 'DATE', from, to);
}

function isMonth(doc: Doc, i: number): boolean {
  const word = doc.word(i);
  if (!months.has(word)) return false;
  // "may" after a person and "march" as a verb are no months: a month needs a day beside it, which the caller checks,
  // and no pronoun before it.
  return !(
    /^(?:may|march|mar|jan|sun)$/.test(word) &&
    /^(?:i|you|we|he|she|it|they|this|that|who|there|which|what|to)$/.test(doc.word(i - 1))
  );
}

/** Matches a weekday, "the" and a day in any order around a month, with a year behind. */
function datedDay(doc: Doc, i: number): Day | undefined {
  let at = i;
  if (weekdays.has(doc.word(at)) && doc.word(at) !== 'sun' && doc.word(at) !== 'sat') {
    at += 1;
    if (doc.word(at) === '.') at += 1;
    if (doc.word(at) === ',') at += 1;
  }
  const found = dayThenMonth(doc, at) ?? monthThenDay(doc, at);
  return found ? { from: i, to: withYear(doc, found), hasMonth: true } : undefined;
}

function dayThenMonth(doc: Doc, i: number): number | undefined {
  const start = doc.word(i) === 'the' ? i + 1 : i;
  const day = dayAt(doc.tokens, start);
  if (!day || doc.isTaken(start)) return undefined;
  let at = day.next;
  if (doc.word(at) === 'day') at += 1;
  const hasOf = doc.word(at) === 'of';
  if (hasOf) at += 1;
  if (!isMonth(doc, at)) return undefined;
  // "5 may" in running text could be a count. An "of", an ordinal or a capitalised month shows that a day is meant.
  if (
    !hasOf &&
    !day.named &&
    (doc.word(at) === 'may' || doc.word(at) === 'march') &&
    !doc.isNameCased(at)
  )
    return undefined;
  return at + 1;
}

function monthThenDay(doc: Doc, i: number): number | undefined {
  if (!isMonth(doc, i)) return undefined;
  let at = i + 1;
  if (doc.word(at) === '.' && doc.word(i).length <= 4) at += 1;
  if (doc.word(at) === ',') at += 1;
  if (doc.word(at) === 'the') at += 1;
  if (doc.isTaken(at) || yearAt(doc.tokens, at)) {
    // "march twenty twenty four" is a month and a year. "march twenty fifth" has been matched before.
    const day = dayAt(doc.tokens, at);
    if (!day?.named) return undefined;
  }
  const day = dayAt(doc.tokens, at);
  if (!day || isCount(doc, day)) return undefined;
  return day.next;
}

function isCount(doc: Doc, day: Ordinal): boolean {
  if (day.named) return false;
  return /^(?:hundred|thousand|percent|%|dollars|pounds|euros|of|times|minutes|days|weeks|months|years|:|people)$/.test(
    doc.word(day.next),
  );
}

function withYear(doc: Doc, end: number): number {
  let at = end;
  if (doc.word(at) === ',') at += 1;
  if (doc.word(at) === 'in' || doc.word(at) === 'of') at += 1;
  const year = yearAt(doc.tokens, at);
  if (!year || doc.isTaken(at)) return end;
  // A number that cannot be a year is not taken: "june third nineteen people".
  return year.next;
}

/** Matches an ordinal without a month: "the 28th", "friday the twentieth". */
function bareDay(doc: Doc, i: number): Day | undefined {
  let at = i;
  const hasWeekday = weekdays.has(doc.word(at));
  if (hasWeekday) at += doc.word(at + 1) === ',' ? 2 : 1;
  const hasThe = doc.word(at) === 'the';
  if (hasThe) at += 1;
  else if (!hasWeekday && !/^(?:\d+)$/.test(doc.word(at))) return undefined;
  const day = dayAt(doc.tokens, at);
  if (!day?.named || doc.isTaken(at)) return undefined;
  if (
    !hasThe &&
    !hasWeekday &&
    !/^(?:on|by|until|till|from|to|before|after|since|and)$/.test(doc.word(i - 1))
  )
    return undefined;
  return { from: i, to: day.next, hasMonth: false };
}

/** A bare ordinal is a day where the sentence expects one and no noun follows that it could count. */
function isDayPlace(doc: Doc, day: Day): boolean {
  const next = doc.tokens[day.to];
  const closes =
    !next ||
    (next.kind === 'mark' && next.text !== '-') ||
    /^(?:at|between|around|in|by|for|to|from|through|and|or|if|because|works|is|was|so|please|instead|then|but|would|i|we|he|she|they|you|not|with|it|after|before|until|when|that|which|already|anymore|though|thanks|okay|ok|sometime|about)$/.test(
      next.lower,
    );
  if (!closes) return false;
  if (weekdays.has(doc.word(day.from))) return true;
  const before = doc.word(day.from - 1);
  const lead =
    /^(?:on|by|until|till|from|to|before|after|since|for|is|due|was|say|do|not|around|about|it's|that's|of|between|through|and|or|than)$/.test(
      before,
    );
  const value =
    dayAt(doc.tokens, doc.word(day.from) === 'the' ? day.from + 1 : day.from)?.value ?? 0;
  const isFigure = doc.tokens[day.to - 2]?.kind === 'number';
  // "the first", "the second" and "the third" rarely mean days.
  if (value <= 4 && !isFigure)
    return (
      /^(?:on|by|until|till|since|before)$/.test(before) &&
      closes &&
      next?.lower !== 'of' &&
      !/^(?:and|so|is|was|i|he|she|they|you|it|that|but)$/.test(next?.lower ?? '')
    );
  return lead || day.from === 0 || doc.tokens[day.from - 1]?.kind === 'mark';
}

/** The end of a span of days, or 0: "from March 3 to 10", "the third to the nineteenth of july". */
function interval(doc: Doc, first: Day): number {
  const link = doc.word(first.to);
  const isLink = /^(?:to|through|until|till|thru|-|–)$/.test(link);
  const isBetween = link === 'and' && doc.word(first.from - 1) === 'between';
  if (!isLink && !isBetween) return 0;
  const at = first.to + 1;
  const second = datedDay(doc, at) ?? bareDay(doc, at);
  if (
    second &&
    (first.hasMonth || second.hasMonth || /^(?:from|between)$/.test(doc.word(first.from - 1)))
  )
    return second.to;
  if (!first.hasMonth) return 0;
  const day = dayAt(doc.tokens, doc.word(at) === 'the' ? at + 1 : at);
  if (!day || doc.isTaken(at) || /^(?:am|pm|a|p|o'clock|:|percent)$/.test(doc.word(day.next)))
    return 0;
  return withYear(doc, day.next);
}

function isBirth(doc: Doc, from: number, to: number): boolean {
  for (let i = from - 1; i >= Math.max(0, from - 12); i--) {
    const word = doc.word(i);
    if (/^(?:born|dob|birthdate|birthday)$/.test(word)) return true;
    if (/^(?:birth)$/.test(word)) return true;
    if (/[.?!]/.test(word) && i < from - 3) return false;
  }
  const behind = `${doc.word(to)} ${doc.word(to + 1)} ${doc.word(to + 2)} ${doc.word(to + 3)} ${doc.word(to + 4)}`;
  return /\b(?:is|was|that's) .*\b(?:birthday|birth)\b/.test(behind);
}
