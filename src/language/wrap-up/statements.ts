import { clausesOf, type Clause } from '../summary/clauses.ts';
import type { SpokenTurn } from '../types.ts';

/** One thing that one party stated: a clause, cut again where it says two things. */
export type CallStatement = Pick<Clause, 'turn' | 'role' | 'text' | 'isQuestion'> & {
  /** True if the sentence it stands in makes it depend on something: "if it fails, we will call". */
  isConditional: boolean;
};

/** A new statement begins here although the sentence goes on. */
const joint =
  /(?:,|;)?\s+(?:and|but|so|then)\s+(?=(?:i|we|he|she|they|it|you|that)(?:'ll|'ve|'m|'re|'s| will| have| am| is| wanted)\b)|,?\s+but\s+(?=(?:i|we) (?:can|can't|cannot)\b)|,\s+(?=(?:i|we|he|she|they|it|you|that)(?:'ll|'ve|'m|'s| will| have)\b)|,?\s+and\s+(?=(?:the|your|our|my)(?: [\w-]+){1,3}?(?: will| should|'ll| is| are| has| have| takes)\b)|\s+and\s+(?=if\b)|(?<=\bfor you),\s+|,\s+(?=(?:i|we) (?:put|sent|spent|took|made|got|\w{3,}ed)\b)|,\s+(?=(?:please|keep|make sure|don't|be sure)\b)|,\s+(?=it (?:takes|starts|ends|was|is|keeps|gets)\b)|(?<=\b(?:apologi[sz]e|sorry|understand))\s+(?=(?:i|we)(?:'ll|'ve| will| have)\b)/i;
const condition = /\b(?:if|unless|otherwise|in case|as long as|provided)\b|^once\b/i;

/** "If it fails, ring us, I'll also send you a text": the second half does not depend on the first. */
const besides = /^(?:i|we)(?:'ll| will) also\b/i;

/** A statement that is longer than this, in characters, is none that a person would write down. */
const maxCharacters = 400;

/** Forms that people say and nobody writes, and the words of politeness at a statement's end. */
const saidAs: readonly (readonly [RegExp, string])[] = [
  [/\bgonna\b/gi, 'going to'],
  [/\bwanna\b/gi, 'want to'],
  [/\bgotta\b/gi, 'have to'],
  [/\bwhat (?:i'm|i am|we're|we are) going to do is,? /gi, 'I will '],
  [/\bwhat (?:i'll|we'll|i will|we will) do is,? /gi, 'I will '],
  [/^(?:so |and |okay |well )*what (?:i'm|i am|we're|we are) (?:seeing|looking at|showing|getting)(?: here)? is(?: that)?,? /gi, ''],
  [/\b(i|we) went ahead and /gi, '$1 have '],
  [/(?<=,) like (?=an? )| like (?=(?:one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|\d+) (?:minute|hour|day|week|month|year|time|dollar|pound|euro)s?\b)/gi, ' '],
  [/\byou (?:lot|guys|people|folks)\b/gi, 'you'],
  [/,? (?:okay|ok|all right|alright|right)\?$/i, '.'],
]; // prettier-ignore
/** "... and you have a great day": the closing belongs to no statement. */
const closing =
  /(?:^|[,;.]?\s+(?:(?:and|so)\s+)?)(?:(?:you|please)\s+)?(?:have|enjoy) (?:a|an|the|your)(?: (?:really|very))? (?:great|good|nice|lovely|wonderful|fantastic|blessed|safe|pleasant|rest)\b[^.?!]{0,50}[.?!]?$|(?:,| then)+\s+(?:(?:thank you|thanks|cheers)(?: (?:ever )?(?:so|very) much)?|bye(?: bye)?)[.!]?$|,?\s+(?:and\s+)?(?:thank you|thanks)(?: (?:so|very) much)? for (?:calling|your (?:call|patience|time|help))\b[^.?!]{0,40}[.?!]?$/i;

function plainly(text: string): string {
  let plain = text;
  for (const [pattern, written] of saidAs) plain = plain.replace(pattern, written);
  return plain.replace(closing, '').trim();
}

export function statementsOf(turns: readonly SpokenTurn[]): CallStatement[] {
  const clauses = clausesOf(turns);
  return clauses.flatMap(({ turn, role, text: said, isQuestion: isAsked }, place) => {
    if (said.length > maxCharacters) return [];
    const text = plainly(said);
    const isQuestion = isAsked && text.endsWith('?');
    const before = clauses[place - 1];
    // "And if he doesn't?" "Then call me back."
    const isAnswer = before?.isQuestion === true && /^(?:(?:and|but|so) )?(?:what )?if\b/i.test(before.text); // prettier-ignore
    const isConditional = condition.test(text) || (isAnswer && /^then\b/i.test(text));
    const pieces = isQuestion ? [text] : text.split(joint);
    // "It takes three weeks and if it fails, we'll call you": what stands before does not depend on it.
    const dependent = pieces.findIndex((piece, at) => at > 0 && /^if\b/i.test(piece) && !condition.test(pieces.slice(0, at).join(' '))); // prettier-ignore
    return pieces
      .map((piece, at) => ({ piece: piece.trim(), isFree: at < dependent }))
      .filter(({ piece }) => /[\p{L}\p{N}]/u.test(piece))
      .map(({ piece, isFree }) => ({
        turn,
        role,
        text: asSentence(piece),
        isQuestion,
        isConditional: isConditional && !isFree && (!besides.test(piece) || condition.test(piece)),
      }));
  });
}

function asSentence(piece: string): string {
  const text = piece.slice(0, 1).toUpperCase() + piece.slice(1);
  return /[.?!…]$/.test(text) ? text : `${text.replace(/[,;:]+$/, '')}.`;
}
