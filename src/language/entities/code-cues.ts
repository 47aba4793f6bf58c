import type { CueKind } from './cue-kinds.ts';
import type { Doc } from './doc.ts';

const byWord = new Map<string, CueKind>();
function cue(kind: CueKind, words: string): void {
  for (const word of words.split(' ')) byWord.set(word, kind);
}
cue('card', 'card visa mastercard amex maestro');
cue('cvv', 'cvv cvc cvv2 cv');
cue('expiry', 'expires expiry expiring expiration exp expire expired');
cue('ssn', 'ssn social');
cue('routing', 'routing aba sort swift');
cue('bank', 'iban checking savings');
cue(
  'account',
  'account acct acc customer policy membership member loyalty client subscriber contract rewards',
);
cue('health', 'medicare medicaid nhs patient');
cue(
  'id',
  'order ticket case tracking booking reservation confirmation reference ref invoice claim parcel shipment ' +
    'consignment complaint incident return rma serial job quote transaction receipt itinerary pnr locator voucher ' +
    'docket application request id delivery repair dispute agreement code purchase file rental imei ' +
    'waybill airbill po package coupon permit licence registration student employee badge',
);
cue('vehicle', 'plate plates reg vin numberplate');
cue('passport', 'passport');
cue('zip', 'zip zipcode postcode postal');
cue(
  'phone',
  'phone call mobile cell cellphone ring reach text dial telephone landline fax whatsapp sms contact callback cellular',
);
cue(
  'none',
  'meter reading reads version page pages room floor gate seat channel model measures weighs error step option apartment apt flat unit suite minutes total percent extension kilometers miles mileage odometer',
);
cue('birth', 'birth born dob birthday birthdate');
cue('number', 'number numbers no num digits');

export type Cue = { kind: CueKind; adjacent: boolean; at: number };

const connectors = new Set(
  (
    "is number no num id code reference ref the it it's its that that's this was would be should are um uh er well so " +
    "yes yeah sure okay ok and my your our for you here here's right of in with has starts starting begins ends ending " +
    'called i have gave was as follows actually think believe just details under to on at by digits ' +
    'against from mine his her their one sec they say says said shows read'
  ).split(' '),
);

/** A cue counts for at most this many tokens. At a greater distance it usually speaks of something else. */
const reach = 14;

/**
 * The cue for a code: the nearest one before it, one directly behind it ("... is my order number"), or the kind that
 * was asked for. With `digits`, only a question for a number of that many digits counts.
 */
export function cueOf(doc: Doc, from: number, to: number, digits?: number): Cue | undefined {
  const before = cueBefore(doc, from);
  if (before && before.kind !== 'number') return before;
  const behind = cueBehind(doc, to);
  if (behind || doc.asked.length === 0) return behind ?? before;
  const kind =
    doc.asked.find((one) => digits !== undefined && lengths[one]?.test(String(digits))) ??
    doc.asked.find((one) => lengths[one] === undefined) ??
    doc.asked[0];
  return kind === undefined ? before : { kind, adjacent: true, at: -1 };
}

/** The number of digits of each kind, where it is fixed. */
const lengths: Partial<Record<CueKind, RegExp>> = {
  card: /^1[2-9]$/,
  cvv: /^[34]$/,
  expiry: /^[346]$/,
  ssn: /^[49]$/,
  routing: /^[69]$/,
  phone: /^(?:[7-9]|1[0-5])$/,
  zip: /^[4-69]$/,
  birth: /^[4-8]$/,
};

function cueBefore(doc: Doc, from: number): Cue | undefined {
  let adjacent = true;
  let weak: Cue | undefined;
  for (let i = from - 1; i >= Math.max(0, from - reach); i--) {
    const kind = kindAt(doc, i);
    if (kind === 'number') weak ??= { kind, adjacent, at: i };
    else if (kind) return { kind, adjacent, at: i };
    if (doc.isTaken(i)) adjacent = false;
    const token = doc.tokens[i];
    if (
      token?.kind === 'mark'
        ? /[.?!;]/.test(token.text)
        : !connectors.has((token?.lower ?? '').replace(/'s$/, ''))
    )
      adjacent = false;
  }
  return weak;
}

function cueBehind(doc: Doc, to: number): Cue | undefined {
  const word = doc.word(to);
  const verb = word === ',' ? doc.word(to + 1) : word;
  const isPredicate = /^(?:is|was|that's|as|on|for|being)$/.test(verb);
  for (let i = to; isPredicate && i < Math.min(doc.tokens.length, to + 7); i++) {
    if (/[.?!;]/.test(doc.word(i))) break;
    const kind = kindAt(doc, i);
    if (kind && kind !== 'number' && kind !== 'none') return { kind, adjacent: i < to + 5, at: i };
    if (doc.word(i) === 'back' && doc.word(i - 1) === 'the')
      return { kind: 'cvv', adjacent: true, at: i };
  }
  return undefined;
}

function kindAt(doc: Doc, i: number): CueKind | undefined {
  const word = doc.word(i).replace(/'s$/, '');
  const next = doc.word(i + 1);
  const previous = doc.word(i - 1);
  const kind = byWord.get(word);
  switch (word) {
    case 'reads':
      // "My membership number reads"
      return /^(?:numbers?|code|id|card|account|reference|it)$/.test(previous) ? undefined : kind;
    case 'code':
      if (previous === 'security' || (previous === 'verification' && near(doc, i, 'card')))
        return 'cvv';
      if (previous === 'sort') return 'routing';
      if (/^(?:zip|post|postal)$/.test(previous)) return 'zip';
      if (previous === 'area' || previous === 'error') return 'none';
      return previous === '' ? undefined : 'id';
    case 'v':
      return previous === 'v' && doc.word(i - 2) === 'c' ? 'cvv' : undefined;
    case 'social':
      return /^(?:media|network|worker)$/.test(next) ? undefined : 'ssn';
    case 'sort':
      return next === 'code' ? 'routing' : undefined;
    case 'digits':
      return /^(?:three|3)$/.test(previous) && !/^(?:last|first)$/.test(doc.word(i - 2))
        ? 'cvv'
        : 'number';
    case 'back':
      return previous === 'the' && near(doc, i, 'digits') ? 'cvv' : undefined;
    case 'account':
      return previous === 'bank' ||
        previous === 'checking' ||
        previous === 'savings' ||
        previous === 'current'
        ? 'bank'
        : 'account';
    case 'member':
    case 'membership':
      return near(doc, i, 'insurance') || near(doc, i, 'health') || near(doc, i, 'medical')
        ? 'health'
        : 'account';
    case 'license':
    case 'licence':
      if (/^plates?$/.test(next)) return 'vehicle';
      return previous === "driver's" || previous === 'drivers' || previous === 'driving'
        ? 'license'
        : 'id';
    case 'registration':
      return 'vehicle';
    case 'post':
      return next === 'code' ? 'zip' : undefined;
    case 'return':
    case 'text':
    case 'order':
    case 'claim':
    case 'file':
    case 'request':
    case 'case':
    case 'job':
    case 'call':
    case 'ring':
    case 'reach':
    case 'contact':
    case 'no':
    case 'exp':
      return word === 'case' && previous === 'in'
        ? undefined
        : word === 'no' && next !== '.' && next !== ':'
          ? undefined
          : kind;
    case 'card':
      return /^(?:membership|member|loyalty|rewards|library|gift)$/.test(previous)
        ? 'account'
        : 'card';
    case 'id':
      // In "member id" or "patient id" the word before "id" tells the kind.
      return byWord.get(previous) === undefined ? 'id' : kindAt(doc, i - 1);
    default:
      return kind;
  }
}

function near(doc: Doc, i: number, word: string): boolean {
  for (let at = Math.max(0, i - 6); at < Math.min(doc.tokens.length, i + 7); at++)
    if (doc.word(at) === word) return true;
  return false;
}
