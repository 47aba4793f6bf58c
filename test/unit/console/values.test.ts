import { beforeAll, expect, test } from 'vitest';

type InWords = (value: string, currency?: string) => string;

const page = new URL('../../../src/console/page/', import.meta.url).href;
let valueInWords: InWords;

beforeAll(async () => {
  ({ valueInWords } = (await import(`${page}format.js`)) as { valueInWords: InWords });
});

/** The page writes in the language of its browser. */
const day = (value: string) =>
  new Intl.DateTimeFormat(undefined, {
    ...{ weekday: 'short', year: 'numeric', month: 'short', day: 'numeric', timeZone: 'UTC' },
  }).format(new Date(value));
const amount = (value: number, currency: string, minimumFractionDigits: number) =>
  new Intl.NumberFormat(undefined, { style: 'currency', currency, minimumFractionDigits }).format(
    value,
  );

test.each([
  ['2026-12-04', undefined, day('2026-12-04')],
  ['2026-13-45', undefined, '2026-13-45'],
  ['89.00', 'USD', amount(89, 'USD', 0)],
  ['89.50 EUR', undefined, amount(89.5, 'EUR', 2)],
  ['89.00', undefined, '89.00'],
  ['89.00', 'us', '89.00'],
  ['1e400', 'USD', '1e400'],
  ['+12125550147', undefined, '+12125550147'],
  ['--10-05', undefined, '--10-05'],
])('a value of the API as a person writes it: %s %s', (value, currency, words) => {
  expect(valueInWords(value, currency)).toBe(words);
}); // prettier-ignore
