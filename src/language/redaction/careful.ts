import { cueOf, type Cue } from '../entities/code-cues.ts';
import { isExplained, runAt, runOf, type Run } from '../entities/code-runs.ts';
import { isMonthName } from '../entities/dates.ts';
import type { Doc } from '../entities/doc.ts';
import {
  base,
  casedAs,
  cityEnd,
  closesClause,
  family,
  given,
  isCommon,
  isOtherCapital,
  organizationPhrases,
} from '../entities/gazetteer.ts';
import { spellingEnd } from '../entities/spelled.ts';
import { claimEmails } from '../entities/web.ts';
import { dayAt, smallAt, yearAt } from '../text/numbers.ts';

/**
 * Two passes around the finders, used by redaction only. A finder is judged by its labels, so a wrong label costs as
 * much as a missing one. For redaction, a name that stays is worse than a word too many that goes.
 *
 * This pass claims spans before the finders run. A finder gives up when a recogniser has misheard a digit of a card
 * number. Redaction must remove those digits anyway, so this pass goes by the words around them. It claims requested
 * types only.
 */
export function claimCarefully(doc: Doc, wanted: ReadonlySet<string> | undefined): void {
  const wants = (type: string): boolean => !wanted || wanted.has(type);
  if (wants('EMAIL_ADDRESS')) claimEmails(doc, true);
  if (wants('BANK_ACCOUNT')) claimIbans(doc);
  if (wants('CREDIT_CARD')) claimCards(doc, digitRuns(doc));
  if (wants('CREDIT_CARD_EXPIRATION')) claimExpiries(doc);
  // A card, its date and its security code may have been one run, so the rest of that run is searched again.
  const runs = digitRuns(doc);
  if (wants('CVV')) claimSecurityCodes(doc, runs);
  if (wants('ROUTING_NUMBER')) claimRouting(doc, runs);
  if (wants('BANK_ACCOUNT')) claimBankAccounts(doc, runs);
  if (wants('PHONE_NUMBER')) claimPhones(doc, runs);
}

function digitRuns(doc: Doc): Run[] {
  const runs: Run[] = [];
  for (let i = 0; i < doc.tokens.length; i++) {
    const run = runAt(doc, i, false);
    if (!run) continue;
    runs.push(run);
    i = Math.max(i, run.to - 1);
  }
  return runs;
}

const otherNumbers = new Set<Cue['kind']>(['id', 'vehicle', 'health', 'passport', 'license']);

/** Claims a run as long as a card number without checking the digit: one misheard digit would make it wrong. */
function claimCards(doc: Doc, runs: readonly Run[]): void {
  for (const run of runs) {
    if (run.digits >= 4 && isPieceOfCard(doc, run.from)) {
      doc.claim('CREDIT_CARD', run.from, run.to);
      continue;
    }
    if (run.digits < 12) continue;
    const cue = cueOf(doc, run.from, run.to);
    // Digits inside an IBAN have no space before them.
    if (!doc.tokens[run.from]?.spaced && doc.tokens[run.from - 1]?.kind === 'word') continue;
    // The shortest debit card numbers have twelve digits, as some phone numbers do.
    if (run.digits < 13 && cue?.kind !== 'card') continue;
    if (cue?.adjacent && otherNumbers.has(cue.kind)) continue;
    // A first digit that was misheard or lost is no proof against a run as long as a card number.
    if (!/^[2-6]/.test(run.chars) && cue?.kind !== 'card' && !isCardLong(run)) continue;
    const length = /^3[47]/.test(run.chars) ? 15 : 16;
    // Speakers often add the date and the security code of a card without a pause.
    const head = headOf(run, length) ?? (run.digits <= 19 ? run : undefined);
    if (head) doc.claim('CREDIT_CARD', head.from, head.to);
  }
}

function isCardLong({ digits }: Run): boolean {
  return digits === 15 || digits === 16;
}

/** True behind "the rest of the card is" or "the end of my card number". */
function isPieceOfCard(doc: Doc, from: number): boolean {
  let isCard = false;
  for (let at = from - 1; at >= Math.max(0, from - 8); at--) {
    if (/^[.!?;]$/.test(doc.word(at))) return false;
    if (/^(?:card|cards)$/.test(doc.word(at))) isCard = true;
    if (isCard && /^(?:rest|end|beginning|start|half|remainder)$/.test(doc.word(at))) return true;
  }
  return false;
}

/** The start of a run with exactly this many digits. */
function headOf(run: Run, digits: number): Run | undefined {
  let length = 0;
  for (const [index, piece] of run.pieces.entries()) {
    length += piece.chars.length;
    if (length === digits) return runOf(run.pieces.slice(0, index + 1));
    if (length > digits) return undefined;
  }
  return undefined;
}

const betweenCueAndDate =
  /^(?:is|it's|its|was|are|date|dates|in|the|of|end|at|on|um|uh|er|and|month|until|till|to|thru|through|by|says|just|month|that's|i|think|believe|me|see|it|then|so|yeah|yes|okay|for|my|card|this|[:.,-])$/;

/**
 * The date of a card stands at most this many tokens behind its cue: "the expiry date on it is um let me see oh nine
 * twenty seven".
 */
const expiryReach = 14;

function claimExpiries(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    const cueEnd = expiryCueEnd(doc, i);
    if (cueEnd === 0 || isOtherExpiry(doc, i)) continue;
    for (let at = cueEnd; at < Math.min(doc.tokens.length, cueEnd + expiryReach); at++) {
      const end = cardDateEnd(doc, at);
      if (end > 0) {
        doc.claim('CREDIT_CARD_EXPIRATION', at, end);
        // In "valid from May 23 to May 28" both dates are on the card.
        if (!/^(?:to|until|till|through)$/.test(doc.word(end))) break;
        at = end;
        continue;
      }
      if (!betweenCueAndDate.test(doc.word(at))) break;
    }
  }
  for (const run of digitRuns(doc))
    if (isSurelyCardDate(doc, run)) doc.claim('CREDIT_CARD_EXPIRATION', run.from, run.to);
  // Behind a claimed card number, a month and a year need no cue.
  for (let i = 1; i < doc.tokens.length; i++)
    if (doc.spanEndingAt(i - 1)?.type === 'CREDIT_CARD') {
      let at = i;
      while (/^(?:[,.;-]|and|um|uh|then)$/.test(doc.word(at)) && at < i + 4) at += 1;
      const end = cardDateEnd(doc, at);
      if (end > 0) doc.claim('CREDIT_CARD_EXPIRATION', at, end);
    }
}

/**
 * "Oh nine twenty seven" and "nine slash twenty seven" are nothing else than the date of a card, whatever words stand
 * around them: days and times are said without the zero and without the slash.
 */
function isSurelyCardDate(doc: Doc, run: Run): boolean {
  if (doc.isTaken(run.from) || isExplained(doc, run)) return false;
  if (doc.asked.length > 0 && !doc.asked.some((kind) => /^(?:card|cvv|expiry)$/.test(kind)))
    return false;
  const last = run.pieces.at(-1);
  if (!/^(?:0?\d|1[0-2])(?:20)?(?:2[4-9]|3\d)$/.test(run.chars) || last === undefined) return false;
  // A code or a telephone number is said digit by digit.
  if (last.chars.length < 2) return false;
  const isSlashed = /^(?:slash|stroke)$/.test(doc.word(last.from - 1));
  const cue = cueOf(doc, run.from, run.to);
  const isOther = cue !== undefined && !/^(?:card|cvv|expiry|number)$/.test(cue.kind);
  return (run.chars.startsWith('0') || isSlashed) && !(isOther && cue.adjacent);
}

function expiryCueEnd(doc: Doc, i: number): number {
  const word = doc.word(i);
  const next = doc.word(i + 1);
  if (/^(?:expir(?:y|ation|es|ing|e|ed)|exp)$/.test(word) || soundsLikeExpiry.test(word))
    return i + 1;
  const isUntil = /^(?:until|till|til|thru|through|to|from)$/.test(next);
  if (/^(?:valid|good)$/.test(word) && isUntil) return i + 2;
  if (/^(?:run|runs|running)$/.test(word) && next === 'out') return i + 2;
  if (/^(?:runs|lasts|goes)$/.test(word) && isUntil) return i + 2;
  if (word === 'date' && next === 'on') return i + 2;
  if (word === 'month' && next === 'and' && doc.word(i + 2) === 'year') return i + 3;
  return 0;
}

/** Words that a recogniser makes of "expires", "expiry" and "expiration". */
const soundsLikeExpiry =
  /^(?:x?p|exp[iey]\w{0,4}|xpir\w*|(?:in|a|re|e|de)?spir(?:e|es|ed|y|ation)|exploration|expedition|expert)$/;

function isOtherExpiry(doc: Doc, i: number): boolean {
  for (let at = Math.max(0, i - 8); at < i; at++)
    if (
      /^(?:contract|policy|passport|warranty|licen[cs]e|subscription|plan|membership|offer|lease|voucher|coupon|ticket|insurance|trial|guarantee)$/.test(
        doc.word(at),
      )
    )
      return true;
  return false;
}

/** The end of a month and a year that begin at the token, in any spoken form, or 0. */
export function cardDateEnd(doc: Doc, i: number): number {
  if (doc.isTaken(i)) return 0;
  if (isMonthName(doc.word(i))) return shortYearEnd(doc, i + 1);
  const run = runAt(doc, i, false);
  if (run?.from === i) {
    // The longest match wins: "one two two seven" is December 27, not January 22.
    for (const length of [8, 6, 4, 3]) {
      const head = headOf(run, length);
      if (head && isMonthAndYear(head.chars)) return head.to;
    }
  }
  if (run?.from === i && run.digits <= 2 && Number(run.chars) <= 12 && doc.word(run.to) === 'of') {
    // "oh five of two thousand twenty seven"
    const end = shortYearEnd(doc, run.to);
    if (end > 0) return end;
  }
  // Matches the month by its number: "first of thirty one", "seven year twenty nine".
  const month = dayAt(doc.tokens, i);
  if (!month || month.value > 12) return 0;
  const isNamed = doc.word(month.next) === 'month';
  const next = isNamed ? month.next + 1 : month.next;
  if (isNamed) {
    const end = shortYearEnd(doc, next);
    if (end > 0) return end;
  }
  if (/^(?:of|year)$/.test(doc.word(next))) return shortYearEnd(doc, next);
  return 0;
}

function shortYearEnd(doc: Doc, i: number): number {
  let at = i;
  while (/^(?:of|year|,|'|’|\.)$/.test(doc.word(at)) && at < i + 3) at += 1;
  const year = yearAt(doc.tokens, at);
  if (year) return year.next;
  const small = smallAt(doc.tokens, at);
  return small && small.value >= 20 && small.value <= 45 ? small.next : 0;
}

export function isMonthAndYear(chars: string): boolean {
  // Accepts a day before or behind the month. Few cards have one, but many callers say one.
  if (chars.length === 8)
    return isMonthAndYear(chars.slice(2)) || isMonthAndYear(chars.slice(0, 2) + chars.slice(4));
  const digits = chars.length === 3 ? `0${chars}` : chars;
  const month = Number(digits.slice(0, 2));
  const year = digits.slice(2);
  return month >= 1 && month <= 12 && /^(?:20)?(?:2\d|3\d|4[0-5])$/.test(year);
}

/** A cue stands at most this many tokens before or behind its digits. */
const codeReach = 9;

function claimSecurityCodes(doc: Doc, runs: readonly Run[]): void {
  for (const run of runs) {
    if ((run.digits !== 3 && run.digits !== 4) || doc.isTaken(run.from)) continue;
    if (/^(?:percent|dollars|pounds|euros|minutes|days|hours|times)$/.test(doc.word(run.to)))
      continue;
    if (isExplained(doc, run)) continue;
    const isCued = hasSecurityCue(doc, run);
    const isBehindCard = followsCard(doc, run.from);
    if (isCued || isBehindCard || isCalledCode(doc, run.from)) doc.claim('CVV', run.from, run.to);
  }
}

/** True if a security code is named before or behind the digits in the same sentence. */
function hasSecurityCue(doc: Doc, run: Run): boolean {
  for (let at = run.from - 1; at >= Math.max(0, run.from - codeReach); at--) {
    if (/^[.!;]$/.test(doc.word(at))) break;
    if (isSecurityCue(doc, at)) return true;
  }
  for (let at = run.to; at < Math.min(doc.tokens.length, run.to + codeReach); at++) {
    if (/^[.!;]$/.test(doc.word(at))) break;
    if (isSecurityCue(doc, at)) return true;
  }
  return false;
}

function isSecurityCue(doc: Doc, i: number): boolean {
  const word = doc.word(i);
  const next = doc.word(i + 1);
  if (/^(?:cvv|cvc|cvv2|csc|cid|cv2)$/.test(word)) return true;
  if (word === 'c' && next === 'v') return true;
  if (
    /^(?:security|verification|safety)$/.test(word) &&
    /^(?:code|number|digits|figures|pin)$/.test(next)
  )
    return true;
  if (/^(?:three|four|3|4)$/.test(word))
    return /^(?:digits?|numbers|figures?)$/.test(doc.word(next === '-' ? i + 2 : i + 1));
  if (word === 'security' && /^(?:is|:)$/.test(next)) return true;
  if (word === 'security' && /^(?:amex|card|visa)$/.test(doc.word(i - 1))) return true;
  if (/^(?:back|front|reverse|signature)$/.test(word))
    return (
      /^(?:the|my|your)$/.test(doc.word(i - 1)) &&
      !/^(?:desk|door|office|page|seat|row|garden|yard|entrance|gate|room)$/.test(next)
    );
  return false;
}

/** True if the digits stand directly behind a card or its date, with at most marks between. */
function followsCard(doc: Doc, from: number): boolean {
  let at = from - 1;
  while (at >= 0 && /^(?:[,.;-]|and|um|uh|then)$/.test(doc.word(at))) at -= 1;
  return /^CREDIT_CARD/.test(doc.spanEndingAt(at)?.type ?? '');
}

/** True for "the code is 905", but not for the code of an error or of a place. */
function isCalledCode(doc: Doc, from: number): boolean {
  for (let at = from - 1; at >= Math.max(0, from - 4); at--)
    if (doc.word(at) === 'code')
      return !/^(?:error|area|zip|post|postal|country|dialling|dialing|product|promo|discount|sort|access|fault|status|bank|voucher)$/.test(
        doc.word(at - 1),
      );
  return false;
}

function claimRouting(doc: Doc, runs: readonly Run[]): void {
  for (const run of runs) {
    if (run.digits < 6 || run.digits > 10 || doc.isTaken(run.from)) continue;
    const cue = cueOf(doc, run.from, run.to);
    if (cue?.kind === 'routing' || isBehindBankCode(doc, run.from))
      doc.claim('ROUTING_NUMBER', run.from, run.to);
  }
}

/** True behind a name that banks of other countries use for their number. */
function isBehindBankCode(doc: Doc, from: number): boolean {
  for (let at = from - 1; at >= Math.max(0, from - 6); at--) {
    if (/^(?:transit|bsb|rtn|blz)$/.test(doc.word(at))) return true;
    if (doc.word(at) === 'code' && doc.word(at - 1) === 'bank') return true;
  }
  return false;
}

function claimBankAccounts(doc: Doc, runs: readonly Run[]): void {
  for (const run of runs) {
    if (run.digits < 6 || run.digits > 17 || doc.isTaken(run.from)) continue;
    const cue = cueOf(doc, run.from, run.to);
    const isAccount = cue?.kind === 'account' && /^(?:account|acct|acc)$/.test(doc.word(cue.at));
    // Fewer than eight digits are usually a customer number, unless the talk is of money.
    const isBanks = isAccount && !isCustomers(doc, cue.at) && run.digits >= 8;
    if (
      cue?.kind === 'bank' ||
      isBanks ||
      (isAccount && isPaymentTalk(doc, run)) ||
      (!cue?.adjacent && isPaidTo(doc, run.from))
    )
      doc.claim('BANK_ACCOUNT', run.from, run.to);
  }
}

/** True for "customer account" or "my electricity account". */
function isCustomers(doc: Doc, cue: number): boolean {
  return /^(?:customer|client|user|member|loyalty|rewards|electricity|gas|water|energy|broadband|phone|mobile|internet|online|utility|store)$/.test(
    doc.word(cue - 1),
  );
}

/** True for "send the money to" or "take it from". "Transfer" alone is not enough: callers are transferred too. */
function isPaidTo(doc: Doc, from: number): boolean {
  if (/^(?:credit|debit)$/.test(doc.word(from - 1))) return true;
  if (!/^(?:to|into|from)$/.test(doc.word(from - 1))) return false;
  let isPaid = false;
  for (let at = from - 2; at >= Math.max(0, from - 8); at--) {
    if (/^(?:me|us|you|call|calls|caller)$/.test(doc.word(at))) return false;
    if (/^(?:transfer|wire|deposit|money|refund|pay|payment|funds)$/.test(doc.word(at)))
      isPaid = true;
  }
  return isPaid;
}

/**
 * Claims IBANs by their form and the word beside them. The checksum is not required: one misheard letter makes it
 * wrong.
 */
function claimIbans(doc: Doc): void {
  const cue = doc.tokens.findIndex(
    (token, i) =>
      token.lower === 'iban' ||
      (token.lower === 'i' && doc.word(i + 1) === 'b' && doc.word(i + 2) === 'a'),
  );
  if (cue < 0) return;
  for (let i = 0; i < doc.tokens.length; i++) {
    if (i === cue) i += doc.word(i) === 'i' ? 4 : 1;
    const run = runAt(doc, i, true);
    if (!run) continue;
    const isNear = run.from > cue && run.from - cue <= 12 && run.chars.length >= 12;
    if (isNear || /^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/.test(run.chars))
      doc.claim('BANK_ACCOUNT', run.from, run.to);
    i = Math.max(i, run.to - 1);
  }
}

function isPaymentTalk(doc: Doc, run: Run): boolean {
  for (let i = Math.max(0, run.from - 20); i < run.to + 10; i++)
    if (
      /^(?:debit|debits|debited|transfer|transferred|wire|wired|refund|refunded|deposit|deposited|pay|paid|payment|payments|payout|bank|banking|sort|routing|iban|checking|chequing|savings|aba|swift|bsb|rtn|giro|credit|credited|payee|beneficiary)$/.test(
        doc.word(i),
      )
    )
      return true;
  return false;
}

const notPhones = new Set<Cue['kind']>([
  'id',
  'account',
  'bank',
  'card',
  'routing',
  'ssn',
  'health',
  'vehicle',
  'passport',
  'license',
  'zip',
  'birth',
]);

/** Claims ten to thirteen digits that no word explains otherwise, or seven digits behind a word of calling. */
function claimPhones(doc: Doc, runs: readonly Run[]): void {
  for (const whole of runs) {
    // In "212-555-0162, 14 Rosewood Court" the house number is not part of the phone number.
    const head = headOf(whole, 10);
    const run = head && isWrittenPhone(head) && doc.word(head.to) === ',' ? head : whole;
    if (run.digits < 7 || run.digits > 14 || doc.isTaken(run.from)) continue;
    const cue = cueOf(doc, run.from, run.to);
    const isOther = cue && notPhones.has(cue.kind) && cue.adjacent;
    // Digits written as 3-3-4 are a phone number, even if the word behind them suggests a file number: "303-555-0119 on
    // file".
    if (isOther && (cue.at < run.from || !isWrittenPhone(run))) continue;
    const isPlus = /^(?:\+|plus)$/.test(doc.word(run.from - 1));
    const isLong = run.digits >= 10 && run.digits <= 13 && run.pieces.length >= 2;
    if (!isLong && !isPlus && cue?.kind !== 'phone') continue;
    doc.claim('PHONE_NUMBER', isPlus ? run.from - 1 : run.from, run.to);
  }
}

function isWrittenPhone(run: Run): boolean {
  return /^(?:1-)?3-3-4$/.test(run.pieces.map((piece) => piece.chars.length).join('-'));
}

/**
 * Claims unknown words where a sentence expects a name. This runs after the finders. No list holds every name, so a
 * word that is on no list and stands in the place of a name counts as one.
 */
export function claimNamesCarefully(doc: Doc, wanted: ReadonlySet<string> | undefined): void {
  if (wanted && !wanted.has('NAME_GIVEN')) return;
  for (let i = 0; i < doc.tokens.length; i++) {
    if (!isUnknownWord(doc, i) || !isNamePlace(doc, i)) continue;
    let end = i + 1;
    while (end < i + 4 && (isUnknownWord(doc, end) || isKnownName(doc, end))) end += 1;
    doc.claimName(end > i + 1 ? 'NAME' : 'NAME_GIVEN', i, end);
    i = end - 1;
  }
  claimSpellings(doc);
}

/** Claims letters that spell a name: "demir, d e m i r". */
function claimSpellings(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    const end = spellingEnd(doc, i);
    if (end === 0) continue;
    let at = i - 1;
    while (
      at > i - 6 &&
      !doc.isTaken(at) &&
      /^(?:[,.:-]|that's|that|is|it's|spelled|spelt|um|uh|so)$/.test(doc.word(at))
    )
      at -= 1;
    const initials = (doc.spanEndingAt(at)?.type.startsWith('NAME') ?? false) && doc.word(i) !== '';
    if (initials && doc.isFree(i, end)) doc.claim('NAME_GIVEN', i, end);
    i = end - 1;
  }
}

/**
 * True if the word is on no list of everyday words, places, firms, days or products. In a text with capitals it needs
 * one.
 */
function isUnknownWord(doc: Doc, i: number): boolean {
  const token = doc.tokens[i];
  if (token?.kind !== 'word' || doc.isTaken(i) || token.lower.length < 3) return false;
  if (doc.hasCase ? !token.capital : !/^\p{L}[\p{L}'-]+$/u.test(token.lower)) return false;
  const word = base(token.lower);
  if (isCommon(word) || isOtherCapital(word) || /(?:ing|ly|n't|'(?:m|re|ve|ll|d))$/.test(word))
    return false;
  if (token.text.length > 1 && token.text === token.text.toUpperCase() && doc.hasCase) return false;
  return organizationPhrases.match(doc.tokens, i) === 0 && cityEnd(doc, i) === 0;
}

function isKnownName(doc: Doc, i: number): boolean {
  const word = base(doc.word(i));
  return doc.isFree(i, i + 1) && (given.has(word) || family.has(word)) && casedAs(doc, i);
}

const greetings =
  /^(?:hi|hello|hey|dear|morning|afternoon|evening|thanks|cheers|bye|goodbye|okay|ok|alright|right|then|well|sorry|yes|yeah|yep|sure|perfect|great|lovely|welcome|back|please|so|no)$/;

/** True if the words around the token are typical of a name. */
function isNamePlace(doc: Doc, i: number): boolean {
  let at = i - 1;
  while (/^(?:um|uh|er|,|:|like)$/.test(doc.word(at)) && at > i - 4) at -= 1;
  const one = doc.word(at);
  const two = doc.word(at - 1);
  const isComma = doc.word(i - 1) === ',';
  const ends = closesClause(doc, i + 1);
  if (greetings.test(one) && (ends || doc.word(i + 1) === 'i')) return true;
  if (one === 'you' && two === 'thank') return true;
  if (one === 'reached' && /^(?:you've|have|you)$/.test(two)) return true;
  if (/^(?:spelled|spelt)$/.test(one) || spellingEnd(doc, i + 1) > 0) return true;
  if (/^(?:named|under|name's)$/.test(one) || (one === 'called' && two !== 'i')) return true;
  if (/^(?:name|surname|behalf)$/.test(two) && /^(?:is|was|of|to)$/.test(one)) return true;
  if (/^(?:name|surname)$/.test(one)) return true;
  if (
    /^(?:to|with)$/.test(one) &&
    /^(?:speak|speaking|spoke|talk|talked|talking|through)$/.test(two)
  )
    return true;
  if (one === 'with' && /^(?:dealt|spoken|chatted)$/.test(two)) return true;
  if (one === 'for' && /^(?:booking|reservation|ticket|ask|asking|asked|looking)$/.test(two))
    return ends;
  if (
    /^(?:is|that|it's|this)$/.test(one) &&
    /^(?:there|around|home|available|speaking|here)$/.test(doc.word(i + 1))
  )
    return true;
  if (isSurnameOf(doc, i + 1)) return true;
  // "Is that Wanjiru?", "This is Wanjiru": this sign counts only in a text with capitals.
  if (doc.hasCase && /^(?:is|am|i'm|it's|that's|you're)$/.test(one)) return ends;
  // A word between a comma and the end of the sentence is a person who is spoken to.
  if (doc.hasCase && isComma && /^(?:|[.?!,])$/.test(doc.word(i + 1))) return true;
  if (doc.hasCase && doc.startsSentence(i) && doc.word(i + 1) === ',') return true;
  return /^(?:told|promised|speaking)$/.test(doc.word(i + 1));
}

/** Matches what follows a surname: "... is my last name", "the ... residence". */
function isSurnameOf(doc: Doc, next: number): boolean {
  if (/^(?:residence|household)$/.test(doc.word(next))) return true;
  if (!/^(?:is|was|'s)$/.test(doc.word(next))) return false;
  const at = /^(?:the|my|his|her|our|their)$/.test(doc.word(next + 1)) ? next + 2 : next + 1;
  return (
    /^(?:surname|name)$/.test(doc.word(at)) ||
    (/^(?:first|last|family|maiden|middle)$/.test(doc.word(at)) && doc.word(at + 1) === 'name')
  );
}
