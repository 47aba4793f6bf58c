import type { ValuedSpan } from '../types.ts';
import { entityOf } from './named-days.ts';
import type { LanguageAbroad } from './number-words.ts';
import { numberAt, type TokenAbroad } from './numbers-abroad.ts';

type ClockWords = {
  before: RegExp;
  /** Before an hour without further words: "a las diez", "alle undici". */
  bare?: RegExp;
  oclock: RegExp;
  half: RegExp;
  quarter: RegExp;
  minus: RegExp;
};

const clocks: Partial<Record<LanguageAbroad, ClockWords>> = {
  es: { before: /^(?:las|la)$/, bare: /(?<!\p{L})(?:a|entre|hasta|desde|sobre) las? $/u, oclock: /^(?:horas?|h)$/, half: /^media$/, quarter: /^cuarto$/, minus: /^menos$/ },
  fr: { before: /^(?:a|vers|est)$/, oclock: /^(?:heures?|h)$/, half: /^demie?$/, quarter: /^quart$/, minus: /^moins$/ },
  it: { before: /^(?:alle|le|all|ore)$/, bare: /(?<!\p{L})(?:alle|dalle|(?:tra|fra|entro|verso) le) $/u, oclock: /^ore$/, half: /^(?:mezza|mezzo)$/, quarter: /^quarto$/, minus: /^meno$/ },
  pt: { before: /^(?:as|sao|a)$/, bare: /(?<!\p{L})(?:às|(?:entre|até) as) $/u, oclock: /^(?:horas?|h)$/, half: /^meia$/, quarter: /^quarto$/, minus: /^menos$/ },
}; // prettier-ignore

/** Between two hours: "entre las nueve y las once", "zwischen acht und zwölf Uhr". */
const joint = /^(?:y|e|et|und|bis|en|tot|a|à)$/;
/** Words that may follow an hour without further words. Others are counted: "a las dos chicas". */
const behindHour = /^(?:de|del|y|e|o|en|em|da|do|ma|pero|mas|porque|que|no|non|nao|si|se|con|com|para|per|por|va|esta|hasta|pode|puede)$/; // prettier-ignore

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
  let last = -1;
  for (let at = 0; at < tokens.length; at++) {
    const time = language === 'de' || language === 'nl' ? germanicAt(text, tokens, at, language) : romanceAt(text, tokens, { at, last }, language); // prettier-ignore
    if (!time) continue;
    last = time.next;
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
  { at, last }: { at: number; last: number },
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
  const isSecond = last === at - 2 && joint.test(tokens[at - 2]?.plain ?? '');
  const isBare = !isNamed && (isSecond ? isAfterWord : isBareHour(text, tokens, at, words.bare)) && endsHour(text, tokens, next); // prettier-ignore
  if (!isNamed && !isBare && (!isAfterWord || language === 'fr')) return undefined;
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
  const isNextHour = spoken !== undefined && words.oclock.test(tokens[spoken.next]?.plain ?? '');
  if (spoken && spoken.value < 60 && !isNextHour && (isMinus || joined > next || isNamed))
    return clockOf(hour.value, isMinus ? -spoken.value : spoken.value, spoken.next);
  return isNamed || isBare ? clockOf(hour.value, 0, next) : undefined;
}

function isBareHour(text: string, tokens: readonly TokenAbroad[], at: number, bare?: RegExp): boolean {
  const start = tokens[at]?.start ?? 0;
  return bare?.test(` ${text.slice(Math.max(0, start - 16), start).toLowerCase()}`) === true;
} // prettier-ignore

/** True if no counted thing follows an hour. */
function endsHour(text: string, tokens: readonly TokenAbroad[], next: number): boolean {
  const token = tokens[next];
  if (token === undefined || behindHour.test(token.plain)) return true;
  return /[.,;:?!]/.test(text.slice(tokens[next - 1]?.end ?? 0, token.start));
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
  if (!hour || hour.value > 24) return undefined;
  const other = joint.test(tokens[hour.next]?.plain ?? '') ? behind(hour.next + 1) : undefined;
  const isFirst = other !== undefined && other.value <= 24 && oclock.test(tokens[other.next]?.plain ?? ''); // prettier-ignore
  if (isFirst) return clockOf(hour.value, 0, hour.next);
  if (!oclock.test(tokens[hour.next]?.plain ?? '')) return undefined;
  const minute = behind(hour.next + 1);
  // "Tien uur een afspraak": one is an article as well.
  const isMinute = minute !== undefined && minute.value > 1 && minute.value < 60 && /^\s+$/.test(text.slice(tokens[hour.next]?.end, tokens[hour.next + 1]?.start)); // prettier-ignore
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
