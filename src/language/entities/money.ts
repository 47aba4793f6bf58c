import { cardinalAt, hundredthsAt, smallAt } from '../text/numbers.ts';
import type { Doc } from './doc.ts';

const signs = new Set(['$', '£', '€', '¥', '₹']);
const currencies = new Set(
  'dollar dollars buck bucks pound pounds quid euro euros usd gbp eur cad aud yen rupee rupees franc francs peso pesos dirhams rand kroner kronor krona zloty naira'.split(
    ' ',
  ),
);
const coins = new Set('cent cents pence p penny pennies'.split(' '));
const nationalities = new Set('us american canadian australian british singapore hong'.split(' '));

/** Words that make a bare number a price if it looks like one ("forty nine ninety nine"). */
const priceWords = new Set(
  'cost costs costing charge charged charges charging charging pay paid paying price priced refund refunded refunds fee owe owed owes worth billed bill bills spent spend spending credit credited debit debited deducted deposit balance total quoted taken took discount amount'.split(
    ' ',
  ),
);

/** Finds amounts with a currency sign or word. They are certain, so they are found before codes. */
export function findMoney(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const end = signed(doc, i) || named(doc, i);
    if (end > 0 && doc.claim('MONEY', i, end)) i = end - 1;
  }
}

function signed(doc: Doc, i: number): number {
  if (!signs.has(doc.word(i))) return 0;
  let end = cardinalAt(doc.tokens, i + 1)?.next ?? 0;
  if (end === 0) return 0;
  const suffix = doc.tokens[end];
  if (suffix && !suffix.spaced && /^(?:k|m|bn|b)$/.test(suffix.lower)) end += 1;
  if (currencies.has(doc.word(end))) end += 1;
  return end;
}

function named(doc: Doc, i: number): number {
  if (
    doc.word(i) === 'a' &&
    (currencies.has(doc.word(i + 1)) || /^(?:fiver|tenner)$/.test(doc.word(i + 1)))
  )
    // "a pound of", "a dollar sign" are no amounts.
    return /^(?:of|sign|store|shop)$/.test(doc.word(i + 2))
      ? 0
      : doc.word(i + 1).endsWith('er')
        ? i + 2
        : 0;
  const number = amountAt(doc, i);
  if (number === 0) return 0;
  const at = nationalities.has(doc.word(number)) ? number + 1 : number;
  const word = doc.word(at);
  if (/^grand$/.test(doc.word(number - 1)) && number > i + 1) return number;
  if (coins.has(word) && word !== 'p') return at + 1;
  if (word === 'p' && doc.tokens[i]?.kind === 'number' && !(doc.tokens[at]?.spaced ?? true))
    return at + 1;
  if (!currencies.has(word)) return 0;
  if (
    /^pounds?$/.test(word) &&
    /^(?:of|heavier|lighter|in)$/.test(doc.word(at + 1)) &&
    doc.word(at + 2) !== 'cash'
  )
    return 0;
  return withCents(doc, at + 1);
}

function amountAt(doc: Doc, i: number): number {
  const whole = cardinalAt(doc.tokens, i);
  if (!whole) return 0;
  // "Twelve point five dollars", but not the seven of "point five six seven dollars".
  if (isBehindPoint(doc, i)) return 0;
  const decimals = hundredthsAt(doc.tokens, i);
  if (decimals) return smallAt(doc.tokens, decimals.next) ? 0 : decimals.next;
  // "nineteen ninety five dollars"
  const cents = smallAt(doc.tokens, whole.next);
  const isPair =
    cents &&
    cents.value >= 10 &&
    cents.value < 100 &&
    whole.value < 1_000 &&
    doc.tokens[i]?.kind === 'word';
  return isPair ? cents.next : whole.next;
}

/** Decimals have at most this many words. */
const mostDecimals = 6;

function isBehindPoint(doc: Doc, i: number): boolean {
  let at = i - 1;
  while (at > i - mostDecimals && smallAt(doc.tokens, at)) at -= 1;
  return doc.word(at) === 'point';
}

/** Matches the cents behind "forty dollars": "and fifty cents", "fifty", "ninety nine". */
function withCents(doc: Doc, end: number): number {
  let at = end;
  if (doc.word(at) === ',') at += 1;
  const hasAnd = doc.word(at) === 'and';
  if (hasAnd) at += 1;
  const cents = smallAt(doc.tokens, at);
  if (!cents || cents.value >= 100) return end;
  if (coins.has(doc.word(cents.next))) return cents.next + 1;
  const after = doc.word(cents.next);
  // "Fifty three pounds twenty off me" may be heard as "of me".
  const isOff = /^(?:off|from|back|out)$/.test(after) || (after === 'of' && /^(?:me|us|my|our|you|your|the)$/.test(doc.word(cents.next + 1))); // prettier-ignore
  if (!isClauseEnd(doc, cents.next) && !isOff) return end;
  // "thirty eight dollars and thirty six": the word "cents" is often swallowed.
  const isBare = hasAnd ? cents.value >= 10 : cents.value >= (at === end ? 5 : 20);
  return isBare ? cents.next : end;
}

/** Finds prices without a currency. This runs after the finders of codes, phone numbers and times. */
export function findPrices(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const end = bare(doc, i);
    if (end > 0 && doc.claim('MONEY', i, end)) i = end - 1;
    else if (doc.tokens[i]?.kind !== 'mark') i = Math.max(i, skipNumber(doc, i) - 1);
  }
}

function skipNumber(doc: Doc, i: number): number {
  return cardinalAt(doc.tokens, i)?.next ?? i + 1;
}

function bare(doc: Doc, i: number): number {
  const whole = cardinalAt(doc.tokens, i);
  if (!whole) return 0;
  const cents = smallAt(doc.tokens, whole.next);
  const isWrittenPrice = /^\d+\.\d{2}$/.test(
    doc.text.slice(doc.tokens[i]?.start, doc.tokens[whole.next - 1]?.end),
  );
  const isPair =
    cents !== undefined &&
    cents.value >= 5 &&
    cents.value < 100 &&
    cents.value >= 10 &&
    whole.value < 1_000 &&
    whole.value > 0 &&
    doc.tokens[i]?.kind === 'word' &&
    doc.tokens[whole.next]?.spaced === true;
  const end = isPair ? cents.next : whole.next;
  if (isMeasured(doc, end) || smallAt(doc.tokens, end)) return 0;
  if (isPerUnit(doc, end) && (isPair || isWrittenPrice)) return end;
  if (isPair && isShopPrice(doc, i, cents.value)) return end;
  if (!hasPriceBefore(doc, i)) return 0;
  if (isPair || isWrittenPrice) return end;
  return whole.value >= 5 && isPriceObject(doc, i) && isClauseEnd(doc, end) ? end : 0;
}

/** Matches the unit of a price: "a month", "per visit", "each". */
function isPerUnit(doc: Doc, end: number): boolean {
  const word = doc.word(end);
  if (word === 'per' || word === 'each' || word === 'apiece') return true;
  return (
    /^(?:a|an|every)$/.test(word) &&
    /^(?:month|year|week|day|visit|hour|piece|person|night|item|pop|time|session)$/.test(
      doc.word(end + 1),
    )
  );
}

/** True if a price word stands close before the number, or "for" or "it's" does and the sentence has a price word. */
function hasPriceBefore(doc: Doc, i: number): boolean {
  for (let at = i - 1; at >= Math.max(0, i - 7); at--) {
    if (/[.?!]/.test(doc.word(at))) return false;
    if (priceWords.has(doc.word(at))) return true;
    if (
      /^(?:at|by|until|around|on|from|before|after)$/.test(doc.word(at)) &&
      at === i - 1 &&
      !/^(?:at)$/.test(doc.word(at))
    )
      return false;
  }
  const previous = doc.word(i - 1);
  const isBought =
    /^(?:bought|sold|sells|offer|offered|pay|get|got|went|go|is|was|it's|for|that's)$/.test(
      previous,
    );
  return (
    isBought &&
    doc.tokens.some((token, at) => priceWords.has(token.lower) && Math.abs(at - i) < 12) &&
    !/^(?:it's|is|was|that's)$/.test(previous)
  );
}

/** "Ninety nine" or "ninety five" behind a number are cents if something "is", "was" or "costs" that much. */
function isShopPrice(doc: Doc, i: number, cents: number): boolean {
  return (
    (cents === 99 || cents === 95) &&
    /^(?:it's|is|was|were|now|just|only|for|that's|be|about|at)$/.test(doc.word(i - 1))
  );
}

function isPriceObject(doc: Doc, i: number): boolean {
  return /^(?:me|us|him|her|them|you|of|is|was|for|paid|pay|charged|owe|cost|costs|about|only|just|another|extra|refund|refunded|refunding|charge|charges|charging|paying|owes|owed)$/.test(
    doc.word(i - 1),
  );
}

function isClauseEnd(doc: Doc, end: number): boolean {
  const token = doc.tokens[end];
  return (
    !token ||
    token.kind === 'mark' ||
    /^(?:for|and|but|on|to|from|when|which|that|because|so|in|this|last|yesterday|today|instead|not|with|plus|more|extra|already|or|per|a|each|twice|every|by|total|altogether|tax)$/.test(
      token.lower,
    )
  );
}

const measures = new Set(
  "minute minutes hour hours day days week weeks month months year years times time percent people gb mb gigabyte gigabytes gig gigs megabits megabit mile miles km inch inches feet degrees calls pages items units channels o'clock am pm a.m p.m second seconds business working other more different users devices emails letters messages am pm % years' st nd rd th".split(
    ' ',
  ),
);

function isMeasured(doc: Doc, end: number): boolean {
  return measures.has(doc.word(end)) && doc.word(end) !== 'more';
}
