import { askedFor, secretKinds } from '../entities/asked-secrets.ts';
import type { CueKind } from '../entities/cue-kinds.ts';
import { numberedThings } from './named-otherwise.ts';

/** The talk around a text: the last turns of the other party, and whether the two speak of a card. */
export type Talk = { turns: readonly string[]; isOfCard: boolean };

const cardKinds: ReadonlySet<CueKind> = new Set(['card', 'cvv', 'expiry']);

/** True if one of the turns asks for a card, its date or its code. */
export function asksForCard(turns: readonly string[]): boolean {
  return turns.some((turn) => askedFor([turn], true).some((kind) => cardKinds.has(kind)));
}

/** True if the other party has just said something short, or asked something. */
export function isAfterQuestion({ turns, isOfCard }: Talk): boolean {
  if (isOfCard) return true;
  const last = turns.at(-1);
  if (last === undefined) return false;
  const words = last.match(/[\p{L}\p{N}']+/gu)?.length ?? 0;
  return words <= longestQuestion || last.includes('?');
}

const longestQuestion = 12;

/** Questions whose answer is another number, also while the two speak of a card. */
const otherAnswer = new RegExp(
  `\\b(?:how (?!about|come|many (?:digits|numbers)|long (?:is|will|does) (?:it|that|this|the card|your card|the one)\\b)` +
    `(?:m(?:any|uch)|[a-z]+ (?:is|are|was|were|did|do|does|have|has|will|would|a|'s))` +
    `|how (?:old|far|big|large|tall|heavy|wide|high|often|fast|soon|late|early)|what time|o'clock` +
    `|which year (?:is|was|were|did|do)|which (?:gate|line|lane|row|rate|hour|limit|question|section)|what (?:hour|rate) |data (?:is|was|do|did|have)|area|dial|call you|phone|${numberedThings})\\b`,
  'i',
);
/** Questions for another day or time, also while the two speak of a card: "when did you buy it". */
const otherDay =
  /\b(?:what (?:day|year|time)|which day|(?:exact|arrival|departure|opening|what|which|at the) time|(?:month|date) (?:was|were|did|do|of)|when (?:was|were|did|should|shall|can|could|are|do)|when .*\b(?:you|your|we|they|he|she|i|us|our|due|dead ?line|the (?!card|date|expir|end\b)\w+|deliver\w*|arriv\w*|ship\w*|appointment|meeting|starts?|begins?|open|close|coming|come|back|schedul\w*|happen\w*|leave))\b/i;
/** Questions whose answer is another number where nobody has spoken of a card. */
const otherMoment =
  /\b(?:help|was|were|did|which (?:day|year|one)|date of|what date (?:did|do|was|were|would|works|is)|since|how|which)\b/i;

/** True if a number is the answer to another question. */
export function isExplainedBy({ turns, isOfCard }: Talk): boolean {
  const last = lastQuestion(turns);
  // In the talk of a card an older question explains nothing: one that nobody understood may have followed it.
  if (askedFor(isOfCard ? last : turns, true).length > 0) return !isOfCard || !asksForCard(last);
  return last.some((turn) => isOther(turn) || (!isOfCard && otherMoment.test(turn)));
}

/** The last turn, and the one before it if the last is nothing but a word or two. */
function lastQuestion(turns: readonly string[]): readonly string[] {
  const last = turns.at(-1) ?? '';
  const words = last.match(/[\p{L}\p{N}']+/gu)?.length ?? 0;
  const both = turns.slice(words <= longestNod ? -turnsOfQuestion : -1);
  // "How can I help you?" was answered before the nod.
  return both.filter((turn) => turn === last || !/\bhelp\b/i.test(turn));
}

const longestNod = 3;

/**
 * True if the last turn plainly asks for something else: "Your order number?" behind a question for the expiry date. A
 * turn that only speaks of an order asks for nothing, and the answer of before may still come.
 */
export function isForSomethingElse({ turns }: Pick<Talk, 'turns'>): boolean {
  const last = turns.at(-1) ?? '';
  const isMisheard = soundsLikeCard.test(last);
  return isQuestion(last) && isOther(last) && !isMisheard && !asksForSecret(last);
}

/** The turns from the last question for something else on. What was asked before it is not asked any more. */
export function turnsInForce(turns: readonly string[]): readonly string[] {
  const from = turns.findLastIndex((_, at) =>
    isForSomethingElse({ turns: turns.slice(0, at + 1) }),
  );
  return from > 0 ? turns.slice(from) : turns;
}

/** "Which car are we charging?" was a question for a card. */
const soundsLikeCard = /\b(?:cars?|carts?|cord|guard|court|cloud|coat|quote)\b/i;

function isQuestion(turn: string): boolean {
  return (
    /\?|\b(?:number|please)\b/i.test(turn) ||
    /^\W*(?:(?:and|so|now|okay|ok)\W+)?(?:what|which|how|when)\b/i.test(turn)
  );
}

function asksForSecret(turn: string): boolean {
  return askedFor([turn], true).some((kind) => secretKinds.has(kind));
}

function isOther(turn: string): boolean {
  return otherAnswer.test(turn) || otherDay.test(turn);
}

/** True if a text says itself what its number is, or asks for the next one: "four two four two, and the expiry?". */
export function namesNumber(text: string): boolean {
  return asksForCard([text]) || otherAnswer.test(text);
}

/** The question, and a short word behind it. */
const turnsOfQuestion = 2;

/** True if the question is for a number. It is then for no date. */
export function asksForNumber({ turns }: Talk): boolean {
  return /\bnumbers?\b/i.test(turns.at(-1) ?? '');
}
