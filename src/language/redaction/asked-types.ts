import { secretKinds } from '../entities/asked-secrets.ts';
import { cueOf } from '../entities/code-cues.ts';
import { isExplained, runAt, type Run } from '../entities/code-runs.ts';
import type { CueKind } from '../entities/cue-kinds.ts';
import type { Doc } from '../entities/doc.ts';
import { isNamedOtherwise } from './named-otherwise.ts';
import { claimLikeDigits } from './short-answers.ts';
import { cardDateEnd, isMonthAndYear } from './careful.ts';

const typeOf: Partial<Record<CueKind, string>> = {
  card: 'CREDIT_CARD',
  cvv: 'CVV',
  expiry: 'CREDIT_CARD_EXPIRATION',
  ssn: 'SSN',
  routing: 'ROUTING_NUMBER',
  bank: 'BANK_ACCOUNT',
  account: 'ACCOUNT_NUMBER',
  id: 'NUMERICAL_PII',
  phone: 'PHONE_NUMBER',
  birth: 'DOB',
  zip: 'LOCATION_ZIP',
  passport: 'PASSPORT_NUMBER',
  license: 'DRIVER_LICENSE',
  vehicle: 'VEHICLE_ID',
  health: 'HEALTHCARE_NUMBER',
};

/** The requested kinds of numbers that redaction must remove, in the order of the questions. */
export function wantedKinds(
  asked: readonly CueKind[],
  wants: (type: string) => boolean,
): CueKind[] {
  return asked.filter((kind) => wants(typeOf[kind] ?? ''));
}

/**
 * Claims digits after a question for a secret, unless the words around them explain them otherwise. No check digit is
 * required: a recogniser may have lost some of the digits.
 */
export function claimAsked(doc: Doc, wants: (type: string) => boolean): void {
  const kinds = wantedKinds(doc.asked, wants);
  if (kinds.length === 0) return;
  if (kinds.includes('expiry'))
    for (let i = 0; i < doc.tokens.length; i++) {
      const end = cardDateEnd(doc, i);
      if (end === 0) continue;
      const run = runAt(doc, i, false);
      // The start of a longer number is not a date.
      if (run?.from === i && run.to > end && kinds.length > 1) i = run.to - 1;
      else if (doc.claim('CREDIT_CARD_EXPIRATION', i, end)) i = end - 1;
    }
  const secret = kinds.find((kind) => secretKinds.has(kind));
  if (secret !== undefined) claimLikeDigits(doc, typeOf[secret] ?? '');
  for (let i = 0; i < doc.tokens.length; i++) {
    const run = runAt(doc, i, false);
    if (!run) continue;
    const type = typeFor(kinds, run);
    const isOther =
      isExplained(doc, run) ||
      (run.digits <= mostNamed && isNamedOtherwise(doc, run)) ||
      isOwnNumber(doc, run);
    if (type !== undefined && !isOther) doc.claim(type, run.from, run.to);
    i = Math.max(i, run.to - 1);
  }
}

function typeFor(kinds: readonly CueKind[], { digits, chars }: Run): string | undefined {
  const fits = (kind: CueKind): boolean => {
    switch (kind) {
      case 'cvv':
        return digits === 3 || digits === 4;
      case 'expiry':
        return digits >= 3 && digits <= 8 && isMonthAndYear(chars);
      case 'ssn':
        return digits === 9 || digits === 4;
      case 'routing':
        return digits >= 6 && digits <= 10;
      case 'bank':
        return digits >= 6;
      case 'card':
        return digits >= 12;
      case 'phone':
        return digits >= 7;
      default:
        return digits >= 4;
    }
  };
  const ordered = kinds.toSorted((a, b) => Number(b === 'expiry') - Number(a === 'expiry'));
  const kind = ordered.find(fits);
  if (kind !== undefined) return typeOf[kind];
  // This is a fragment of the number: the rest came before, follows later, or was not heard.
  const secret = kinds.find((one) => secretKinds.has(one));
  return secret !== undefined && digits >= shortestPiece ? typeOf[secret] : undefined;
}

/** "You can call me at" and "the tracking number is" directly before a number that is too short for a card. */
function isOwnNumber(doc: Doc, run: Run): boolean {
  if (run.digits > longestOwn || doc.asked.some((kind) => kind === 'ssn' || kind === 'bank'))
    return false;
  const start = doc.tokens[run.from]?.start ?? 0;
  const said = doc.text.slice(Math.max(0, start - reachBefore), start);
  if (/\b(?:call|reach|phone|ring|text) (?:me|us)(?: back)? (?:at|on)[\s,:]*$/i.test(said))
    return true;
  const cue = cueOf(doc, run.from, run.to);
  return cue?.adjacent === true && cue.at >= 0 && ownNumbers.test(doc.word(cue.at));
}

/** Not "code", "number" or "call": a secret has these names, too. */
const ownNumbers =
  /^(?:order|ticket|case|tracking|booking|reservation|confirmation|reference|invoice|claim|parcel|shipment|phone|mobile|cell|telephone|landline|fax)$/;
const longestOwn = 11;
/** Characters before a number that are looked at. */
const reachBefore = 60;
const shortestPiece = 2;
/** A longer number is taken out whatever its own sentence calls it. */
const mostNamed = 6;
