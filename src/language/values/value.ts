import { valueAbroad } from '../abroad/find-abroad.ts';
import { isAbroad } from '../abroad/number-words.ts';
import { isIban, isLuhn } from '../text/check-digits.ts';
import type { EntityValue, ValueContext } from '../types.ts';
import { runAt } from '../entities/code-runs.ts';
import { Doc } from '../entities/doc.ts';
import { dateOf, expiryOf, timeOf } from './days.ts';
import { moneyOf } from './money-value.ts';
import { e164 } from '../text/phones.ts';
import { addressOf } from './web-value.ts';

const bankCodeDigits = 9;

/** The value of an entity's text, or undefined if its words do not give one. */
export function valueOf(type: string, text: string, about: ValueContext): EntityValue | undefined {
  const { language = 'en' } = about;
  if (isAbroad(language)) return valueAbroad(type, text, { ...about, language });
  switch (type) {
    case 'CREDIT_CARD': {
      const value = charsIn(text, false);
      return value === '' ? undefined : { value, valid: value.length >= 13 && isLuhn(value) };
    }
    case 'BANK_ACCOUNT': {
      const value = charsIn(text, true);
      const isInternational = /^[A-Z]{2}\d{2}[A-Z0-9]{10,}$/.test(value);
      return isInternational ? { value, valid: isIban(value) } : some(value);
    }
    case 'ROUTING_NUMBER': {
      const value = charsIn(text, false);
      return value.length === bankCodeDigits ? { value, valid: isBankCode(value) } : some(value);
    }
    case 'CVV':
    case 'SSN':
      return some(charsIn(text, false));
    case 'ACCOUNT_NUMBER':
    case 'NUMERICAL_PII':
    case 'HEALTHCARE_NUMBER':
    case 'VEHICLE_ID':
    case 'PASSPORT_NUMBER':
    case 'DRIVER_LICENSE':
    case 'LOCATION_ZIP':
      return some(charsIn(text, true));
    case 'PHONE_NUMBER':
      return some(e164(charsIn(text, false), /^\s*(?:\+|plus\b)/i.test(text), about.callingCode));
    case 'CREDIT_CARD_EXPIRATION':
      return some(expiryOf(text));
    case 'DOB':
      return some(dateOf(text, about.day, 'past'));
    case 'DATE':
      return some(dateOf(text, about.day, 'next'));
    case 'TIME':
      return some(timeOf(text));
    case 'MONEY':
      return moneyOf(text, about.callingCode);
    case 'EMAIL_ADDRESS':
    case 'URL':
      return some(addressOf(text));
    default:
      return some(type.startsWith('NAME') ? inCapitals(text) : text.trim());
  }
}

function some(value: string | undefined): EntityValue | undefined {
  return value === undefined || value === '' ? undefined : { value };
}

/** Every digit, or letter, of all runs in the text. The words between them are skipped. */
function charsIn(text: string, withLetters: boolean): string {
  const doc = new Doc(text);
  let chars = '';
  for (let i = 0; i < doc.tokens.length; i++) {
    const run = runAt(doc, i, withLetters);
    if (!run) continue;
    chars += run.chars;
    i = Math.max(i, run.to - 1);
  }
  return chars;
}

/** Checks an American bank code with weights of 3, 7 and 1. */
function isBankCode(digits: string): boolean {
  const weights = [3, 7, 1];
  const sum = Array.from(digits).reduce((all, digit, i) => all + Number(digit) * (weights[i % 3] ?? 0), 0); // prettier-ignore
  return sum > 0 && sum % 10 === 0;
}

export function inCapitals(text: string): string {
  return text
    .trim()
    .replace(
      /(^|[\s'’-])(\p{Ll})/gu,
      (_, before: string, letter: string) => before + letter.toUpperCase(),
    );
}
