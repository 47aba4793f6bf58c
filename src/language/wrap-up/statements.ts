import { clausesOf, type Clause } from '../summary/clauses.ts';
import type { SpokenTurn } from '../types.ts';

/** One thing that one party stated: a clause, cut again where it says two things. */
export type CallStatement = Pick<Clause, 'turn' | 'role' | 'text' | 'isQuestion'> & {
  /** True if the sentence it stands in makes it depend on something: "if it fails, we will call". */
  isConditional: boolean;
};

/** A new statement begins here although the sentence goes on. */
const joint =
  /(?:,|;)?\s+(?:and|but|so|then)\s+(?=(?:i|we|he|she|they|it|you|that)(?:'ll|'ve|'m|'re|'s| will| have| am| is)\b)|,?\s+but\s+(?=(?:i|we) (?:can|can't|cannot)\b)|,\s+(?=(?:i|we|he|she|they|it|you|that)(?:'ll|'ve|'m|'s| will| have)\b)|,\s+(?=it (?:takes|starts|ends|was|is)\b)|(?<=\b(?:apologi[sz]e|sorry|understand))\s+(?=(?:i|we)(?:'ll|'ve| will| have)\b)/i;
const condition = /\b(?:if|unless|otherwise|in case|as long as|provided)\b|^once\b/i;

/** A statement that is longer than this, in characters, is none that a person would write down. */
const maxCharacters = 400;

export function statementsOf(turns: readonly SpokenTurn[]): CallStatement[] {
  return clausesOf(turns).flatMap(({ turn, role, text, isQuestion }) => {
    if (text.length > maxCharacters) return [];
    const isConditional = condition.test(text);
    const pieces = isQuestion ? [text] : text.split(joint);
    return pieces
      .map((piece) => piece.trim())
      .filter((piece) => /[\p{L}\p{N}]/u.test(piece))
      .map((piece) => ({ turn, role, text: asSentence(piece), isQuestion, isConditional }));
  });
}

function asSentence(piece: string): string {
  const text = piece.slice(0, 1).toUpperCase() + piece.slice(1);
  return /[.?!…]$/.test(text) ? text : `${text.replace(/[,;:]+$/, '')}.`;
}
