import type { CueKind } from './cue-kinds.ts';

/** Kinds of numbers that give access to an account or to money. */
export const secretKinds: ReadonlySet<CueKind> = new Set([
  'card',
  'cvv',
  'expiry',
  'ssn',
  'routing',
  'bank',
]);

/** The words by which a question names the kind of number it asks for. The surest words come first. */
const names: readonly (readonly [CueKind, RegExp])[] = [
  [
    'cvv',
    /\b(?:cvv2?|cvc2?|csc|cv2|c v [vc2]|security (?:code|number|digits)|verification (?:code|number)|(?:three|four|3|4)[ -]digit|(?:three|3) (?:digits|numbers|figures)|(?:the|your) (?:back|reverse)|signature)\b/,
  ],
  [
    'expiry',
    /\b(?:expir\w*|exp|valid (?:until|till|thru|through|to|from)|good (?:through|thru|until|till)|runs? out|month and (?:the )?year|date on (?:the|your|it|that))\b/,
  ],
  ['ssn', /\b(?:social(?! (?:media|network|worker|club|office))|ssn|s s n)\b/],
  ['routing', /\b(?:routing|sort code|aba|transit number|bsb)\b/],
  [
    'bank',
    /\b(?:iban|i b a n|bank account|(?:checking|savings|current) account|account (?:number )?(?:at|with|of|for) (?:your|the) (?:bank|refund|transfer|payout)|account (?:\w+ ){0,4}(?:money|refund|deposit))\b/,
  ],
  [
    'card',
    /\b(?:(?<!(?:membership|member|loyalty|library|gift|rewards|id|insurance|sim) )card|visa|mastercard|amex|american express|sixteen digits|16 digits|long number)\b/,
  ],
  [
    'phone',
    /\b(?:phone|telephone|mobile|cell|landline|call(?:ing)? (?:you )?back|callback|contact number|reach you|number to call|number can (?:we|i) (?:call|reach))\b/,
  ],
  ['birth', /\b(?:date of birth|birth ?date|birthday|born|dob|d o b)\b/],
  ['zip', /\b(?:zip|post ?code|postal code)\b/],
  ['passport', /\bpassport\b/],
  ['license', /\b(?:driver'?s?|driving) licen[cs]e\b/],
  ['vehicle', /\b(?:licen[cs]e plate|number ?plate|registration|vin)\b/],
  [
    'health',
    /\b(?:medicare|medicaid|nhs|patient (?:id|number)|health (?:plan|insurance) (?:id|number))\b/,
  ],
  [
    'account',
    /\b(?:account|policy|customer|membership|member|contract|client|subscriber|loyalty) ?(?:number|id|no)?\b/,
  ],
  [
    'id',
    /\b(?:order|ticket|case|tracking|booking|reservation|confirmation|reference|invoice|claim|parcel|shipment|complaint|serial|transaction|receipt|quote|voucher|repair)\b/,
  ],
];

/** A plain "code" may be the security code of a card. */
const bareCode = /\bcode\b/;
const otherCode =
  /\b(?:error|area|zip|post|postal|country|dialling|dialing|product|promo|discount|sort|access|booking|reservation|confirmation|order|reference|voucher|bank|tracking|ticket|pass) ?code\b/;

const request =
  /\?|\b(?:please|can|could|may|what|what's|which|need|give|tell|read|confirm|verify|provide|have|get|go ahead|when|ready|whenever|spell|say|repeat)\b/;
/** Questions of at most this many words, such as "The code?", need no question word. */
const shortestWords = 6;
/** After a turn of more than this many words the question no longer applies. */
const longestWords = 14;

/**
 * The kinds of numbers that the other party's last turns ask for, in order of time. An answer in pieces has short turns
 * between them ("mm-hm", "go on", the digits read back); such turns do not end the question.
 */
export function askedFor(turns: readonly string[]): CueKind[] {
  let asked: CueKind[] = [];
  for (const turn of turns) {
    const text = turn.toLowerCase().replaceAll('’', "'");
    const words = text.match(/[\p{L}\p{N}']+/gu)?.length ?? 0;
    const kinds = request.test(text) || words <= shortestWords ? kindsIn(text) : [];
    if (kinds.length > 0) asked = kinds;
    else if (words > longestWords || (text.includes('?') && words > shortestWords)) asked = [];
  }
  return asked;
}

function kindsIn(text: string): CueKind[] {
  const kinds = names.filter(([, pattern]) => pattern.test(text)).map(([kind]) => kind);
  if (kinds.length === 0 && bareCode.test(text) && !otherCode.test(text)) return ['cvv', 'id'];
  if (kinds.length === 0 && bareCode.test(text)) return ['id'];
  return kinds.some((kind) => kind === 'bank' || kind === 'ssn')
    ? kinds.filter((kind) => kind !== 'account')
    : kinds;
}
