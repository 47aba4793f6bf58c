import { splitSentences } from '../text/sentences.ts';
import type { SpokenTurn } from '../types.ts';

/** One statement, cleaned for reading: without fillers, stutter or an "okay so" before it. */
export type Clause = {
  turn: number;
  order: number;
  role: string;
  text: string;
  isQuestion: boolean;
};

const leading =
  /^(?:(?:okay|ok|alright|all right|right|so|well|um|uh|er|erm|yeah|yes|yep|no problem|oh|ah|and|but|now|great|perfect|lovely|good|sure|of course|thank you|thanks|sorry|i see|got it|actually|hi there|hi|hello|hey|good (?:morning|afternoon|evening)|let me see|let me check|let me have a look|one (?:second|moment)(?: please)?|give me a second|you're right|that's right|oh no|thank goodness|honestly|done|absolutely|certainly|fair enough|i understand|you can)\b[\s,.!:-]*)+/i;
const fillers =
  /(?:^|\s|,)(?:um|uh|er|erm|uhm|mm|hmm|(?<!let )you know|i mean)\b,?(?=\s|$|[.,!?])/gi;

/** A repeated word is a stutter, but repeated figures and letters are not: "four four one" is a number. */
const stutter =
  /\b(?!(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|ten|twenty|double|very|so)\b)([\p{L}']{2,}|I)((?:[ ,]+\1\b)+)/giu;

export function clausesOf(turns: readonly SpokenTurn[]): Clause[] {
  const clauses: Clause[] = [];
  for (const [index, turn] of turns.entries()) {
    const said = turn.text.replace(torn, (_, before: string, next: string) => `${before} ${/ed$|^(?:a|an|the|it|that|to|your|my|our|you|we|they)$/i.test(next) ? next.toLowerCase() : next}`); // prettier-ignore
    for (const span of splitSentences(said))
      for (const piece of breathe(said.slice(span.start, span.end)).flatMap(apart)) {
        const text = tidy(turn.role === 'customer' ? piece.replace(nameFirst, '') : piece);
        if (text === '') continue;
        clauses.push({
          turn: index,
          order: clauses.length,
          role: turn.role,
          text,
          isQuestion:
            text.endsWith('?') || (!/[.!]$/.test(piece.trim()) && looksLikeQuestion(text)),
        });
      }
  }
  return clauses;
}

/** "Hi nadia my name's tomasz kowalczyk i had an accident": what is said behind the name begins a statement. */
const nameFirst =
  /^(?:(?:hi|hello|hey|yes|yeah)[, ]+)?(?:[\p{L}'-]+[, ]+)?my (?:full )?name(?:'s| is) (?:(?!(?:i|and|but|so|we|my)\b)[\p{L}'-]+[, ]+){1,3}(?:and |so )?(?=(?:i|i'm|i've|i'd|we|we're|we've)\b)/iu;

/** A recogniser that heard a pause ended the sentence in its middle: "I've gone ahead and. Cancelled it". */
const torn =
  /\b(and|or|because|the|a|an|my|your|our|their|i've|we've|i'll|we'll|i'm|we're|you're|you'll|of|with|from|has been|have been)[.] +([\p{L}\p{N}']+)/giu;

/**
 * New statements in speech without marks: "that's wrong the customer drives", "ignore it it takes three weeks". Behind
 * these words the next ones cannot belong to the same clause.
 */
const runOn =
  /(?<!\b(?:and|but|so|because|that|if|when|where|what|who|how|which|why|until|before|after|since|while|as|than|once|unless|though|whether|like|think|thought|know|knew|said|say|says|told|tell|tells|hope|guess|believe|sure|afraid|sorry|see|mean|feel|find|hear|heard|wish|suppose|bet|understand|check|thing|way|time|day|reason|all|everything|something|anything|only|looks?|seems?|sounds?|or|now|then|not|the|to|of|for|with|in|on|at|is|are|was|be|yes|yeah|no|okay|well|right))\s(?=(?:it's|it takes|there's|nobody's|you don't have to|you will|you'll|that's (?:wrong|right|why))\b)|(?<=\b(?:too|today|tomorrow|it|them|you|me|us|here|there|later))\s(?=(?:i'll|we'll|i've|we've) )/i;
const leastRunOnWords = 8;
const states = /\b(?:is|are|was|were|will|have|has|had|can|could|did|does|am|do|ignore|\p{L}+'(?:s|re|ve|ll|m|d)|\p{L}{2,}ed)\b/iu; // prettier-ignore

function apart(sentence: string): string[] {
  if (/[,;:]|^(?:once|if|when|as soon as|after|before|until|unless|while|since)\b/i.test(sentence)) return [sentence]; // prettier-ignore
  if (wordsIn(sentence) < leastRunOnWords) return [sentence];
  const pieces = sentence.split(runOn);
  // "The refund you will get" is one clause: nothing was stated before "you".
  const isWhole = pieces.slice(0, -1).every((piece) => wordsIn(piece) >= 2 && states.test(piece));
  return isWhole && wordsIn(pieces.at(-1) ?? '') >= 2 ? pieces : [sentence];
}

/** Cuts a long sentence without marks where a new statement begins. Recognised speech may have no full stops. */
function breathe(sentence: string): string[] {
  const words = wordsIn(sentence);
  if (words <= 16 || (words <= 30 && /[,;]/.test(sentence))) return [sentence];
  const pieces = sentence.split(
    /\s+(?=(?:and|but|so|because|then|okay)\s+(?:um\s+|uh\s+|then\s+|also\s+)*(?:i|i'm|i'll|i've|we|we'll|we're|you|you'll|they|he|she|it|it's|that's|there's|my|if|can|your|what|how|when|is|are|do|could|please|just)\b)|\s+(?=(?:(?:the|my|your) \w+(?: \w+)? (?:is|was|goes|starts|leaves|takes) |please come|that's why|it says|you'll have to)\b)|,\s+(?=(?:and|but|so)\s+(?:I|we|you|they|it|the|now|then)\b)/i,
  );
  const joined: string[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    // This clause is too short to stand alone, so it is joined to the one before.
    if (last !== undefined && (wordsIn(piece) < 5 || wordsIn(last) < 4))
      joined[joined.length - 1] = `${last} ${piece}`;
    else joined.push(piece);
  }
  return joined;
}

export function wordsIn(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}

function tidy(piece: string): string {
  let text = piece.replace(fillers, ' ').replace(/\s+/g, ' ').trim();
  text = text.replace(stutter, '$1').replace(/\s+([,.?!])/g, '$1');
  const without = text.replace(leading, '');
  if (wordsIn(without) >= 2) text = without;
  // "Chloe, I have ...": the name of the person addressed is removed.
  text = text.replace(
    /^(?:(?:[Mm]r|[Mm]rs|[Mm]s|[Mm]iss)\.? )?\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?, (?:(?:so|well|um|yeah|listen)[, ]+)?(?=(?:I|we|my|this|it|you|the|can|could|is|do)\b)/u,
    '',
  );
  text = text.replace(/^(?:mr|mrs|ms|miss)\.? [\p{L}'-]+,? (?=(?:you|you're|you've|i|i'm|i've|i'll|we|we've|we'll)\b)/iu, ''); // prettier-ignore
  text = text.replace(/^[\s,.;:!?-]+/, '').replace(/[\s,;:-]+$/, '');
  if (!/[\p{L}\p{N}]/u.test(text)) return '';
  text = text.replace(/\bi(?=\b(?:'|\s|$|,|\.))/g, 'I');
  text = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.?!…]$/.test(text) ? text : `${text}${looksLikeQuestion(text) ? '?' : '.'}`;
}

export function looksLikeQuestion(text: string): boolean {
  return /^(?:what|what's|when|where|who|who's|why|how|which|is|are|was|were|do|does|did|can|could|would|will|have|has|may|shall|should|am|isn't|don't|didn't|can't)\b(?! (?:i did|i'm|i want|i need|happened is|i can do)\b)/i.test(
    text,
  );
}
