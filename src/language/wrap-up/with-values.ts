import { findEntities } from '../entities/find-entities.ts';
import { valueOf } from '../values/value.ts';

const signs: Readonly<Record<string, string>> = { USD: '$', GBP: '£', EUR: '€' };
const numbers = /^(?:NUMERICAL_PII|ACCOUNT_NUMBER)$/;

/** The text with amounts and numbers in figures: "eighty nine dollars" as "$89.00". */
export function withValues(text: string, callingCode?: string): string {
  let written = text;
  for (const { type, start, end, text: said } of findEntities(text).toReversed()) {
    if ((type !== 'MONEY' && !numbers.test(type)) || /^[$£€]/.test(said)) continue;
    const found = valueOf(type, said, { day: '', callingCode });
    if (found === undefined || (type === 'MONEY' && found.currency === undefined)) continue;
    const value = type === 'MONEY' ? amountOf(found.value, found.currency) : found.value;
    if (type !== 'MONEY' && (/\d/.test(said) || !/^[A-Z]*\d{3,}$/.test(value))) continue;
    written = written.slice(0, start) + value + written.slice(end);
  }
  return written;
}

export function amountOf(value: string, currency?: string): string {
  const [whole = '', rest = '00'] = value.split('.');
  const grouped = `${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}.${rest}`;
  const sign = signs[currency ?? ''];
  if (sign !== undefined) return `${sign}${grouped}`;
  return currency === undefined ? grouped : `${grouped} ${currency}`;
}
