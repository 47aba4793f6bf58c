import { isIban, isLuhn } from '../text/check-digits.ts';
import { e164 } from '../text/phones.ts';
import type { EntityValue, ValuedSpan } from '../types.ts';
import { type CueAbroad, cueAbroad } from './cues-abroad.ts';
import { datesAbroad } from './days-abroad.ts';
import { emailsAbroad } from './mail-abroad.ts';
import { moneyAbroad } from './money-abroad.ts';
import { namesAbroad } from './names-abroad.ts';
import { type LanguageAbroad, plain } from './number-words.ts';
import { tokensOf } from './numbers-abroad.ts';
import { type RowAbroad, rowsAbroad } from './rows-abroad.ts';
import { timesAbroad } from './times-abroad.ts';

type About = {
  language: LanguageAbroad;
  /** The day of the call, which days without a year refer to. */
  day?: string | undefined;
  /** The calling code of the call's country, without the plus. */
  callingCode?: string | undefined;
};

/** The calling code of the country where the language is at home, for a call whose country is not known. */
const homeCode: Record<LanguageAbroad, string> = { es: '34', fr: '33', de: '49', it: '39', pt: '351', nl: '31' }; // prettier-ignore
/** The lengths of national numbers without the calling code. */
const phoneDigits: Record<LanguageAbroad, RegExp> = {
  es: /^[6-9]\d{8}$/,
  fr: /^0[1-9]\d{8}$/,
  de: /^0[1-9]\d{5,11}$/,
  it: /^(?:3\d{8,9}|0\d{5,10})$/,
  pt: /^[29]\d{8}$/,
  nl: /^0[1-9]\d{8}$/,
};

const plus: Record<LanguageAbroad, RegExp> = {
  es: /(?:\+|(?<!\p{L})mas)\s*$/u,
  fr: /(?:\+|(?<!\p{L})plus)\s*$/u,
  de: /(?:\+|(?<!\p{L})plus)\s*$/u,
  it: /(?:\+|(?<!\p{L})piu)\s*$/u,
  pt: /(?:\+|(?<!\p{L})mais)\s*$/u,
  nl: /(?:\+|(?<!\p{L})plus)\s*$/u,
};

/**
 * The entities of a text in a language other than English: mail addresses, amounts, days, times, and every row of
 * digits by its form and by the words before it. Names are found behind a title or a cue alone. `known` is what a text of one row is known to
 * be.
 */
export function entitiesAbroad(text: string, about: About, known?: CueAbroad): ValuedSpan[] {
  const { language } = about;
  const tokens = tokensOf(text);
  const found: ValuedSpan[] = [];
  const taken = new Uint8Array(text.length);
  const take = (entities: readonly ValuedSpan[]): void => {
    for (const entity of entities) {
      if (taken.subarray(entity.start, entity.end).includes(1)) continue;
      taken.fill(1, entity.start, entity.end);
      found.push(entity);
    }
  };
  take(emailsAbroad(text, tokens, language));
  take(namesAbroad(text, language));
  take(moneyAbroad(text, tokens, language));
  take(datesAbroad(text, tokens, { language, day: about.day }));
  take(timesAbroad(text, tokens, language));
  const isTaken = (at: number): boolean => taken[tokens[at]?.start ?? 0] === 1;
  for (const row of rowsAbroad(text, tokens, language, isTaken)) {
    const entity = entityOfRow(text, row, about, known);
    if (entity) take([entity]);
  }
  return found.toSorted((a, b) => a.start - b.start);
}

/** The words around a row that may say what it is, in characters. */
const reach = 80;

/** Words before a row that make it what its type says: the text of an entity has lost them. */
const cuesOfTypes: Readonly<Record<string, CueAbroad>> = {
  BANK_ACCOUNT: 'iban',
  CREDIT_CARD: 'card',
  CVV: 'cvv',
  SSN: 'id',
  PHONE_NUMBER: 'phone',
  NUMERICAL_PII: 'code',
};

/** The value of an entity's text by itself. */
export function valueAbroad(type: string, text: string, about: About): EntityValue | undefined {
  const [entity] = entitiesAbroad(text, about, cuesOfTypes[type]);
  if (entity?.value === undefined) return undefined;
  const { value, currency, valid } = entity;
  return { value, ...(currency ? { currency } : {}), ...(valid === undefined ? {} : { valid }) };
}

function entityOfRow(
  text: string,
  row: RowAbroad,
  about: About,
  known: CueAbroad | undefined,
): ValuedSpan | undefined {
  const { language } = about;
  // Two letters in capitals may begin an IBAN, and so may a row that says so.
  const before = plainOf(text.slice(Math.max(0, row.start - reach), row.start));
  const cue = known ?? cueAbroad(before, plainOf(text.slice(row.end, row.end + reach)), language);
  const { chars, digits, letters } = row;
  const sign = plus[language].exec(before);
  const start = sign === null ? row.start : row.start - sign[0].length;
  const is = (type: string, value: Partial<EntityValue>, from = row.start): ValuedSpan => ({
    type,
    text: text.slice(from, row.end),
    start: from,
    end: row.end,
    ...value,
  });
  if (sign !== null && letters === 0 && digits >= 8 && digits <= 15)
    return is('PHONE_NUMBER', { value: `+${chars}` }, start);
  if (/^[A-Z]{2}\d{2}/.test(chars) && digits >= 10 && chars.length >= 14)
    return is('BANK_ACCOUNT', { value: chars, valid: isIban(chars) });
  if (letters === 0 && digits >= 13 && digits <= 19 && (isLuhn(chars) || cue === 'card'))
    return is('CREDIT_CARD', { value: chars, valid: isLuhn(chars) });
  if (cue === 'cvv' && letters === 0 && digits >= 3 && digits <= 4)
    return is('CVV', { value: chars });
  if (cue === 'id' && digits >= 5 && chars.length >= 8) return is('SSN', { value: chars });
  if (cue === 'iban' && digits >= 8) return is('BANK_ACCOUNT', { value: chars });
  const isPhone = letters === 0 && phoneDigits[language].test(chars);
  if (isPhone && cue !== 'code' && cue !== 'card')
    return is('PHONE_NUMBER', {
      value: e164(chars, false, about.callingCode ?? homeCode[language]),
    });
  if (cue === 'phone' && letters === 0 && digits >= 6 && digits <= 15)
    return is('PHONE_NUMBER', {
      value: e164(chars, false, about.callingCode ?? homeCode[language]),
    });
  if (digits < 4 && !(cue === 'code' && chars.length >= 3 && digits >= 2)) return undefined;
  // "1998" and "1200 personas" are no codes.
  if (cue === undefined && digits <= 4 && row.to - row.from === 1) return undefined;
  return is('NUMERICAL_PII', { value: chars });
}

/** The same characters in small letters without accents. The length stays, so positions do. */
function plainOf(text: string): string {
  return Array.from(
    text.normalize('NFC'),
    (char) => plain(char).slice(0, char.length) || char,
  ).join('');
}
