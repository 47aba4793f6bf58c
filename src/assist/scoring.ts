import { digestOf } from '../lib/digest.ts';
import { round3 } from '../lib/round.ts';
import type { Hit } from './hits.ts';
import { type FigureName, type LoadedScorecard, type ScorecardItem } from './scorecard.ts';

/** A place in a call that an answer rests on. */
export type ScoreEvidence = { at: number; role?: string | undefined; matched?: string | undefined };

/** An item with its answer. The words of the scorecard stand with it: the file may be another tomorrow. */
export type ScoredItem = {
  id: string;
  section: string;
  question: string;
  points: number;
  critical: boolean;
  answers: { answer: string; share: number }[];
  answer: string | null;
  /** The share of the points. Null while nobody answered. */
  share: number | null;
  by: 'rule' | 'reviewer' | null;
  evidence: ScoreEvidence[];
  note?: string | undefined;
  /** The answer of the rule. It stays when a reviewer gives another. */
  rule?: { answer: string; share: number } | undefined;
  /** A reviewer answered it, or left the answer of the rule as it is. */
  reviewed?: true | undefined;
};

export type ScoreFacts = {
  /** Hits of the scorecard's own rules. */
  found: readonly Hit[];
  /** Hits that the playbooks had in the call. */
  hits: readonly Hit[];
  figures: ReadonlyMap<FigureName, number>;
};

/** Places that an item keeps; the first ones. */
const maxEvidence = 5;

/** Answers what rules can answer. The rest waits for a reviewer. */
export function scoredItems(card: LoadedScorecard, facts: ScoreFacts): ScoredItem[] {
  return card.sections.flatMap(({ title, items }) =>
    items.map((item) => ({
      ...{ id: item.id, section: title, question: item.question, points: item.points },
      ...{ critical: item.critical, answers: item.answers },
      ...withRule(answered(item, facts)),
    })),
  );
}

function withRule(answer: ItemAnswer): ItemAnswer & Pick<ScoredItem, 'rule'> {
  const { answer: given, share, by } = answer;
  if (by !== 'rule' || given === null || share === null) return answer;
  return { ...answer, rule: { answer: given, share } };
}

type ItemAnswer = Pick<ScoredItem, 'answer' | 'share' | 'by' | 'evidence'>;
const unanswered: ItemAnswer = { answer: null, share: null, by: null, evidence: [] };

function answered({ id, auto }: ScorecardItem, { found, hits, figures }: ScoreFacts): ItemAnswer {
  if (auto === undefined) return unanswered;
  if (auto.figure !== undefined) {
    const value = figures.get(auto.figure.of);
    if (value === undefined) return unanswered;
    const [, share = 0] = auto.figure.bands.find(([limit]) => value <= limit) ?? [];
    return { answer: String(round3(value)), share, by: 'rule', evidence: [] };
  }
  const own = found.filter(({ rule }) => rule === id);
  if (auto.when !== undefined) return yesIf(own.length > 0, own);
  if (auto.never !== undefined) return yesIf(own.length === 0, own);
  if (auto.step !== undefined) {
    const done = hits.filter(({ did }) =>
      did.some((one) => one.kind === 'step' && `${one.checklist}.${one.step}` === auto.step),
    );
    return yesIf(done.length > 0, done);
  }
  const named = auto.hit ?? auto.no_hit;
  const fired = hits.filter(({ playbook, rule }) => `${playbook}/${rule}` === named);
  return yesIf(auto.hit === undefined ? fired.length === 0 : fired.length > 0, fired);
}

function yesIf(isYes: boolean, hits: readonly Hit[]): ItemAnswer {
  return {
    answer: isYes ? 'yes' : 'no',
    share: isYes ? 1 : 0,
    by: 'rule',
    evidence: hits.slice(0, maxEvidence).map(({ at, cause }) => ({
      at: round3(Math.min(at, cause.start)),
      role: cause.role,
      matched: cause.matched,
    })),
  };
}

export type ScoreTotal = {
  points: number;
  /** The points of the items that were answered. */
  of: number;
  /** Null where no item was answered. A critical item without any point makes it 0. */
  percent: number | null;
  criticalFailed: boolean;
  /** Items that wait for a reviewer. */
  open: number;
};

export function totalOf(items: readonly ScoredItem[]): ScoreTotal {
  let [points, of, open] = [0, 0, 0];
  for (const { share, points: most } of items) {
    if (share === null) open++;
    else {
      points += share * most;
      of += most;
    }
  }
  const criticalFailed = items.some(({ critical, share }) => critical && share === 0);
  const percent = of === 0 ? null : criticalFailed ? 0 : Math.round((points / of) * 1_000) / 10;
  return { points: round3(points), of, percent, criticalFailed, open };
}

/** True for the calls of the sample: the same calls whenever and wherever it is asked. */
export function isSampled(
  { id, sample }: Pick<LoadedScorecard, 'id' | 'sample'>,
  callId: string,
): boolean {
  // prettier-ignore
  const number = Number.parseInt(digestOf(`${id}/${callId}`).slice(0, 8), 16);
  return number % 10_000 < sample * 100;
}

export type ScoreEdit = { id: string; answer: string | null; note?: string | undefined };

/** A reviewer's answers put in. Returns the mistake where an item or an answer does not exist. */
export function withEdits(
  items: readonly ScoredItem[],
  edits: readonly ScoreEdit[],
): { items: ScoredItem[] } | { wrong: string } {
  // prettier-ignore
  const known = new Map(items.map((item) => [item.id, item]));
  for (const { id, answer, note } of edits) {
    const item = known.get(id);
    if (item === undefined) return { wrong: `there is no item ${id}` };
    // The answer of a rule may be confirmed as it is: it may be a figure, which is no choice.
    if (answer === item.answer) known.set(id, { ...item, ...seen(item), note: note ?? item.note });
    else {
      const choice = item.answers.find((one) => one.answer === answer);
      if (answer !== null && choice === undefined)
        return { wrong: `the item ${id} has no answer ${answer}: choose ${item.answers.map((one) => one.answer).join(', ')}` }; // prettier-ignore
      const by = answer === null ? null : ('reviewer' as const);
      known.set(id, { ...item, ...seen(item), answer, share: choice?.share ?? null, by, note: note ?? item.note }); // prettier-ignore
    }
  }
  return { items: [...known.values()] };
}

/** An open item that stays open was judged by nobody. A score of an earlier version has the rule's answer in its place. */
function seen({ answer, share, by, rule }: ScoredItem): Pick<ScoredItem, 'rule' | 'reviewed'> {
  const ofRule = rule ?? (by === 'rule' && answer !== null && share !== null ? { answer, share } : undefined); // prettier-ignore
  return ofRule === undefined ? {} : { rule: ofRule, reviewed: true };
}
