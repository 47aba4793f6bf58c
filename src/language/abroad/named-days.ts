import type { ValuedSpan } from '../types.ts';
import { type LanguageAbroad, plain } from './number-words.ts';
import type { TokenAbroad } from './numbers-abroad.ts';

export const dayMs = 86_400_000;

export type AboutDay = { language: LanguageAbroad; day?: string | undefined };

const relative: Record<LanguageAbroad, Readonly<Record<string, number>>> = {
  es: { hoy: 0, ayer: -1, anteayer: -2, manana: 1 },
  fr: { hier: -1, demain: 1, hui: 0 },
  de: { heute: 0, gestern: -1, vorgestern: -2, morgen: 1, ubermorgen: 2 },
  it: { oggi: 0, ieri: -1, domani: 1, dopodomani: 2 },
  pt: { hoje: 0, ontem: -1, anteontem: -2, amanha: 1 },
  nl: { vandaag: 0, gisteren: -1, eergisteren: -2, morgen: 1, morgenochtend: 1, morgenmiddag: 1, morgenavond: 1, overmorgen: 2 },
}; // prettier-ignore

/** Words before such a day that move it by one more: "pasado mañana", "après-demain", "depois de amanhã". "Aujourd'" stays. */
const farther: Partial<Record<LanguageAbroad, RegExp>> = {
  es: /(?<!\p{L})pasado\s+$/u,
  fr: /(?<!\p{L})(?:(?:apres|avant)[\s-]+|aujourd['’])$/u,
  pt: /(?<!\p{L})depois de\s+$/u,
};

/** "Mañana" and "morgen" are the morning behind these words. */
const morning: Partial<Record<LanguageAbroad, RegExp>> = {
  es: /(?<!\p{L})(?:la|una|esta|cada|las|toda)\s+$/u,
  de: /(?<!\p{L})(?:guten|jeden|heute|diesen|diesem|am|gestern|schonen)\s+$/u,
  nl: /(?<!\p{L})(?:goede|goeie|deze|elke|de|iedere)\s+$/u,
};

/** From Monday on. */
const weekdays: Record<LanguageAbroad, RegExp> = {
  es: /^(?:(lunes)|(martes)|(miercoles)|(jueves)|(viernes)|(sabado)|(domingo))$/,
  fr: /^(?:(lundi)|(mardi)|(mercredi)|(jeudi)|(vendredi)|(samedi)|(dimanche))$/,
  de: /^(?:(montag)|(dienstag)|(mittwoch)|(donnerstag)|(freitag)|(samstag|sonnabend)|(sonntag))(?:morgen|vormittag|mittag|nachmittag|abend)?$/,
  it: /^(?:(lunedi)|(martedi)|(mercoledi)|(giovedi)|(venerdi)|(sabato)|(domenica))$/,
  pt: /^(?:(segunda)|(terca)|(quarta)|(quinta)|(sexta)|(sabado)|(domingo))$/,
  nl: /^(?:(maandag)|(dinsdag)|(woensdag)|(donderdag)|(vrijdag)|(zaterdag)|(zondag))(?:ochtend|middag|avond)?$/,
};

/** Words around a weekday that make it the last one. */
const lastBefore = /(?<!\p{L})(?:letzten?|vorigen?|vergangenen?|vorige|afgelopen)\s+$/u;
const lastAfter = /^\s+(?:pasado|derniere?|passee?|scors[oa]|passad[oa])(?!\p{L})/u;
/** "Los lunes" are all of them, and "de lunes a viernes" is no day. */
const every =
  /(?<!\p{L})(?:los|todos|cada|chaque|jeden|ogni|todas|elke|iedere)(?: (?:los|as|os))?\s+$/u;
const range = /^\s+(?:a|al|au|bis|tot|ate|t\/m)(?: (?:a|o|ao))?\s+(\p{L}+)/u;
/** In Portuguese five weekdays are ordinals as well. */
const ordinalBefore =
  /(?:^|[.,;:?!]\s*|(?<!\p{L})(?:na|ate|ate a|proxima|esta|para|para a|desde|e)\s+)$/u;
const ordinalAfter =
  /^(?:\s*(?:[.,;:?!]|$)|\s+(?:as|a|de|ao|pela|pelas|o mais|e|que|ja|nao|esta|outra|para)(?!\p{L}))/u;

/** Days that are counted from today, and weekdays: a weekday is the next one, unless its words say the last. */
export function namedDays(
  text: string,
  tokens: readonly TokenAbroad[],
  { language, day }: AboutDay,
): ValuedSpan[] {
  return tokens.flatMap((token, at) => {
    const days = Object.hasOwn(relative[language], token.plain) ? relative[language][token.plain] : undefined; // prettier-ignore
    const place = weekdayOf(token, language);
    if (days === undefined && place === undefined) return [];
    const before = plain(text.slice(Math.max(0, token.start - 24), token.start));
    const after = plain(text.slice(token.end, token.end + 40));
    if (days !== undefined) {
      if (token.plain === 'manana' || token.plain === 'morgen')
        if (morning[language]?.test(before) === true || isNoun(text, token, language)) return [];
      const more = farther[language]?.exec(before)?.[0] ?? '';
      const moved = more === '' ? days : days + Math.sign(days);
      return [entityOf(text, token.start - more.length, token.end, day && dayAfter(day, moved))];
    }
    if (place === undefined || every.test(before)) return [];
    const to = range.exec(after)?.[1];
    const isRange = to !== undefined && weekdays[language].test(to);
    const isEnd = weekdayOf(tokens[at - 2], language) !== undefined && range.test(` ${tokens[at - 1]?.plain ?? ''} ${token.plain}`); // prettier-ignore
    if (isRange || isEnd || isPlace(text, token, language)) return [];
    let { end } = token;
    if (language === 'pt' && place < 5) {
      const feira = /^-?\s?feira/.exec(after)?.[0];
      if (feira !== undefined) end += feira.length;
      else if (!ordinalBefore.test(before) || !ordinalAfter.test(after)) return [];
    }
    // "Lunes 14" is the day that the figure says.
    const isNumbered = /^,?\s+(?:den |le |el )?\d/.test(after);
    const isLast = lastBefore.test(before) || lastAfter.test(after);
    return [entityOf(text, token.start, end, isNumbered || !day ? undefined : weekday(day, place, isLast))]; // prettier-ignore
  });
}

function weekdayOf(token: TokenAbroad | undefined, language: LanguageAbroad): number | undefined {
  const groups = weekdays[language].exec(token?.plain ?? '')?.slice(1);
  const place = groups?.findIndex((group) => (group as string | undefined) !== undefined);
  return place === undefined || place < 0 ? undefined : place;
}

/** "Der Morgen" has a capital within a sentence, and "Morgen!" alone is a greeting. */
function isNoun(text: string, token: TokenAbroad, language: LanguageAbroad): boolean {
  const isCapital = /^\p{Lu}/u.test(token.text);
  if (!isCapital || language === 'es') return false;
  return !isAtBegin(text, token.start) || !/^\s+\p{L}/u.test(text.slice(token.end));
}

/** "Santo Domingo": weekdays have no capital within a sentence, except in German. */
function isPlace(text: string, token: TokenAbroad, language: LanguageAbroad): boolean {
  return language !== 'de' && /^\p{Lu}/u.test(token.text) && !isAtBegin(text, token.start);
}

function isAtBegin(text: string, at: number): boolean {
  return /(?:^|[.?!:,]\s*["«„]?)\s*$/u.test(text.slice(Math.max(0, at - 4), at)) || at === 0;
}

/** The next day with this name after the day of the call, or the last one before it. */
function weekday(day: string, place: number, isLast: boolean): string | undefined {
  const today = (new Date(day).getUTCDay() + 6) % 7;
  if (Number.isNaN(today)) return undefined;
  const ahead = (place - today + 6) % 7;
  return dayAfter(day, isLast ? (ahead === 6 ? -7 : ahead - 6) : ahead + 1);
}

function dayAfter(day: string, days: number): string | undefined {
  const at = Date.parse(day);
  return Number.isNaN(at) ? undefined : new Date(at + days * dayMs).toISOString().slice(0, 10);
}

export function entityOf(
  text: string,
  start: number,
  end: number,
  value: string | undefined,
  type = 'DATE',
): ValuedSpan {
  // prettier-ignore
  return { type, text: text.slice(start, end), start, end, ...(value ? { value } : {}) };
}
