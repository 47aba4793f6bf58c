import type { ScoredItem } from '../../assist/scoring.ts';
import { round3 } from '../../lib/round.ts';
import type { ScoreAgreement } from '../../protocol/call-scores.ts';

type ItemOfScore = { scorecard: string; item: Pick<ScoredItem, 'id' | 'question' | 'share' | 'rule' | 'reviewed'> }; // prettier-ignore
type SharePair = { rule: number; reviewer: number };

/**
 * The agreement of rules and reviewers, for each automatic item and for each scorecard. Shares of the points are
 * compared, because a rule may have answered with a figure. Pure.
 */
export function agreementOf(items: readonly ItemOfScore[]): ScoreAgreement[] {
  const seen = items.flatMap(({ scorecard, item: { id, question, share, rule, reviewed } }) =>
    reviewed === true && rule !== undefined && share !== null
      ? [{ scorecard, id, question, pair: { rule: rule.share, reviewer: share } }]
      : [],
  );
  const cards = Map.groupBy(seen, ({ scorecard }) => scorecard);
  return [...cards].flatMap(([scorecard, all]) => {
    const byItem = [...Map.groupBy(all, ({ id }) => id)].map(([item, own]) => ({
      ...{ scorecard, item, question: own[0]?.question ?? null },
      ...figuresOf(own.map(({ pair }) => pair)),
    }));
    const whole = { scorecard, item: null, question: null, ...figuresOf(all.map(({ pair }) => pair)) }; // prettier-ignore
    return [whole, ...byItem.toSorted((one, other) => (one.kappa ?? 2) - (other.kappa ?? 2))];
  });
}

/** Cohen's kappa: agreement beyond the chance that both give the same answer by their habits. */
function figuresOf(
  pairs: readonly SharePair[],
): Pick<ScoreAgreement, 'answers' | 'agreed' | 'kappa'> {
  const answers = pairs.length;
  const agreed = pairs.filter(({ rule, reviewer }) => rule === reviewer).length;
  const shares = new Set(pairs.flatMap(({ rule, reviewer }) => [rule, reviewer]));
  let chance = 0;
  for (const share of shares)
    chance +=
      (pairs.filter(({ rule }) => rule === share).length / answers) *
      (pairs.filter(({ reviewer }) => reviewer === share).length / answers);
  const kappa = shares.size < 2 ? null : round3((agreed / answers - chance) / (1 - chance));
  return { answers, agreed, kappa };
}
