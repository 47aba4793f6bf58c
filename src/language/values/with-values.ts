import { findEntities } from '../entities/find-entities.ts';
import { valueOf } from './value.ts';
import { writtenDay, writtenTime } from './written-days.ts';

const signs: Readonly<Record<string, string>> = { USD: '$', GBP: '£', EUR: '€' };
const numbers = /^(?:NUMERICAL_PII|ACCOUNT_NUMBER)$/;

/** The text with amounts, numbers, days and times in figures: "eighty nine dollars" as "$89.00". */
export function withValues(text: string, callingCode?: string): string {
  let written = text;
  for (const { type, start, end, text: said } of findEntities(text).toReversed()) {
    if (type === 'DATE' || type === 'TIME') {
      const figures = type === 'DATE' ? writtenDay(said) : writtenTime(said);
      if (figures !== undefined) written = written.slice(0, start) + figures + written.slice(end);
      continue;
    }
    if ((type !== 'MONEY' && !numbers.test(type)) || /^[$£€]/.test(said)) continue;
    const found = valueOf(type, said, { day: '', callingCode });
    if (found === undefined || (type === 'MONEY' && found.currency === undefined)) continue;
    const value = type === 'MONEY' ? amountOf(found.value, found.currency) : found.value;
    // Three figures may as well be a time: "booked for four fifteen".
    if (type !== 'MONEY' && (/\d/.test(said) || !/^[A-Z]*\d{4,}$/.test(value))) continue;
    written = written.slice(0, start) + value + written.slice(end);
  }
  return written.replace(/\b\d(?: \d){2,}\b/g, (digits) => digits.replace(/ /g, ''));
}

export function amountOf(value: string, currency?: string): string {
  const [whole = '', rest = '00'] = value.split('.');
  const grouped = `${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}.${rest}`;
  const sign = signs[currency ?? ''];
  if (sign !== undefined) return `${sign}${grouped}`;
  return currency === undefined ? grouped : `${grouped} ${currency}`;
}
