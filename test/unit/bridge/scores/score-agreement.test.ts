import { expect, test } from 'vitest';
import { agreementOf } from '../../../../src/bridge/scores/score-agreement.ts';
import { withEdits, type ScoredItem } from '../../../../src/assist/scoring.ts';

const yesOrNo = [
  { answer: 'yes', share: 1 },
  { answer: 'no', share: 0 },
];
const asked = (answer: string, share: number, id = 'greeted'): ScoredItem => ({
  ...{ id, section: 'All', question: 'Greeted?', points: 10, critical: false, answers: yesOrNo },
  ...{ answer, share, by: 'rule', evidence: [], rule: { answer, share } },
});

/** The item of a rule that said this, after a reviewer said that. */
function reviewed(
  rule: 'yes' | 'no',
  reviewer: 'yes' | 'no',
): { scorecard: string; item: ScoredItem } {
  const edited = withEdits([asked(rule, rule === 'yes' ? 1 : 0)], [{ id: 'greeted', answer: reviewer }]); // prettier-ignore
  if ('wrong' in edited) throw new Error(edited.wrong);
  return { scorecard: 'quality', item: edited.items[0] as ScoredItem };
}

test('agreement of rules and reviewers is told beyond chance, by item and for the scorecard', () => {
  // 20 and 15 agree, 5 and 10 do not: a known example, whose kappa is 0.4.
  const pairs = [
    ...Array.from({ length: 20 }, () => reviewed('yes', 'yes')),
    ...Array.from({ length: 5 }, () => reviewed('yes', 'no')),
    ...Array.from({ length: 10 }, () => reviewed('no', 'yes')),
    ...Array.from({ length: 15 }, () => reviewed('no', 'no')),
  ];
  expect(agreementOf(pairs)).toEqual([
    { scorecard: 'quality', item: null, question: null, answers: 50, agreed: 35, kappa: 0.4 },
    { scorecard: 'quality', item: 'greeted', question: 'Greeted?', answers: 50, agreed: 35, kappa: 0.4 }, // prettier-ignore
  ]);
});

test('an answer that no reviewer saw is not compared, and one answer alone has no kappa', () => {
  expect(agreementOf([{ scorecard: 'quality', item: asked('yes', 1) }])).toEqual([]);
  const [whole] = agreementOf([reviewed('yes', 'yes'), reviewed('yes', 'yes')]);
  expect(whole).toMatchObject({ answers: 2, agreed: 2, kappa: null });
});

test('the answer of a rule stays beside each answer of a reviewer, however often they change it', () => {
  const first = reviewed('yes', 'no').item;
  const again = withEdits([first], [{ id: 'greeted', answer: 'yes' }]);
  if ('wrong' in again) throw new Error(again.wrong);
  expect(again.items[0]).toMatchObject({ answer: 'yes', by: 'reviewer', rule: { answer: 'yes', share: 1 }, reviewed: true }); // prettier-ignore
  // A figure is compared by its share of the points.
  const figure = withEdits([asked('12.4', 0.5)], [{ id: 'greeted', answer: '12.4' }]);
  if ('wrong' in figure) throw new Error(figure.wrong);
  expect(figure.items[0]).toMatchObject({ answer: '12.4', by: 'rule', reviewed: true });
});
