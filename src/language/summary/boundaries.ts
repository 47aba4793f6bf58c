import { contentWords } from '../text/content.ts';
import { wordsIn } from './clauses.ts';
import type { SpokenTurn } from '../types.ts';

/** Words that open another topic. */
const openers =
  /\b(?:one|another|the|an|a) (?:more|last|other|second|final|different|separate|quick|further|next) (?:thing|question|issue|point|matter|problem|request|favou?r)s?\b|\b(?:one more|something else|another thing|anything else|something different|while (?:i|we) have you|while i've got|while i'm (?:here|on)|while you're (?:there|at it|here)|before (?:i forget|you go|i go|we (?:finish|hang up|go))|by the way|on (?:a|another) (?:different|separate|unrelated|note)|moving on|next up|turning to|as for|speaking of|that reminds me|different topic|secondly)\b/i;
const additions = /\b(?:also|too|as well|another|besides|apart from)\b/i;
/** Words with which a turn goes on with what was said before it. */
const continuing =
  /^(?:(?:well|oh|um|uh|so|and|right|ah|hm|hmm|ouch|really)[,.!?]? ){0,4}(?:it|it's|that|that's|then|will|yes|yeah|no|not|he|she|they|there|those|these|which|why|how long|how much|how many|so|but|including|only|both|twice|perfect|great|thanks|thank|sure|of course|done|because|or|what about)\b/i;
const settling =
  /\b(?:okay|ok|great|good|thanks|thank you|perfect|alright|all right|fine|lovely|brilliant|cool|nice|wonderful|got it|will do|right|sure|noted|booked|done|you're welcome|no problem|no pressure|hurry|glad)\b/i;
const ofOneself =
  /\b(?:my|our|i've|i have|i had|we have|we've|i'm|we're|i was|i need|i want|i'd like|you guys)\b/i;
const agentTurnsTo =
  /\b(?:i (?:also |can |just )?(?:see|noticed|notice)|noticed|while|shall i|would you (?:also )?like|from my side|asked us|are you still)\b/i;
const offer = /\b(?:anything|something) else\b/i;
const refuses = /^(?:\W*(?:um|uh|okay|oh|well))*\W*(?:no|nope|that's|not|i'm good|nothing)\b/i;
const closers =
  /\b(?:no,? (?:that's|that is|nothing)|that's (?:all|everything|it)|nothing else|that will be all|that'll be all)\b/i;
/** A turn is judged by its first words: a topic is not opened in the middle of a speech. */
const charactersRead = 400;

/**
 * Signs of a turn that opens a topic. Each is weighed by a logistic regression that learnt on the calls of
 * `chapters-dev.txt` and `calls-dev.jsonl` and on calls of the first two parts of the wrap-ups, alone and joined.
 */
export const openingWeights = {
  always: -4.17,
  opener: 4.78,
  addition: 0.82,
  continues: -1.27,
  isAnswer: -2.37,
  afterShortAgreement: 0.54,
  afterAgreement: 0.3,
  byCustomer: 2.5,
  aboutOneself: 1.24,
  customerAsks: 1.3,
  agentTurnsTo: 1.65,
  length: 1.22,
  isShort: 0.11,
  newWords: 0.39,
  contentWords: 2.04,
  wordsOfBefore: -4.23,
  afterOffer: 2.88,
  lengthBefore: -1.74,
};
type OpeningSigns = Record<keyof typeof openingWeights, number>;

/** A turn opens a topic if it does so rather than not. */
const likelyEnough = 0.5;
/** A topic has at least this many turns. */
const leastTurns = 4;

/**
 * The turns at which a topic begins: first the reason for the call, then each turn whose words or cues show a change.
 */
export function boundariesOf(turns: readonly SpokenTurn[]): number[] {
  const first = turns.findIndex((turn, i) => isTopical(turn, i));
  if (first < 0) return turns.length > 0 ? [0] : [];
  const found = [first];
  const likely = openingSigns(turns).map(likelihood);
  const order = [...likely.keys()]
    .filter((i) => i >= 3 && i < turns.length - 2 && (likely[i] ?? 0) >= likelyEnough)
    .sort((a, b) => (likely[b] ?? 0) - (likely[a] ?? 0) || a - b);
  const taken = new Set<number>([first]);
  const isFree = (i: number): boolean => {
    for (let near = i - leastTurns + 1; near < i + leastTurns; near++) if (taken.has(near)) return false; // prettier-ignore
    return true;
  };
  for (const i of order) {
    if (!isFree(i)) continue;
    taken.add(i);
    found.push(i);
  }
  return found.sort((a, b) => a - b);
}

function likelihood(signs: OpeningSigns): number {
  const sum = Object.entries(openingWeights).reduce((total, [name, weight]) => total + weight * signs[name as keyof OpeningSigns], 0); // prettier-ignore
  return 1 / (1 + Math.exp(-sum));
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

export function openingSigns(turns: readonly SpokenTurn[]): OpeningSigns[] {
  const texts = turns.map(({ text }) => text.slice(0, charactersRead));
  const words = texts.map((text) => contentWords(text).map(({ stem }) => stem));
  const seen = new Set<string>();
  return turns.map(({ role }, i) => {
    const [text = '', before = ''] = [texts[i], texts[i - 1]];
    const own = words[i] ?? [];
    const fresh = own.filter((stem) => !seen.has(stem)).length;
    for (const stem of own) seen.add(stem);
    const count = wordsIn(text);
    const isCustomer = role !== 'agent';
    const closes = closers.test(text) && count < 14;
    const sign = (holds: boolean): number => (holds ? 1 : 0);
    return {
      always: 1,
      opener: sign(openers.test(text) && !closes && !opensNothing(turns, i)),
      addition: sign(additions.test(text)),
      continues: sign(continuing.test(text)),
      isAnswer: sign(/\?\s*$/.test(before)),
      afterShortAgreement: sign(wordsIn(before) <= 6 && settling.test(before)),
      afterAgreement: sign(settling.test(before)),
      byCustomer: sign(isCustomer),
      aboutOneself: sign(isCustomer && ofOneself.test(text)),
      customerAsks: sign(isCustomer && text.includes('?')),
      agentTurnsTo: sign(!isCustomer && agentTurnsTo.test(text)),
      length: Math.log(Math.max(1, count)),
      isShort: sign(count < 6),
      newWords: own.length === 0 ? 0 : fresh / own.length,
      contentWords: Math.min(own.length, 6) / 6,
      wordsOfBefore: shareOfBefore(words, i),
      afterOffer: sign(offer.test(before) && count > 4),
      lengthBefore: Math.log(1 + wordsIn(before)),
    };
  });
}

/** "Anything else?" of the agent opens no topic where the answer is no. */
function opensNothing(turns: readonly SpokenTurn[], i: number): boolean {
  const turn = turns[i];
  if (turn?.role !== 'agent' || !offer.test(turn.text)) return false;
  const answer = turns[i + 1]?.text ?? '';
  return refuses.test(answer) || wordsIn(answer) < 5;
}

/** The share of the next turns' words that were used shortly before. */
function shareOfBefore(words: readonly string[][], i: number): number {
  const before = new Set(words.slice(Math.max(0, i - 8), i).flat());
  const next = words.slice(i, i + 4).flat();
  return next.length === 0 ? 0 : next.filter((stem) => before.has(stem)).length / next.length;
}
