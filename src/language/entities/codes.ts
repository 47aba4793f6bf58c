import { isIban, isLuhn } from '../text/check-digits.ts';
import { runAt, type Run } from './code-runs.ts';
import { cueOf, type Cue } from './code-cues.ts';
import type { Doc } from './doc.ts';
import { isMonthName } from './dates.ts';
import { stateEnd } from './gazetteer.ts';
import { smallAt, yearAt } from '../text/numbers.ts';

/** Finds cards, bank accounts, phone numbers, post codes and every number that a word beside it makes an id. */
export function findCodes(doc: Doc): void {
  claimExpiries(doc);
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const run = runAt(doc, i, true);
    if (!run) continue;
    const end = classify(doc, run);
    // The position never moves back, so at most two runs look at the same token.
    i = Math.max(i, end - 1);
  }
}

/** Claims the run and returns the token at which the search continues. */
function classify(doc: Doc, run: Run): number {
  if (run.chars.length < 3) return run.to;
  const cue = cueOf(doc, run.from, run.to, run.digits);
  const special = cardOrBank(doc, run, cue);
  if (special > 0) return special;
  if (cue?.kind === 'none' && cue.adjacent) return run.to;
  const typed = cue ? byCue(doc, run, cue) : undefined;
  const type = typed ?? byShape(doc, run, cue);
  if (type === 'skip' || type === undefined) return run.to;
  let from = run.from;
  const before = doc.tokens[from - 1];
  // The plus or the opening bracket of a written number belongs to it.
  if (
    before &&
    /[+(]/.test(before.text) &&
    !(doc.tokens[from]?.spaced ?? true) &&
    !doc.isTaken(from - 1)
  )
    from -= 1;
  if (type === 'PHONE_NUMBER') {
    if (doc.tokens[from - 1]?.text === '+') from -= 1;
    if (doc.word(from - 1) === 'plus') from -= 1;
  }
  doc.claim(type, from, run.to);
  return run.to;
}

function cardOrBank(doc: Doc, run: Run, cue: Cue | undefined): number {
  if (/^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/.test(run.chars) && isIban(run.chars)) {
    doc.claim('BANK_ACCOUNT', run.from, run.to);
    return run.to;
  }
  if (run.digits < 13 || (cue?.kind === 'id' && cue.adjacent && run.letters > 0)) return 0;
  // The date or the security code of a card may follow it without a pause, so the starts of the run are tried too.
  // Sixteen digits are tried before fifteen; other lengths only if the run ends there.
  const heads: { to: number; chars: string; isAll: boolean }[] = [];
  let chars = '';
  for (const [index, part] of run.pieces.entries()) {
    chars += part.chars;
    if (!part.isDigits || chars.length > 19) break;
    if (chars.length >= 13)
      heads.push({ to: part.to, chars, isAll: index === run.pieces.length - 1 });
  }
  const isCard = (head: { chars: string }): boolean =>
    isLuhn(head.chars) && /^[3-6]/.test(head.chars);
  const found =
    heads.find((head) => head.chars.length === 16 && isCard(head)) ??
    heads.find((head) => head.chars.length === 15 && isCard(head)) ??
    heads.find((head) => head.isAll && isCard(head) && cue?.kind === 'card') ??
    heads.find((head) => head.isAll && cue?.kind === 'card' && /^\d{15,16}$/.test(head.chars));
  if (!found) return 0;
  doc.claim('CREDIT_CARD', run.from, found.to);
  return found.to;
}

function byCue(doc: Doc, run: Run, cue: Cue): string | undefined {
  const { digits, letters, chars } = run;
  const onlyDigits = letters === 0;
  const isCodeLike =
    digits >= 3 ||
    (digits >= 1 && letters >= 1 && cue.adjacent && chars.length >= 3) ||
    (letters >= 5 && run.pieces.length >= 5) ||
    (letters >= 5 && cue.adjacent && /[^a-z]/.test(doc.tokens[run.from]?.text ?? ''));
  const far = !cue.adjacent;
  switch (cue.kind) {
    case 'card':
      return undefined;
    case 'cvv':
      return onlyDigits && (digits === 3 || digits === 4) ? 'CVV' : undefined;
    case 'expiry':
      return onlyDigits && isExpiry(doc, run) ? 'CREDIT_CARD_EXPIRATION' : undefined;
    case 'ssn':
      return onlyDigits && (digits === 9 || (digits === 4 && cue.adjacent)) ? 'SSN' : undefined;
    case 'routing':
      return onlyDigits && (digits === 9 || digits === 6) ? 'ROUTING_NUMBER' : undefined;
    case 'bank':
      return digits >= 6 ? 'BANK_ACCOUNT' : undefined;
    case 'zip':
      return isPostcode(chars) ? 'LOCATION_ZIP' : undefined;
    case 'phone':
      return onlyDigits && digits >= 7 && digits <= 15 ? 'PHONE_NUMBER' : undefined;
    case 'account':
      if (!isCodeLike || (far && digits < 5) || isQuantity(doc, run)) return undefined;
      return isBankTalk(doc, run) ? 'BANK_ACCOUNT' : 'ACCOUNT_NUMBER';
    case 'health':
      return isCodeLike && !(far && digits < 5) ? 'HEALTHCARE_NUMBER' : undefined;
    case 'vehicle':
      return chars.length >= 4 && chars.length <= 17 && isCodeLike ? 'VEHICLE_ID' : undefined;
    case 'passport':
      return digits >= 6 ? 'PASSPORT_NUMBER' : undefined;
    case 'license':
      return digits >= 4 ? 'DRIVER_LICENSE' : undefined;
    case 'id':
      if (!isCodeLike || isQuantity(doc, run)) return undefined;
      if (far && (digits < 5 || isPhoneShape(doc, run))) return undefined;
      return 'NUMERICAL_PII';
    case 'birth':
      return onlyDigits && digits >= 4 && digits <= 8 && run.pieces.length >= 2 ? 'DOB' : undefined;
    case 'number':
    case 'none':
      return undefined;
  }
}

function byShape(doc: Doc, run: Run, cue: Cue | undefined): string | undefined {
  const { digits, letters, chars } = run;
  if (letters > 0) {
    if (isBritishPostcode(chars) && doc.hasCase && run.pieces.length <= 4 && isWritten(doc, run))
      return 'LOCATION_ZIP';
    if (isBritishPostcode(chars) && run.pieces.length >= 5) return 'LOCATION_ZIP';
    if (cue?.kind === 'number' && cue.adjacent && digits >= 3) return 'NUMERICAL_PII';
    // A code that somebody spells out this carefully is personal.
    if (run.pieces.length >= 5 && digits >= 3) return 'NUMERICAL_PII';
    // A reference number: letters and many digits without a space.
    const isReference = digits >= 5 && letters >= 2 && /^[A-Z]{1,4}\d{5,}$/.test(chars);
    return isReference && isWritten(doc, run) ? 'NUMERICAL_PII' : undefined;
  }
  if (digits === 5 && isBehindState(doc, run.from)) return 'LOCATION_ZIP';
  const socialGroups = run.pieces.map((piece) => piece.chars.length).join('-');
  if (digits === 9 && socialGroups === '3-2-4' && doc.tokens[run.from + 1]?.text === '-')
    return 'SSN';
  if (digits === 4 && isMonthSlashYear(doc, run)) return 'CREDIT_CARD_EXPIRATION';
  if (isPhoneShape(doc, run)) return 'PHONE_NUMBER';
  if (isQuantity(doc, run)) return undefined;
  if (cue?.kind === 'number' && digits >= 7 && digits <= 11) return 'PHONE_NUMBER';
  if (cue?.kind === 'none') return undefined;
  if (cue?.kind === 'number' && cue.adjacent && digits >= 4) return 'NUMERICAL_PII';
  if (digits >= 6 && doc.tokens[run.from - 1]?.text === '#') return 'NUMERICAL_PII';
  // A long number spelled out digit by digit is personal, whatever it numbers.
  return digits >= 7 && (run.pieces.length >= 3 || isWritten(doc, run))
    ? 'NUMERICAL_PII'
    : undefined;
}

/** Matches a month and a year such as "oh four slash twenty nine". */
function isMonthSlashYear(doc: Doc, run: Run): boolean {
  const month = Number(run.chars.slice(0, 2));
  const year = Number(run.chars.slice(2));
  if (month < 1 || month > 12 || year < 20 || year > 45) return false;
  for (let i = run.from; i < run.to; i++) if (doc.word(i) === 'slash') return true;
  return false;
}

/** Claims the date of a card, a month and a year: "the expiry date is march twenty twenty seven". */
function claimExpiries(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (!isMonthName(doc.word(i)) || doc.isTaken(i)) continue;
    const next = doc.word(i + 1) === ',' ? i + 2 : i + 1;
    const isAsked = doc.asked.includes('expiry');
    const year = yearAt(doc.tokens, next) ?? (isAsked ? shortYearAt(doc, next) : undefined);
    if (!year) continue;
    const before = doc.tokens.slice(Math.max(0, i - 8), i).map((token) => token.lower);
    const isExpiry =
      isAsked || before.some((word) => /^(?:expir(?:y|ation|es|ing)|exp)$/.test(word));
    const isOther = before.some((word) =>
      /^(?:contract|policy|passport|warranty|licen[cs]e|subscription|plan|membership|visa|offer|lease)$/.test(
        word,
      ),
    );
    if (isExpiry && !isOther) doc.claim('CREDIT_CARD_EXPIRATION', i, year.next);
  }
}

/** Matches "March twenty nine" where somebody asked for the date of a card. */
function shortYearAt(doc: Doc, i: number): { next: number } | undefined {
  const small = smallAt(doc.tokens, i);
  return small && small.value >= 20 && small.value <= 45 ? small : undefined;
}

function isBehindState(doc: Doc, from: number): boolean {
  const end = doc.word(from - 1) === ',' ? from - 1 : from;
  for (let i = end - 3; i < end; i++) if (i >= 0 && stateEnd(doc, i, true) === end) return true;
  return false;
}

function isPhoneShape(doc: Doc, run: Run): boolean {
  const { chars, letters, digits } = run;
  if (letters > 0) return false;
  const groups = run.pieces.map((piece) => piece.chars.length).join('-');
  const plus = doc.tokens[run.from - 1]?.text === '+' || doc.word(run.from - 1) === 'plus';
  if (plus) return digits >= 8 && digits <= 15;
  if (digits === 10)
    return (
      /^[2-9]\d{2}[2-9]/.test(chars) ||
      /^0[1-9]/.test(chars) ||
      /^3-3-4/.test(groups) ||
      (/^[2-9]\d{2}[01]/.test(chars) && groups !== '10')
    );
  if (digits === 11) return /^(?:1[2-9]|0[1-9])/.test(chars);
  if (digits === 7) return (groups === '3-4' || run.pieces.length >= 5) && /^[2-9]/.test(chars);
  return digits === 12 && /^44/.test(chars);
}

/** Matches a number and the thing it counts: "300 units", "two hundred people". */
function isQuantity(doc: Doc, run: Run): boolean {
  if (run.pieces.length > 2 || run.letters > 0) return false;
  const next = doc.tokens[run.to];
  if (!next || next.kind !== 'word') return false;
  return /^(?:minutes?|hours?|days?|weeks?|months?|years?|times|percent|people|dollars?|pounds?|euros?|cents|pence|bucks|quid|gigs?|gigabytes?|megabits?|megabytes?|miles?|units?|pages?|items?|boxes|points?|degrees?|or|kilometers?|square|feet|of|calls?|users?|seats?|employees|customers|grams?|kilos?|watts?|volts?|channels?)$/.test(
    next.lower,
  );
}

function isWritten(doc: Doc, run: Run): boolean {
  return (
    run.pieces.some(
      (piece) => doc.tokens[piece.from]?.kind === 'number' && piece.chars.length >= 2,
    ) || /[A-Z]{2}/.test(doc.tokens[run.from]?.text ?? '')
  );
}

function isBankTalk(doc: Doc, run: Run): boolean {
  for (let i = Math.max(0, run.from - 20); i < run.to + 6; i++)
    if (/^(?:routing|sort|iban|bank|checking|savings|swift|aba)$/.test(doc.word(i))) return true;
  return false;
}

function isExpiry(doc: Doc, run: Run): boolean {
  const chars = run.chars.length === 3 ? `0${run.chars}` : run.chars;
  const month = Number(chars.slice(0, 2));
  if (month < 1 || month > 12) return false;
  // Only dates of cards count. "A product expires 2027" has no month.
  return chars.length === 4
    ? !/^(?:19|20)/.test(run.pieces[0]?.chars ?? '') || run.pieces.length > 1
    : chars.length === 6 && doc.tokens.length > 0;
}

const britishPostcode = /^(?:[A-Z]\d{1,2}|[A-Z]{2}\d{1,2}|[A-Z]\d[A-Z]|[A-Z]{2}\d[A-Z])\d[A-Z]{2}$/;

function isBritishPostcode(chars: string): boolean {
  return britishPostcode.test(chars) && chars.length <= 7;
}

function isPostcode(chars: string): boolean {
  return (
    /^\d{4,6}$|^\d{9}$/.test(chars) ||
    isBritishPostcode(chars) ||
    /^[A-Z]\d[A-Z]\d[A-Z]\d$/.test(chars) ||
    britishPostcode.test(chars.replace(/O/g, '0')) ||
    /^\d{4}[A-Z]{2}$/.test(chars)
  );
}
