import { contentWords } from '../text/content.ts';
import { clausesOf, wordsIn } from './clauses.ts';
import type { SpokenTurn } from '../types.ts';

/** Words that open another topic. */
const openers: [pattern: RegExp, weight: number][] = [
  [
    /\b(?:one|another|the|an|a) (?:more|last|other|second|final|different|separate|quick|further) (?:thing|question|issue|point|matter|problem|request|favou?r)s?\b/,
    1,
  ],
  [
    /\b(?:one more|something else|another thing|anything else|something different|while (?:i|we) have you|while i've got you|while i'm (?:here|on)|while you're (?:there|at it|here)|before (?:i forget|you go|i go|we (?:finish|hang up|go))|by the way|on (?:a|another) (?:different|separate|unrelated|note)|moving on|next up|turning to|as for|speaking of|that reminds me|different topic|secondly|the next (?:thing|point|item))\b/,
    1,
  ],
  [
    /^(?:actually|oh|okay|ok|yes|yeah|right|alright|great|perfect|and|so|well|now|um|uh|[, .])*(?:now,? (?:about|for|regarding)|about (?:the|my|your)|regarding|there's also|there is also|i also|we also|can i also|could i also|could you also|also|and also|additionally|besides|the other|what about (?:the|my)|i (?:also )?(?:wanted|want|need|have) (?:also )?to (?:ask|check|know|talk|mention|raise|bring)|i was (?:also )?wondering|i (?:also )?have (?:a|another) question|how about (?:the|my))\b/,
    0.8,
  ],
  [
    /^(?:actually|oh|okay|ok|yes|yeah|right|alright|great|perfect|so|well|now|um|uh|[, .])*(?:and |but )(?:um |uh |so )*(?:how|what|is|can|could|do|does|when|will|would|should|one|my|our)\b/,
    0.45,
  ],
  [
    /\b(?:let's|let us|shall we|can we|i'd like to) (?:move on|go on|talk about|look at|go over|discuss|go through|turn to)\b/,
    0.9,
  ],
];

const closers =
  /\b(?:no,? (?:that's|that is|nothing)|that's (?:all|everything|it)|nothing else|that will be all|that'll be all)\b/;

/**
 * The turns at which a topic begins: first the reason for the call, then each turn whose words or cues show a change.
 */
export function boundariesOf(turns: readonly SpokenTurn[]): number[] {
  const first = turns.findIndex((turn, i) => isTopical(turn, i));
  if (first < 0) return turns.length > 0 ? [0] : [];
  const words = turns.map((turn) => contentWords(turn.text).map((word) => word.stem));
  const found = [first];
  const scored = turns.map((turn, i) => (i > first ? openingScore(turns, words, i, turn) : 0));
  const order = [...scored.keys()]
    .filter((i) => (scored[i] ?? 0) >= 0.8)
    .sort((a, b) => (scored[b] ?? 0) - (scored[a] ?? 0) || a - b);
  for (const i of order)
    if (
      i < turns.length - 2 &&
      found.every((other) => Math.abs(other - i) >= (other === first ? 4 : 4))
    )
      found.push(i);
  return found.sort((a, b) => a - b);
}

/** True for a turn that says more than who is speaking. */
function isTopical(turn: SpokenTurn, index: number): boolean {
  const text = turn.text.toLowerCase();
  if (
    /\b(?:how (?:can|may) (?:i|we) help|thank(?:s| you) for calling|speaking[.,]? how|you're (?:through|speaking)|welcome to|can i have your name|who am i speaking|my name is \w+,? how)\b/.test(
      text,
    ) &&
    index < 4
  )
    return false;
  return contentWords(text).length >= 3 || wordsIn(text) >= 9;
}

function openingScore(
  turns: readonly SpokenTurn[],
  words: readonly string[][],
  i: number,
  turn: SpokenTurn,
): number {
  const text = turn.text.toLowerCase().slice(0, 400);
  if (closers.test(text) && wordsIn(text) < 14) return 0;
  let cue = 0;
  for (const [pattern, weight] of openers) if (weight > cue && pattern.test(text)) cue = weight;
  const isOffer =
    /\b(?:anything|something) else\b/.test(text) &&
    /\b(?:can|help|is there|will that be)\b/.test(text);
  if (isOffer && contentWords(text).length < 8) {
    // An offer of the agent opens no topic if the answer is no.
    const answer = turns[i + 1]?.text.toLowerCase() ?? '';
    if (
      /^(?:\W*(?:um|uh|okay|oh|well))*\W*(?:no|nope|that's|not|i'm good|nothing)\b/.test(answer) ||
      wordsIn(answer) < 5
    )
      return 0;
    return 0.85;
  }
  const shift = topicShift(words, i);
  if (
    turns[i - 1] &&
    /\b(?:anything|something) else\b/.test(turns[i - 1]?.text.toLowerCase() ?? '') &&
    wordsIn(text) >= 5
  )
    cue = Math.max(cue, 1);
  const isNew = shift - 0.5;
  if (cue >= 0.8) return cue + isNew * 0.4;
  // "And how do I ...": the caller asks the next question after the last one was answered.
  if (cue > 0)
    return turn.role !== 'agent' && shift > 0.75 && !isQuestionTurn(turns[i - 1])
      ? cue + shift * 0.5
      : 0;
  // Without a cue, a turn opens a topic only if nearly all its words are new and it has substance.
  return shift > 0.97 &&
    turn.role !== 'agent' &&
    (words[i]?.length ?? 0) >= 5 &&
    wordsIn(text) >= 9 &&
    isSettled(turns, i)
    ? 0.8
    : 0;
}

function isQuestionTurn(turn: SpokenTurn | undefined): boolean {
  if (!turn) return false;
  const last = clausesOf([turn]).at(-1);
  return last?.isQuestion ?? false;
}

/** True if the topic before has ended: an "okay, good" stands before the turn. */
function isSettled(turns: readonly SpokenTurn[], i: number): boolean {
  const before = turns[i - 1]?.text.toLowerCase() ?? '';
  return (
    wordsIn(before) <= 6 &&
    /\b(?:okay|ok|great|good|thanks|thank you|perfect|alright|fine|lovely|done|sure)\b/.test(before)
  );
}

/** The change of words at a turn: 0 if the next turns use the same words, 1 if they share none. */
function topicShift(words: readonly string[][], i: number): number {
  const before = new Set(words.slice(Math.max(0, i - 7), i).flat());
  const after = new Set(words.slice(i, i + 4).flat());
  if (after.size === 0) return 0;
  let shared = 0;
  for (const stem of after) if (before.has(stem)) shared += 1;
  return 1 - shared / after.size;
}
