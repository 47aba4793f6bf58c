import { CallRules } from '../../../src/assist/call-rules.ts';
import type { RuleInput } from '../../../src/assist/rule-inputs.ts';
import type { RuleSet, TriggerWatch } from '../../../src/assist/rule-set.ts';
import { tryCall } from '../../../src/assist/trial.ts';
import { scoreSentiment } from '../../../src/language/sentiment/score.ts';
import type { SentenceDirection } from '../../../src/meaning/directions.ts';
import { normalisedWords, wordErrors } from '../../support/recognition/word-errors.ts';
import type { SpokenTurn } from './calls.ts';
import type { CallAsHeard, HeardUtterance } from './heard.ts';

/** Rules that time or moods meet, which one turn alone cannot. */
const ofCalls = new Set(['gets-upset', 'dead-air']);
const anyCall = { direction: null, carrier: 'x', to: null, metadata: {} };

/** A turn with what was heard of it. */
type HeardTurn = SpokenTurn & { finals: readonly HeardUtterance[] };

export type JudgedTurn = {
  turn: HeardTurn;
  heard: string;
  errors: number;
  words: number;
  /** The rules that fire by their phrases, in what was heard and in what was said. */
  phrases: readonly string[];
  phrasesAsSaid: readonly string[];
  /** The rules that are meant, in what was heard. */
  means: readonly string[];
  /** By either, as a call would show it. */
  either: readonly string[];
};
type JudgedCall = { id: string; expected: readonly string[]; found: readonly string[] };

export type Directions = (text: string) => Promise<SentenceDirection | undefined>;

export async function judgedTurns(
  set: RuleSet,
  call: CallAsHeard,
  direction: Directions,
): Promise<JudgedTurn[]> {
  const judged: JudgedTurn[] = [];
  for (const turn of withFinals(call)) {
    const heard = turn.finals.map(({ text }) => text).join(' ');
    const truth = normalisedWords(turn.text);
    const texts = turn.finals.map(({ text }) => text);
    const directions = await Promise.all(texts.map(async (text) => (set.means.wants(turn.role, text) ? direction(text) : undefined))); // prettier-ignore
    judged.push({
      turn,
      heard,
      errors: wordErrors(truth, normalisedWords(heard, truth)),
      words: truth.length,
      phrases: firedBy(set, turn, texts),
      phrasesAsSaid: firedBy(set, turn, [turn.text]),
      means: meantBy(set, turn.role, texts, directions),
      either: firedBy(set, turn, texts, directions),
    });
  }
  return judged;
}

/** Each final belongs to the turn of its party that it overlaps most. */
function withFinals({ turns, finals }: CallAsHeard): HeardTurn[] {
  const all = turns.map((turn) => ({ ...turn, finals: [] as HeardUtterance[] }));
  for (const final of finals) {
    const own = all.filter(({ role }) => role === final.role);
    const shared = (turn: SpokenTurn): number =>
      Math.min(turn.end, final.end) - Math.max(turn.start, final.start);
    own.toSorted((one, other) => shared(other) - shared(one))[0]?.finals.push(final);
  }
  return all;
}

/** The rules that a turn fires alone. Of the questions that verify a customer it is the second one. */
function firedBy(
  set: RuleSet,
  { role, about }: SpokenTurn,
  texts: readonly string[],
  directions: readonly (SentenceDirection | undefined)[] = [],
): string[] {
  const call = new CallRules(set, anyCall);
  const said = { legId: 'l', role };
  if (about === 'verified')
    call.heard({ ...said, utteranceId: 'first', start: 0, end: 2, text: 'What is your date of birth?' }); // prettier-ignore
  const hits = texts.flatMap((text, at) =>
    call.heard({
      ...said,
      utteranceId: `u${String(at)}`,
      start: 60 + 4 * at,
      end: 63 + 4 * at,
      text,
      ...(directions[at] === undefined ? {} : { direction: directions[at] }),
    }),
  );
  hits.push(...call.advance(68 + 4 * texts.length));
  return [...new Set(hits.map(({ rule }) => rule))].filter((rule) => !ofCalls.has(rule));
}

function meantBy(
  set: RuleSet,
  role: string,
  texts: readonly string[],
  directions: readonly (SentenceDirection | undefined)[],
): string[] {
  const numbers = directions.flatMap((direction, at) =>
    direction === undefined ? [] : [...set.means.in(role, texts[at]!, direction).keys()],
  );
  const met = new Set(numbers);
  const isMet = (watch: TriggerWatch): boolean =>
    (watch.on === 'means' && met.has(watch.means)) ||
    (watch.on === 'any' && watch.parts.some(isMet)) ||
    (watch.on === 'count' && isMet(watch.of));
  return set.rules.filter(({ watch }) => isMet(watch)).map(({ rule }) => rule.id);
}

/** The rules that fire in a whole call, and those that it is about. */
export async function judgedCall(
  set: RuleSet,
  call: CallAsHeard,
  direction: Directions,
): Promise<JudgedCall> {
  const inputs: RuleInput[] = [];
  for (const [at, { role, start, end, text }] of call.finals.entries()) {
    const utteranceId = `u${String(at)}`;
    const meaning = set.means.wants(role, text) ? await direction(text) : undefined;
    inputs.push({ kind: 'final', utteranceId, legId: role, role, start, end, text, direction: meaning }); // prettier-ignore
    inputs.push({ kind: 'sentiment', role, end, sentiment: scoreSentiment(text).label });
  }
  inputs.push({ kind: 'wait', end: (call.turns.at(-1)?.end ?? 0) + 4 });
  const found = [...new Set(tryCall(set, anyCall, inputs, false).map(({ rule }) => rule))];
  return { id: call.id, expected: expectedIn(call), found };
}

function expectedIn({ turns }: CallAsHeard): string[] {
  const expected = new Set(turns.flatMap(({ rules }) => rules));
  if (turns.filter(({ rules }) => rules.includes('verified')).length < 2)
    expected.delete('verified');
  if (turns.some(({ afterS }) => afterS > 15)) expected.add('dead-air');
  if (turns.some(({ kind }) => kind === 'course')) expected.add('gets-upset');
  return [...expected];
}

export type Share = { part: number; of: number };
const shareOf = <Item>(items: readonly Item[], isPart: (item: Item) => boolean): Share => ({
  part: items.filter(isPart).length,
  of: items.length,
});

type TurnFigures = {
  wordErrors: Share;
  phraseRecall: Share;
  phrasePrecision: Share;
  /** The phrases that were found in what was heard, of those that stand in what was said. */
  phrasesKept: Share;
  meansRecall: Share;
  meansPrecision: Share;
  eitherRecall: Share;
  eitherPrecision: Share;
  falseByPhrase: Share;
  falseByEither: Share;
  /** Turns that are half said, denied or said by the other party, in which their rule fires. */
  traps: Record<'half' | 'not' | 'other', Share>;
};

export function figuresOf(all: readonly JudgedTurn[]): TurnFigures {
  const turns = all.filter(({ turn }) => turn.kind !== 'course');
  const of = (...kinds: string[]): JudgedTurn[] => turns.filter(({ turn }) => kinds.includes(turn.kind)); // prettier-ignore
  const neutral = of('customer', 'agent');
  const isRight = (judged: JudgedTurn, rule: string): boolean => judged.turn.rules.includes(rule);
  const recall = (some: readonly JudgedTurn[], by: 'phrases' | 'means' | 'either'): Share =>
    shareOf(some, (judged) => judged[by].includes(judged.turn.about));
  const precision = (some: readonly JudgedTurn[], by: 'phrases' | 'means' | 'either'): Share =>
    shareOf(
      some.flatMap((judged) => judged[by].map((rule) => isRight(judged, rule))),
      (right) => right,
    );
  const trap = (kind: string): Share =>
    shareOf(of(kind), ({ turn, either }) => either.includes(turn.about));
  const asSaid = of('said', 'words').flatMap(({ phrasesAsSaid, phrases, turn }) =>
    phrasesAsSaid.filter((rule) => turn.rules.includes(rule)).map((rule) => phrases.includes(rule)),
  );
  // The paraphrases that share no phrase with their rule: words alone cannot find them.
  const paraphrases = of('words').filter(({ turn, phrasesAsSaid }) => !phrasesAsSaid.includes(turn.about)); // prettier-ignore
  return {
    wordErrors: {
      part: turns.reduce((sum, { errors }) => sum + errors, 0),
      of: turns.reduce((sum, { words }) => sum + words, 0),
    },
    phraseRecall: recall(of('said'), 'phrases'),
    phrasePrecision: precision(turns, 'phrases'),
    phrasesKept: shareOf(asSaid, (kept) => kept),
    meansRecall: recall(paraphrases, 'means'),
    meansPrecision: precision([...paraphrases, ...neutral], 'means'),
    eitherRecall: recall(of('said', 'words'), 'either'),
    eitherPrecision: precision(turns, 'either'),
    falseByPhrase: shareOf(neutral, ({ phrases }) => phrases.length > 0),
    falseByEither: shareOf(neutral, ({ either }) => either.length > 0),
    traps: { half: trap('half'), not: trap('not'), other: trap('other') },
  };
}

export function figuresOfCalls(calls: readonly JudgedCall[]): { recall: Share; precision: Share } {
  const expected = calls.flatMap(({ expected, found }) => expected.map((rule) => found.includes(rule))); // prettier-ignore
  const found = calls.flatMap(({ expected, found }) =>
    found.map((rule) => expected.includes(rule)),
  );
  return { recall: shareOf(expected, Boolean), precision: shareOf(found, Boolean) };
}
