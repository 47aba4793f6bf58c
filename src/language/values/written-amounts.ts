import { cardinalAt, hundredthsAt, smallAt } from '../text/numbers.ts';
import { tokenize, type TextToken } from '../text/tokens.ts';
import { moneyOf } from './money-value.ts';

/** Currencies that are written with a sign before the amount. The others stay as they were said. */
const signs: Readonly<Record<string, string>> = {
  USD: '$', AUD: '$', NZD: '$', SGD: '$', HKD: '$', CAD: '$', GBP: '£', EUR: '€', JPY: '¥', INR: '₹',
}; // prettier-ignore

/** Somebody who says "a couple of hundred", or names the country of the dollar, is quoted. */
const staysAsSaid =
  /\b(?:couple|few|several|grand|fiver|tenner|us|american|australian|canadian|singapore|hong|usd|aud|cad|gbp|eur)\b/i;
const unit = /^(?:dollars?|bucks?|pounds?|quid|euros?|yen|rupees?)$/;
const coin = /^(?:cents?|pence|penny|pennies)$/;

/** "$89.50" of "eighty nine dollars and fifty cents". Undefined if a word of the amount is not understood. */
export function writtenAmount(text: string, callingCode: string | undefined): string | undefined {
  if (staysAsSaid.test(text)) return undefined;
  const tokens = tokenize(text);
  const isSigned = /^[$£€¥₹]$/.test(tokens[0]?.text ?? '');
  const parsed = amountAt(tokens, isSigned ? 1 : 0, isSigned);
  if (parsed === undefined) return undefined;
  const { currency } = moneyOf(text, callingCode) ?? {};
  const sign = signs[currency ?? ''];
  if (sign === undefined) return undefined;
  const { whole, cents } = parsed;
  // A recogniser that writes "$1,250.00" has written the amount already.
  if (isSigned && cents === undefined) return undefined;
  const figures = whole.toLocaleString('en-US', { maximumFractionDigits: 2 });
  if (!Number.isInteger(whole))
    return cents === undefined ? `${sign}${whole.toFixed(2)}` : undefined;
  return `${sign}${figures}${cents === undefined ? '' : `.${String(cents).padStart(2, '0')}`}`;
}

/** The amount, if it takes all the tokens. */
function amountAt(
  tokens: readonly TextToken[],
  from: number,
  isSigned: boolean,
): { whole: number; cents?: number } | undefined {
  const whole = cardinalAt(tokens, from);
  if (whole === undefined || coin.test(tokens[whole.next]?.lower ?? '')) return undefined;
  const decimals = hundredthsAt(tokens, from);
  if (decimals !== undefined) {
    const isWhole = unit.test(tokens[decimals.next]?.lower ?? '') && decimals.next + 1 === tokens.length; // prettier-ignore
    const [whole, cents] = [Math.floor(decimals.value / 100), decimals.value % 100];
    return isWhole ? { whole, ...(cents > 0 ? { cents } : {}) } : undefined;
  }
  let at = whole.next;
  const isNamed = unit.test(tokens[at]?.lower ?? '');
  if (isNamed) at += 1;
  if (at === tokens.length) return { whole: whole.value };
  if (tokens[at]?.text === ',') at += 1;
  if (tokens[at]?.lower === 'and') at += 1;
  const cents = smallAt(tokens, at);
  if (cents === undefined || cents.value > 99) return undefined;
  const hasCoin = coin.test(tokens[cents.next]?.lower ?? '');
  const end = hasCoin ? cents.next + 1 : cents.next;
  // "nineteen ninety five dollars" may be 19.95 or 1,995: whoever reads the words decides.
  const isSure = isNamed || isSigned || hasCoin || cents.value >= 10;
  return isSure && end === tokens.length ? { whole: whole.value, cents: cents.value } : undefined;
}
