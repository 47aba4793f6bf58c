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
    /\b(?:cvv2?|cvc2?|csc|cv2|c v [vc2]|c s c|c [vb] [vb]|security (?:code|number|dig\w+)|verification (?:code|number)|(?:three|four|3|4)[ -]digit|(?:three|3) (?:digits|numbers|figures)|(?:three|3|numbers?|digits|code|figures) (?:\w+ ){0,2}(?:on|from|at|off) the (?:back|reverse|rear|strip|other side)|(?:last|little|small) (?:three|3|numbers?|code)|other side|(?:the|your) (?:back|reverse)|(?:flip|turn) (?:it|that|the card|your card) (?:over|round|around)|signature)\b/,
  ],
  [
    'expiry',
    /\b(?:expir\w*|exp|exp\w+ (?:date|month|year)|e?x ?p|(?:in|a|re|e|de)?spir(?:e|es|ed|y|ation)|expi\w*|ex[- ](?:pire?s?|piry|perry)|exploration|expedition|(?:go|goes|going) out of date|out of date|(?:until|till|through|thru) when|how long is (?:it|that|the card|your card) (?:good|valid)|lasts? (?:until|till)|(?:now|and|next|then|just) the date(?! (?:of|you|when|for))|valid (?:until|till|thru|through|to|from)|good (?:through|thru|until|till)|runs? out|month and (?:the )?year|end date|when (?:is|does) (?:it|that|the card) (?:\w+ )?(?:good|valid|end)|good (?:till|to)|through date|thru date|date (?:on|below|under|above|beneath|next to) (?:the|your|it|that))\b/,
  ],
  [
    'ssn',
    /\b(?:soc(?=[ ?.]|$)|tax(?: ?payer)?(?:'s)? (?:id|i d|identification|number)|social(?! (?:media|network|worker|club|office))|ssn|s s n)\b/,
  ],
  ['routing', /\b(?:routing|sort code|aba|transit number|bsb)\b/],
  [
    'bank',
    /\b(?:iban|i b a n|bank account|(?:checking|savings|current) account|account (?:number )?(?:at|with|of|for) (?:your|the) (?:bank|refund|transfer|payout)|account (?:\w+ ){0,4}(?:money|refund|deposit))\b/,
  ],
  [
    'card',
    /\b(?:(?<!(?:membership|member|loyalty|library|gift|rewards|id|insurance|sim) )cards?|visa|mastercard|amex|american express|sixteen digits|16 digits|long number|(?:numbers?|digits) (?:across|on) the front|(?:first|next|middle|remaining|final) (?:four|4|six|6|eight|8|group|set|block|digits)|(?:numbers?|digits) (?:on|off|from) (?:it|the front|the plastic|there)|read (?:it|that|them) (?:off|out|to me)|plastic|last (?:four|4)(?! (?:of|digits of) (?:your|the) (?:social|phone|mobile|account|order|policy))|payment (?:method|details)|how (?:will|would|are|do) you (?:\w+ ){0,3}pay(?:ing)?|pay(?:ing)? (?:with|by))\b/,
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
  /\?|\b(?:please|can|could|may|what|what's|which|need|give|tell|read|confirm|verify|provide|have|get|go ahead|when|ready|whenever|spell|say|repeat|missed|lost|again|catch|rest|remaining|continue|across)\b/;
/** Questions of at most this many words, such as "The code?", need no question word. */
const shortestWords = 6;
/** A recogniser often writes a question with a full stop: "And the three digits on the back." */
const unmarked =
  /^(?:(?:okay|ok|great|thanks|thank you|alright|perfect|good|right|fine)[,.]? )?(?:and|then|now|next|your|the)\b/;
const unmarkedWords = 9;
/** After a turn of more than this many words the question no longer applies. */
const longestWords = 14;

/**
 * The kinds of numbers that the other party's last turns ask for, in order of time. An answer in pieces has short turns
 * between them ("mm-hm", "go on", the digits read back); such turns do not end the question.
 * With care, a turn that merely names the date or the code of a card asks for it, too, and so does what a recogniser
 * makes of a question for a card.
 */
export function askedFor(turns: readonly string[], isCareful = false): CueKind[] {
  let asked: CueKind[] = [];
  for (const turn of turns) {
    const text = lettersJoined(turn.toLowerCase().replaceAll('’', "'"));
    const words = text.match(/[\p{L}\p{N}']+/gu)?.length ?? 0;
    const isAsked =
      request.test(text) ||
      words <= shortestWords ||
      (words <= unmarkedWords && unmarked.test(text.trim()));
    const heard = isAsked || (isCareful && words <= longestWords) ? kindsIn(text) : [];
    const isMisheard = isCareful && isAsked && heard.length === 0 && misheardCard.test(text);
    const named: CueKind[] = isMisheard ? ['card'] : heard;
    const kinds = isAsked ? named : named.filter((kind) => kind === 'cvv' || kind === 'expiry');
    // "The routing number?", and then "And the account?"
    const isOfBank = asked.includes('routing') && kinds.length === 1 && kinds[0] === 'account';
    if (kinds.length > 0) asked = isOfBank ? ['bank'] : kinds;
    else if (words > longestWords || (text.includes('?') && words > shortestWords)) asked = [];
  }
  return asked;
}

/** "Which car are we charging?" and "the lawn number on the font" asked for a card. */
const misheardCard =
  /\b(?:car|cart|cord|lawn)s?\b.*\b(?:numbers?|charging|using|font)\b|\bnumbers? (?:\w+ )?(?:of|on|off|from) (?:the|your) (?:car|cart|cord|court|font|fund)\b/;

/** A recogniser writes spelled letters with marks between them: "the C. S, C". */
function lettersJoined(text: string): string {
  return text.replace(/\b([a-z])[.,]+ ?(?=[a-z]\b)/g, '$1 ');
}

/** The question is about a sum, or about something else that merely stands on a card or in an account. */
const aboutAmount = /\bhow (?:much|many)\b/;
const onTheCard =
  /\b(?:zip|post ?code|postal code|name|phone|number for|address|limit|balance)\b.* (?:on|of|for) (?:the|your) card\b/;
const otherExpiry =
  /\b(?:lease|contract|policy|passport|warranty|licen[cs]e|subscription|plan|membership|offer|voucher|coupon|ticket|insurance|trial|guarantee)\b/;

function kindsIn(text: string): CueKind[] {
  const kinds = names
    .filter(([, pattern]) => pattern.test(text))
    .map(([kind]) => kind)
    .filter((kind) => kind !== 'expiry' || !otherExpiry.test(text))
    .filter((kind) => kind !== 'card' || !(aboutAmount.test(text) || onTheCard.test(text)));
  if (kinds.length === 0 && bareCode.test(text) && !otherCode.test(text)) return ['cvv', 'id'];
  if (kinds.length === 0 && bareCode.test(text)) return ['id'];
  return kinds.some((kind) => kind === 'bank' || kind === 'ssn')
    ? kinds.filter((kind) => kind !== 'account')
    : kinds;
}
