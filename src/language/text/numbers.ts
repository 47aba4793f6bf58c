import type { TextToken } from './tokens.ts';

/** Numbers as people say them. Each function takes tokens and an index and returns the index where it stopped. */
export const units = new Map(
  'zero nought one two three four five six seven eight nine'
    .split(' ')
    .map((word, i) => [word, i < 2 ? 0 : i - 1] as const),
);
const teens = new Map(
  'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
    .split(' ')
    .map((word, i) => [word, i + 10] as const),
);
const tens = new Map(
  'twenty thirty forty fifty sixty seventy eighty ninety'
    .split(' ')
    .map((word, i) => [word, (i + 2) * 10] as const),
);
tens.set('fourty', 40);

const ordinalWords = new Map(
  (
    'first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth ' +
    'fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth'
  )
    .split(' ')
    .map((word, i) => [word, i + 1] as const),
);
ordinalWords.set('thirtieth', 30);

const hardFillers = new Set('um uh er erm uhm ah mm hmm eh'.split(' '));

export function isFiller(token: TextToken | undefined): boolean {
  return token !== undefined && hardFillers.has(token.lower);
}

type Cardinal = { value: number; next: number };

/** Skips a hyphen or a filler between the words of one number. */
function past(tokens: readonly TextToken[], i: number): number {
  let at = i;
  if (tokens[at]?.text === '-' && !tokens[at]?.spaced) at += 1;
  while (isFiller(tokens[at]) || (isFiller(tokens[at - 1]) && tokens[at]?.text === ',')) at += 1;
  return at;
}

/** Matches a number below a hundred in words, or written digits. */
export function smallAt(tokens: readonly TextToken[], i: number): Cardinal | undefined {
  const token = tokens[i];
  if (!token) return undefined;
  if (token.kind === 'number') return { value: Number(token.text), next: i + 1 };
  const ten = tens.get(token.lower);
  if (ten !== undefined) {
    const at = past(tokens, i + 1);
    const unit = units.get(tokens[at]?.lower ?? '');
    return unit !== undefined && unit > 0
      ? { value: ten + unit, next: at + 1 }
      : { value: ten, next: i + 1 };
  }
  const value = teens.get(token.lower) ?? units.get(token.lower);
  return value === undefined ? undefined : { value, next: i + 1 };
}

const scales = new Map([
  ['hundred', 100],
  ['thousand', 1_000],
  ['grand', 1_000],
  ['million', 1_000_000],
  ['billion', 1_000_000_000],
]);

/** Matches a whole number: "two hundred and thirty", "3 hundred and 40", "1,284", "a thousand". */
export function cardinalAt(tokens: readonly TextToken[], i: number): Cardinal | undefined {
  const isArticle = tokens[i]?.lower === 'a' || tokens[i]?.lower === 'couple';
  if (isArticle && !scales.has(tokens[i + 1]?.lower ?? '')) return undefined;
  const first = isArticle ? { value: 1, next: i + 1 } : written(tokens, i);
  if (!first) return undefined;
  let total = 0;
  let current = first.value;
  let next = first.next;
  for (;;) {
    const scale = scales.get(tokens[next]?.lower ?? '');
    if (scale === undefined) break;
    if (scale === 100) current *= 100;
    else {
      total += current * scale;
      current = 0;
    }
    next += 1;
    let at = past(tokens, next);
    if (tokens[at]?.lower === 'and') at = past(tokens, at + 1);
    else if (tokens[at]?.text === ',' && scale >= 1_000) at += 1;
    const more = smallAt(tokens, at);
    if (!more) break;
    if (more.value >= 100 && scale === 100) break;
    current += more.value;
    next = more.next;
  }
  return { value: total + current, next };
}

/**
 * The hundredths of a number with a point, in words: "twelve point five", "point oh five", "one point two million".
 * Undefined if the number has no point.
 */
export function hundredthsAt(tokens: readonly TextToken[], i: number): Cardinal | undefined {
  const whole = cardinalAt(tokens, i);
  const decimals = whole && decimalsAt(tokens, whole.next);
  if (!decimals) return undefined;
  const scale = scales.get(tokens[decimals.next]?.lower ?? '');
  const value = (whole.value * 100 + decimals.value) * (scale ?? 1);
  return { value, next: decimals.next + (scale === undefined ? 0 : 1) };
}

function decimalsAt(tokens: readonly TextToken[], i: number): Cardinal | undefined {
  if (tokens[i]?.lower !== 'point') return undefined;
  let digits = '';
  let next = i + 1;
  while (digits.length < 2) {
    const { lower = '' } = tokens[next] ?? {};
    const small = lower === 'oh' ? { value: 0, next: next + 1 } : smallAt(tokens, next);
    const more = String(small?.value ?? '');
    if (small === undefined || digits.length + more.length > 2) break;
    digits += more;
    next = small.next;
  }
  return digits === '' ? undefined : { value: Number(digits.padEnd(2, '0')), next };
}

/** Matches digits with thousands commas and decimals as one number, or words below a hundred. */
function written(tokens: readonly TextToken[], i: number): Cardinal | undefined {
  const token = tokens[i];
  if (token?.kind !== 'number') return smallAt(tokens, i);
  let text = token.text;
  let next = i + 1;
  while (
    tokens[next]?.text === ',' &&
    !tokens[next]?.spaced &&
    tokens[next + 1]?.kind === 'number' &&
    !tokens[next + 1]?.spaced &&
    tokens[next + 1]?.text.length === 3
  ) {
    text += tokens[next + 1]?.text ?? '';
    next += 2;
  }
  if (
    tokens[next]?.text === '.' &&
    !tokens[next]?.spaced &&
    tokens[next + 1]?.kind === 'number' &&
    !tokens[next + 1]?.spaced
  ) {
    text += `.${tokens[next + 1]?.text ?? ''}`;
    next += 2;
  }
  return { value: Number(text), next };
}

export type Ordinal = { value: number; next: number; named: boolean };

/** Matches "the twenty first", "21st" or "third". `named` is false for a bare 21. */
export function dayAt(tokens: readonly TextToken[], i: number): Ordinal | undefined {
  const token = tokens[i];
  if (!token) return undefined;
  if (token.kind === 'number' && token.text.length <= 2) {
    const suffix = tokens[i + 1];
    const named = suffix !== undefined && !suffix.spaced && /^(?:st|nd|rd|th)$/.test(suffix.lower);
    return inMonth(Number(token.text), named ? i + 2 : i + 1, named);
  }
  const ten = token.lower === 'twenty' ? 20 : token.lower === 'thirty' ? 30 : 0;
  if (ten > 0) {
    const at = past(tokens, i + 1);
    const ordinal = ordinalWords.get(tokens[at]?.lower ?? '');
    if (ordinal !== undefined && ordinal < 10) return inMonth(ten + ordinal, at + 1, true);
    const small = smallAt(tokens, i);
    return small && inMonth(small.value, small.next, false);
  }
  const ordinal = ordinalWords.get(token.lower);
  if (ordinal !== undefined) return inMonth(ordinal, i + 1, true);
  const small = smallAt(tokens, i);
  return small && inMonth(small.value, small.next, false);
}

function inMonth(value: number, next: number, named: boolean): Ordinal | undefined {
  return value >= 1 && value <= 31 ? { value, next, named } : undefined;
}

/** 1986, "nineteen eighty six", "twenty oh five", "two thousand and five", "twenty twenty four". */
export function yearAt(tokens: readonly TextToken[], i: number): Cardinal | undefined {
  const token = tokens[i];
  if (!token) return undefined;
  if (token.kind === 'number' && token.text.length === 4) return year(Number(token.text), i + 1);
  if (token.lower === 'two' && tokens[i + 1]?.lower === 'thousand') {
    const whole = cardinalAt(tokens, i);
    return whole && year(whole.value, whole.next);
  }
  const century = smallAt(tokens, i);
  if (!century || century.value < 18 || century.value > 20) return undefined;
  const at = past(tokens, century.next);
  if (tokens[at]?.lower === 'hundred') return year(century.value * 100, at + 1);
  if (/^(?:oh|o|zero)$/.test(tokens[at]?.lower ?? '')) {
    const unit = units.get(tokens[at + 1]?.lower ?? '');
    return unit === undefined ? undefined : year(century.value * 100 + unit, at + 2);
  }
  const rest = smallAt(tokens, at);
  return rest && rest.value >= 10 && rest.value <= 99
    ? year(century.value * 100 + rest.value, rest.next)
    : undefined;
}

function year(value: number, next: number): Cardinal | undefined {
  return value >= 1880 && value <= 2100 ? { value, next } : undefined;
}
