import type { SpokenTurn } from '../types.ts';

const kinds =
  'order|account|policy|tracking|booking|confirmation|reservation|customer|member|membership|serial|claim|case|ticket|prescription|agreement|job|matter|staff|employee|consignment|parcel|student|invoice|transfer|contract|meter|patient|delivery|shipment|loan|rental|file|permit|licence|license|request|repair|library|registration|service|user';
const labels = new RegExp(`\\b((?:${kinds}) (?:number|code|reference|ref|id))\\b`, 'gi');
/** "Account?", "which agreement is it?" */
const asksKind = new RegExp(
  `(?:^|[.!?,] |\\b(?:which|what|what's the|your) )(${kinds})(?: is (?:it|that))?[?]`,
  'i',
);
/** "What's the number on the invoice?" */
const numberOn = new RegExp(`\\bnumber (?:on|of) (?:the|your) (${kinds})\\b`, 'i');
const asksPhone =
  /\b(?:phone|mobile|area code|call you back|ring you back|reach you|call you on|ring you on|leave a number)\b/i;

/** The kind of a number, as it was asked for or told: "order number". */
export function labelOf(turn: number, said: readonly SpokenTurn[]): string {
  const own = said[turn]?.text.match(labels) ?? [];
  const asked = said[turn - 1]?.text.match(labels) ?? [];
  const [label, ...more] = new Set((own.length > 0 ? own : asked).map((one) => one.toLowerCase()));
  if (more.length > 0) return '';
  if (label !== undefined) return `${label.replace(/ ref$/, ' reference').replace(/ id$/, ' ID')} `;
  const before = said[turn - 1]?.text ?? '';
  const kind = asksKind.exec(before)?.[1] ?? numberOn.exec(before)?.[1];
  return kind !== undefined ? `${kind.toLowerCase()} number ` : asksPhone.test(before) ? 'phone number ' : ''; // prettier-ignore
}
