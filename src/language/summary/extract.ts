import { findEntities } from '../entities/find-entities.ts';
import { contentWords } from '../text/content.ts';
import type { SummarizationType } from '../../protocol/addon-configs.ts';
import type { SpokenTurn } from '../types.ts';
import { boundariesOf } from './boundaries.ts';
import { clausesOf, wordsIn, type Clause } from './clauses.ts';
import { terse } from './terse.ts';
import { isEnglish, toldOf } from './third-person.ts';
import { withValues } from '../values/with-values.ts';

/** The most words of a summary, by its type. */
export const budgets: Record<SummarizationType, number> = {
  general: 125,
  bullet_points: 120,
  concise: 55,
};

/** A two-hour call has thousands of clauses. Entities are searched for in at most this many of the best. */
const candidatesKept = 400;

const done =
  /\b(?:i'll|i will|we'll|we will|i've|i have|we've|i'm (?:sending|cancell?ing|going to|adding|refunding)|let's|you(?:'ll| will) (?:have|get|receive|need)|you get|you can keep|(?:is|are|was|that's) (?:booked|cancell?ed|confirmed|on its way|moved)|done)\b/i;
const actions =
  /\b(?:refund\w*|credit\w*|cancel\w*|book\w*|send|sent|sending|replac\w*|chang\w*|block\w*|open\w*|report\w*|correct\w*|remov\w*|mov(?:e|ed|ing)|transfer\w*|schedul\w*|arriv\w*|deliver\w*|pay|paid|charg\w*|bill\w*|upgrad\w*|renew\w*|clos(?:e|ed|ing)|turned off|takes?|costs?|reset\w*|updat\w*|call(?: you)? back|call you|visit\w*|install\w*|repair\w*|waiv\w*|return\w*|order\w*|escalat\w*|apply|applied|switch\w*|text you|email\w*|take off|keep)\b/i;
const trouble =
  /\b(?:drop\w*|stop\w*|broken?|fault\w*|missing|wrong|never|didn't|doesn't|haven't|hasn't|isn't|aren't|wasn't|can't|cannot|not work\w*|error|lost|stolen|late|damag\w*|fail\w*|problem|issue|mistake|leak\w*|too high|rejected|expired|delay\w*|charged|scratch\w*|crack\w*|slow|only two|cut off|mov(?:e|ing)|cancel|estimated|lower|higher)\b/i;
const tried =
  /\b(?:i|we|my \w+) (?:already |even |also |have |'ve |ve )*(?:tried|restarted|reset|checked|changed|asked|called|rang|unplugged|reinstalled|took|told|had|rebooted|replaced|emailed|sent|paid|threw|brought|left|filled|moved|bought|ordered)\b/i;
/** Short statements of a result that was reached during the call. */
const outcome =
  /^(?:it|that|this|everything)(?:'s| is| has been)(?: all| now)? (?:cancell?ed|done|booked|confirmed|refunded|removed|changed|moved|closed|paid|sorted|fixed)\b/i;
const finding =
  /\b(?:shows?|looks like|turns out|it says|that's why|because|according to|i (?:can )?see|means|due to|was sent|were probably|the reason)\b/i;
/** Prices and conditions of a thing. */
const terms =
  /\b(?:at no (?:extra )?cost|no charge|free of charge|for free|per ?cent|don't (?:have to )?pay|won't (?:have to )?pay|flat (?:price|rate|fee)|included|excess|deductible|deposit|(?:dollars|pounds|euros|[$£€]\d[\d.,]*) (?:a|per|each) (?:day|night|week|month|year))\b/i;
const chatter =
  /^(?:welcome to|for calling|you(?:'ve| have) reached|(?:\w+, )?this is|my name is|you(?:'re| are) speaking|speaking with|thank(?:s| you)|bye|goodbye|you're welcome|have a|hello|hi\b|good (?:morning|afternoon|evening)|how can|how may|great|perfect|okay|ok\b|will do|you too|no problem|i've got that|as i said|that's right|is there anything|sorry to hear|i'm sorry|let me|one moment|go ahead|i knew it|take care|yes please|that's (?:correct|everything|all)|speaking|oh\b|hold on|bear with|no worries|my supervisor|this call (?:is|may|will)|please use\b)/i;

const greets = /\bmy name(?:'s| is)\b|\bspeaking\b|\bhow (?:can|may) i help\b|\bthis is \p{Lu}/iu;

/** The weight of a sentence's length. 1 would fill the summary with scraps, 0 with the longest turns. */
const costPower = 0.6;
const leastNovelty = 0.4;
const quotingWords = 4;

type Scored = Clause & {
  score: number;
  words: number;
  chapter: number;
  keys: Set<string>;
  entities: Map<string, number>;
};

/**
 * The most informative sentences of a call or of a part of one, in spoken order. If the roles are known, each is told
 * in the third person ("Customer wants a refund"); otherwise each stands with its speaker.
 */
export function extractOf(turns: readonly SpokenTurn[], type: SummarizationType): string {
  const label = isNamelessVoice(turns) ? () => '' : labelOf;
  const render = (clauses: readonly Clause[]): string[] =>
    isTellable(turns) ? toldSentences(clauses) : asProse(clauses, label);
  const sentences = render(clausesWorthTelling(turns, budgets[type], render));
  return type === 'bullet_points'
    ? sentences.map((one) => `- ${one}`).join('\n')
    : sentences.join(' ');
}

/** True if it is known who is the agent and who the customer, and the words are English. */
export function isTellable(turns: readonly SpokenTurn[]): boolean {
  const isKnown = turns.every(({ role }) => role === 'agent' || role === 'customer');
  return turns.length > 0 && isKnown && isEnglish(turns.map(({ text }) => text));
}

/** A clause that was cut in its middle. */
const isBroken = /\b(?:that|says|shows|and|but|because|the|to|of|with)[.?]$/i;

/** Words whose meaning depends on the speaker. */
const ofOneself =
  /\b(?:i|i'm|i'll|i've|me|my|mine|we|we're|we'll|we've|us|our|you|your|you're|you'll|you've)\b/i;

const statesFact = /^(?:the|it|it's|there|there's|that's|a|an)\b/i;

/** Clauses of known parties in the third person. A clause whose grammar is not plain is quoted. */
export function toldSentences(chosen: readonly Clause[]): string[] {
  let subject = '';
  return chosen.map((clause, place) => {
    const name = nameOf(clause.role);
    const isSame = clause.role === chosen[place - 1]?.role;
    const told = toldOf(clause.text, clause.role, subject === name ? 'They' : name);
    // "They" is clear only while consecutive sentences have one subject.
    subject = told !== undefined && /^(?:They|Their|Customer|Agent)\b/.test(told) ? name : '';
    if (told !== undefined) return told;
    // A statement of the agent about the matter needs no name: it is the company's word.
    const isPlain = isSame || (clause.role === 'agent' && statesFact.test(clause.text));
    if (isPlain && !clause.isQuestion && !ofOneself.test(clause.text)) return clause.text;
    return `${name} ${clause.isQuestion ? 'asked' : 'said'}: "${clause.text}"`;
  });
}

function isQuoted(role: string, text: string): boolean {
  return (text.endsWith('?') || ofOneself.test(text)) && toldOf(text, role, 'They') === undefined;
}

function nameOf(role: string): string {
  return role === 'agent' ? 'Agent' : 'Customer';
}

/** Joins clauses to prose and names the speaker where it changes. */
function asProse(clauses: readonly Clause[], label: (role: string) => string): string[] {
  return clauses.map((clause, i) =>
    clause.role === clauses[i - 1]?.role ? clause.text : `${label(clause.role)}${clause.text}`,
  );
}

/** True if the call has one channel, which does not tell who spoke. */
function isNamelessVoice(turns: readonly SpokenTurn[]): boolean {
  const [first] = turns;
  return (
    /^(?:channel \d+|speaker|mixed)$/.test(first?.role ?? '') &&
    turns.every(({ role }) => role === first?.role)
  );
}

function labelOf(role: string): string {
  return role === '' || role === 'mixed'
    ? 'Speaker: '
    : `${role.slice(0, 1).toUpperCase()}${role.slice(1)}: `;
}

type AlreadyTold = { isWanted?: (clause: Clause) => boolean; told?: readonly string[] };

/** "TB-88120" and "TB88120" are one number. */
function keyOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** The words and entities of sentences that the reader has before these. */
function seenIn(told: readonly string[]): Map<string, number> {
  const seen = new Map<string, number>();
  for (const text of told) {
    for (const { stem } of contentWords(text)) seen.set(stem, (seen.get(stem) ?? 0) + 1);
    for (const span of findEntities(text)) seen.set(keyOf(span.text), 1);
  }
  return seen;
}

/** The clauses that tell the most of a call's facts within so many words, in spoken order. */
export function clausesWorthTelling(
  turns: readonly SpokenTurn[],
  budget: number,
  render: (clauses: readonly Clause[]) => string[],
  { isWanted = () => true, told = [] }: AlreadyTold = {},
): Clause[] {
  const scored = scoreAll(turns).filter(isWanted);
  const chosen: Scored[] = [];
  const seen = seenIn(told);
  const perChapter = new Map<number, number>();
  let used = 0;
  const left = new Set(scored);
  // At most 40 clauses are picked from a bounded list, so the work grows linearly with the call.
  while (left.size > 0 && chosen.length < 40) {
    let best: Scored | undefined;
    let bestGain = 0;
    for (const clause of left) {
      const cost = clause.words + 0.5;
      if (used + cost > budget) continue;
      const gain =
        gainOf(clause, seen) /
        (1 + 0.15 * (perChapter.get(clause.chapter) ?? 0)) /
        Math.max(6, cost) ** costPower;
      if (gain > bestGain) {
        best = clause;
        bestGain = gain;
      }
    }
    if (!best || bestGain < 0.25) break;
    left.delete(best);
    chosen.push(best);
    used += best.words + 0.5;
    perChapter.set(best.chapter, (perChapter.get(best.chapter) ?? 0) + 1);
    for (const key of [...best.keys, ...best.entities.keys()])
      seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  const inOrder = (): Scored[] => chosen.toSorted((a, b) => a.order - b.order);
  // The speakers' names take space too, which is known only now. The sentences that were picked last are dropped until
  // the text fits.
  while (chosen.length > 1 && wordsIn(render(inOrder()).join(' ')) > budget) chosen.pop();
  return inOrder();
}

/** The gain of adding a sentence: its weight times the share of words that are new, plus its new entities. */
function gainOf(clause: Scored, seen: ReadonlyMap<string, number>): number {
  let fresh = 0;
  for (const key of clause.keys) fresh += 1 / (1 + (seen.get(key) ?? 0) * 2.5);
  const novelty = clause.keys.size === 0 ? 0.2 : fresh / clause.keys.size;
  const hasNews = [...clause.entities.keys()].some((key) => !seen.has(key));
  // A recapitulation at the end of a call says everything once more.
  if (novelty < leastNovelty && !hasNews) return 0;
  let gain = clause.score * (0.3 + 0.7 * novelty);
  for (const [key, weight] of clause.entities) gain += seen.has(key) ? weight * 0.15 : weight;
  return gain;
}

function scoreAll(turns: readonly SpokenTurn[]): Scored[] {
  const clauses = clausesOf(turns);
  const cuts = boundariesOf(turns);
  const counts = new Map<string, number>();
  for (const clause of clauses)
    for (const { stem } of contentWords(clause.text)) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  const rough = clauses
    .map((clause) => ({ ...clause, ...weigh(clause, cuts, counts) }))
    .filter((clause) => clause.words <= 45 && clause.score > 0);
  const kept =
    rough.length > candidatesKept
      ? rough.toSorted((a, b) => b.score - a.score).slice(0, candidatesKept)
      : rough;
  return kept.map(withEntities);
}

function weigh(
  clause: Clause,
  cuts: readonly number[],
  counts: ReadonlyMap<string, number>,
): { score: number; words: number; chapter: number; keys: Set<string> } {
  const words = wordsIn(clause.text);
  const content = contentWords(clause.text);
  const chapter = cuts.findLastIndex((cut) => cut <= clause.turn);
  const keys = new Set(content.map((word) => word.stem));
  const isAgent = clause.role === 'agent';
  let score = 0;
  for (const stem of keys) score += 0.12 * Math.min(4, counts.get(stem) ?? 0);
  score = Math.min(score, 1.4) + Math.min(keys.size, 6) * 0.12;
  const sinceCut = clause.turn - (cuts[Math.max(0, chapter)] ?? 0);
  // The first sentences of a topic say what it is about.
  if (!isAgent && sinceCut >= 0 && sinceCut <= 2 && keys.size >= 2)
    score += sinceCut === 0 ? 1.6 : 0.8;
  if (done.test(clause.text) && actions.test(clause.text)) score += isAgent ? 1.5 : 0.7;
  else if (actions.test(clause.text)) score += 0.5;
  if (trouble.test(clause.text)) score += isAgent ? 0.4 : 0.9;
  if (tried.test(clause.text)) score += isAgent ? 0.2 : 0.9;
  if (finding.test(clause.text)) score += 0.8;
  if (isAgent && terms.test(clause.text)) score += 0.8;
  if (clause.isQuestion) score -= !isAgent && sinceCut <= 1 ? 0.2 : 1.6;
  if (chatter.test(clause.text)) score -= 1.4;
  // "They changed in January" does not say what did.
  if (words <= 5 && /^(?:they|it|he|she|that|this|nobody)\b/i.test(clause.text) && !outcome.test(clause.text) && !/\d/.test(clause.text)) score -= 1; // prettier-ignore
  // "It is cancelled." is short, but it is the result that the call was for.
  if (words < 4 && !outcome.test(clause.text)) score -= 1;
  if (isAgent && outcome.test(clause.text)) score += 0.5;
  // The agent's own name and the company's open each call.
  if (isAgent && clause.turn <= 2 && greets.test(clause.text)) score -= 4;
  // The first line of the summary already names the caller.
  if (/\b(?:date of birth|my name|this is|speaking)\b/i.test(clause.text) && keys.size <= 3)
    score -= 1.2;
  return { score, words, chapter: Math.max(0, chapter), keys };
}

const weights: Record<string, number> = {
  MONEY: 1.2,
  DATE: 0.9,
  TIME: 0.6,
  DATE_INTERVAL: 0.9,
  NUMERICAL_PII: 1.6,
  ACCOUNT_NUMBER: 0.3,
  NAME: 0.6,
  LOCATION_ADDRESS: 0.8,
  LOCATION_ADDRESS_STREET: 0.8,
  ORGANIZATION: 0.4,
  LOCATION_CITY: 0.4,
  LOCATION: 0.4,
  NAME_MEDICAL_PROFESSIONAL: 0.5,
  NAME_GIVEN: 0.2,
  EMAIL_ADDRESS: 0.3,
  PHONE_NUMBER: 0.3,
};

/**
 * A duration: its unit and the two words before it, as in "three working days". The search runs backwards, because the
 * length of a word is not bounded.
 */
function howLong(text: string): string | undefined {
  const unit = / (?:hours|days|weeks|months)\b/i.exec(text);
  if (!unit) return undefined;
  const before = text
    .slice(Math.max(0, unit.index - 40), unit.index)
    .split(' ')
    .slice(-2);
  return before.join(' ') + unit[0];
}

/** Adds the amounts, days, numbers and durations of a clause, which a manager looks for. */
function withEntities(clause: Omit<Scored, 'entities'>): Scored {
  const entities = new Map<string, number>();
  const text = terse(withValues(clause.text));
  const spans = findEntities(text);
  for (const span of spans)
    entities.set(keyOf(span.text), clause.isQuestion ? 0.2 : (weights[span.type] ?? 0.2));
  const lasts = howLong(text);
  if (lasts) entities.set(lasts.toLowerCase(), 0.6);
  const isOnlyIdentity =
    spans.length > 0 &&
    spans.every((span) => /^(?:NAME|DOB|DATE|ACCOUNT_NUMBER|PHONE)/.test(span.type)) &&
    spans.reduce((sum, span) => sum + span.text.length, 0) > text.length * 0.6;
  return {
    ...clause,
    text,
    // The words that name the speaker of a quotation take room too.
    words: wordsIn(text) + (isQuoted(clause.role, text) ? quotingWords : 0),
    score: isOnlyIdentity || isBroken.test(text) ? 0 : Math.min(clause.score, 4),
    entities: isOnlyIdentity ? new Map<string, number>() : entities,
  };
}
