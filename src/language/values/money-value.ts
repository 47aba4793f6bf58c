import { cardinalAt, hundredthsAt, smallAt } from '../text/numbers.ts';
import { tokenize } from '../text/tokens.ts';
import type { EntityValue } from '../types.ts';

const names: readonly (readonly [RegExp, string])[] = [
  [/\b(?:us|american) dollars?\b|\busd\b/i, 'USD'],
  [/\baustralian dollars?\b|\baud\b/i, 'AUD'],
  [/\bcanadian dollars?\b|\bcad\b/i, 'CAD'],
  [/£|\b(?:pounds?|quid|pence|gbp|sterling)\b/i, 'GBP'],
  [/€|\b(?:euros?|eur)\b/i, 'EUR'],
  [/¥|\byen\b/i, 'JPY'],
  [/\brupees?\b/i, 'INR'],
  [/\bfrancs?\b|\bchf\b/i, 'CHF'],
  [/\bpesos?\b/i, 'MXN'],
];
/** The dollar that is meant, by the calling code of the call's country. */
const dollars: Readonly<Record<string, string>> = { '61': 'AUD', '64': 'NZD', '65': 'SGD', '852': 'HKD' }; // prettier-ignore
/** The currency of a bare amount ("I paid forty"), by the calling code of the call's country. */
const ofCountry: Readonly<Record<string, string>> = {
  ...dollars, '1': 'USD', '30': 'EUR', '31': 'EUR', '32': 'EUR', '33': 'EUR', '34': 'EUR', '39': 'EUR', '41': 'CHF',
  '43': 'EUR', '44': 'GBP', '49': 'EUR', '81': 'JPY', '91': 'INR', '351': 'EUR', '353': 'EUR', '358': 'EUR',
}; // prettier-ignore
/** Currencies without a code here. */
const hasOtherCurrency = /[₹¢]|\b(?:dirhams|rand|kron\w+|zloty|naira|p)\b|\dp\b/i;
/** Names of coins worth a hundredth. */
const hundredth = /^(?:cents?|pence|p)$/;

/** An amount with two decimals, and its currency: the one that the words name, or else that of the call's country. */
export function moneyOf(text: string, callingCode: string | undefined): EntityValue | undefined {
  const hundredths = amountOf(text);
  if (hundredths === undefined) return undefined;
  const currency =
    names.find(([name]) => name.test(text))?.[1] ??
    (/\$|\b(?:dollars?|bucks?|cents?|grand)\b/i.test(text)
      ? (dollars[callingCode ?? ''] ?? 'USD')
      : hasOtherCurrency.test(text)
        ? undefined
        : ofCountry[callingCode ?? '']);
  const value = (hundredths / 100).toFixed(2);
  return { value, currency };
}

/** The amount in hundredths. */
function amountOf(said: string): number | undefined {
  const text = said.replace(/(\d) point (?=\d{1,2}\b)/i, '$1.');
  // A recogniser may write half of an amount in figures: "3 hundred and 40 pounds".
  const [, hundreds, tens] = /\b(\d{1,2}) hundred(?: and)?(?: (\d{1,2}))?\b/i.exec(text) ?? [];
  if (hundreds !== undefined) return (Number(hundreds) * 100 + Number(tens ?? 0)) * 100;
  const figures = /\d[\d.,]*\d|\d/.exec(text)?.[0];
  if (figures !== undefined) {
    const amount = writtenAmount(figures);
    const scale = /\d\s*(?:k|thousand|grand)\b/i.test(text) ? 1_000 : /\d\s*(?:m|million)\b/i.test(text) ? 1_000_000 : 1; // prettier-ignore
    const coins = /\d\s*(?:cents?|pence|p)\b/i.test(text) && !/[$£€]|dollar|pound|euro/i.test(text);
    const behind = /(?:dollars?|pounds?|euros?)\s+(?:and\s+)?(\d{1,2})\b/i.exec(text)?.[1];
    return Math.round(amount * scale * (coins ? 1 : 100)) + Number(behind ?? 0);
  }
  const tokens = tokenize(text);
  for (let i = 0; i < tokens.length; i++) {
    const whole = cardinalAt(tokens, i);
    if (!whole) continue;
    const decimals = hundredthsAt(tokens, i);
    if (decimals) return decimals.value;
    if (hundredth.test(tokens[whole.next]?.lower ?? '')) return whole.value;
    let at = whole.next;
    let isNamed = false;
    while (/^(?:dollars?|bucks?|pounds?|quid|euros?|and|,)$/.test(tokens[at]?.lower ?? '')) {
      isNamed = true;
      at += 1;
    }
    const rest = smallAt(tokens, at);
    // "eighty nine dollars and fifty cents", "eighty five fifty"
    const isRest =
      rest !== undefined &&
      rest.value < 100 &&
      (hundredth.test(tokens[rest.next]?.lower ?? '') || rest.value >= 10 || isNamed);
    return whole.value * 100 + (isRest ? rest.value : 0);
  }
  return undefined;
}

/** Reads "1,249.99", "1.299,50", "19.50" or "1,200". */
function writtenAmount(figures: string): number {
  const last = Math.max(figures.lastIndexOf('.'), figures.lastIndexOf(','));
  const decimals = last < 0 ? 0 : figures.length - last - 1;
  const isDecimal = last >= 0 && decimals !== 3;
  const whole = (isDecimal ? figures.slice(0, last) : figures).replace(/[.,]/g, '');
  return Number(isDecimal ? `${whole}.${figures.slice(last + 1)}` : whole);
}
