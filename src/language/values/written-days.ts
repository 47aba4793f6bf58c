import { dayAt, smallAt, yearAt } from '../text/numbers.ts';
import { tokenize, type TextToken } from '../text/tokens.ts';
import { monthOf } from './days.ts';

const weekday = /^(?:mon|tues|wednes|thurs|fri|satur|sun)day$/;
const ordinalEnd = /^(?:st|nd|rd|th)$/;
/** Words between the parts of a date. Any other number word in a date leaves it as it was said. */
const between =
  /^(?:the|of|on|in|and|to|from|until|till|through|between|next|this|last|coming|day|before|after|tomorrow|yesterday|today|tonight|[,.-])$/;

/** "March 3rd, 1986" of "march third nineteen eighty six". Undefined if a word of the date is not understood. */
export function writtenDay(text: string): string | undefined {
  const tokens = tokenize(text);
  const parts: string[] = [];
  let isAfterDay = false;
  let at = 0;
  while (at < tokens.length) {
    const token = tokens[at] as TextToken;
    const part = dayPartAt(tokens, at, isAfterDay);
    if (part === undefined) return undefined;
    const glue = at === 0 || !token.spaced ? '' : ' ';
    // Between a day and a year in figures stands a comma.
    const comma = part.isYear && /\d(?:st|nd|rd|th)?$/.test(parts.at(-1) ?? '') ? ',' : '';
    parts.push(`${comma}${glue}${part.text}`);
    isAfterDay ||= part.isDay;
    at = part.next;
  }
  return parts.join('');
}

type DayPart = { text: string; next: number; isDay: boolean; isYear: boolean };

function dayPartAt(
  tokens: readonly TextToken[],
  at: number,
  isAfterDay: boolean,
): DayPart | undefined {
  const token = tokens[at] as TextToken;
  const plain = { next: at + 1, isDay: false, isYear: false };
  const { lower, text } = token;
  // "may" is a month here: the finder saw a day beside it.
  if (monthOf(lower) > 0 || weekday.test(lower)) return { ...plain, text: capital(text) };
  if (between.test(lower)) return { ...plain, text };
  const year = yearAt(tokens, at);
  const isFigure = token.kind === 'number';
  if (year !== undefined && (isAfterDay || isFigure || followsMonth(tokens, at)))
    return { text: String(year.value), next: year.next, isDay: false, isYear: true };
  const day = dayAt(tokens, at);
  if (day !== undefined && !isAfterDay)
    return {
      text: `${String(day.value)}${day.named ? endingOf(day.value) : ''}`,
      next: day.next,
      isDay: true,
      isYear: false,
    };
  // The second day of "from March third to March fifth".
  if (day?.named === true) return { text: `${String(day.value)}${endingOf(day.value)}`, next: day.next, isDay: true, isYear: false }; // prettier-ignore
  if (ordinalEnd.test(lower) && !token.spaced) return { ...plain, text };
  return isFigure || (token.kind === 'mark' && /^[/:]$/.test(text))
    ? { ...plain, text }
    : undefined;
}

function followsMonth(tokens: readonly TextToken[], at: number): boolean {
  return monthOf(tokens[at - 1]?.lower ?? '') > 0;
}

export function endingOf(value: number): string {
  if (value % 100 >= 11 && value % 100 <= 13) return 'th';
  return ['th', 'st', 'nd', 'rd'][value % 10] ?? 'th';
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** "3:30 pm" of "three thirty pm". Undefined for "half past three" and for whatever is not understood. */
export function writtenTime(text: string): string | undefined {
  const tokens = tokenize(text);
  const hour = smallAt(tokens, 0);
  if (hour === undefined || hour.value > 24) return undefined;
  const isColon = tokens[hour.next]?.text === ':';
  const minuteFrom = isColon ? hour.next + 1 : hour.next;
  const isZero = /^(?:oh|o|zero)$/.test(tokens[minuteFrom]?.lower ?? '');
  const minute = smallAt(tokens, isZero ? minuteFrom + 1 : minuteFrom);
  if (minute !== undefined && (minute.value > 59 || (!isZero && !isColon && minute.value < 10)))
    return undefined;
  if (isZero && (minute === undefined || minute.value > 9)) return undefined;
  const end = minute?.next ?? hour.next;
  const rest = text.slice(tokens[end - 1]?.end);
  // "from nine to five", "nine and a half": another number belongs to the time.
  if (hasNumber(tokens.slice(end)) || /\b(?:past|half|quarter|to)\b/i.test(rest)) return undefined;
  const figures =
    minute === undefined
      ? String(hour.value)
      : `${String(hour.value)}:${String(minute.value).padStart(2, '0')}`;
  return figures + rest.replace(/^[\s,]*([ap])(\.?)\s*m\b/i, (_, half: string, dot: string) => ` ${half.toLowerCase()}${dot}m`); // prettier-ignore
}

function hasNumber(tokens: readonly TextToken[]): boolean {
  return tokens.some((_, at) => smallAt(tokens, at) !== undefined);
}
