import type { ExpectedAnswer } from '../expected-words.ts';

/** The words before an answer, and the kind of answer that they announce. `kind` is undefined if they announce none. */
export type Lead = { text: string; kind: ExpectedAnswer | undefined };

const numbers =
  'number|phone|mobile|cell|account|reference|card|visa|mastercard|social|zip|i d|id|extension|policy|member|customer|order';
const promises: readonly (readonly [ExpectedAnswer, RegExp])[] = [
  [
    'email',
    /\b(?:e-?mail(?: address)?(?:,? it)?(?:,? (?:is|was|would be)|'s)|(?:write|send(?: \w+){0,3}|e-?mail)(?: \w+)? (?:to|at)|address(?:,? (?:is|was|would be)|'s))\b/i,
  ],
  [
    'code',
    /\b(?:booking|order|confirmation|tracking|reservation|post|promo)? ?code,? (?:is|says|reads|was)\b/i,
  ],
  [
    'digits',
    new RegExp(
      `\\b(?:${numbers})(?:,? (?:is|was|would be|reads))\\b|\\b(?:reach|call|phone|text) (?:me|us)(?: back)? (?:at|on)\\b`,
      'i',
    ),
  ],
  // "The reference is two" sounds like "the references to".
  ['digits', /\breferences(?= (?:to )?\d)/i],
];
/** Matches the words with which an answer to a question may begin. */
const beginning = /^(?:[\p{L}']+[, ]+){0,7}?(?:it's|that's|is|are|at|on|reads|says|be)\b/iu;

/** The words that come before an answer: "the card number is", and after a question "yes, it is". */
export function leadOf(text: string): Lead | undefined {
  for (const [kind, pattern] of promises) {
    const found = pattern.exec(text);
    if (found) return { kind, text: text.slice(0, found.index + found[0].length) };
  }
  const begun = beginning.exec(text);
  return begun ? { kind: undefined, text: begun[0] } : undefined;
}
