import { expect, test } from 'vitest';
import { CallRules } from '../../../src/assist/call-rules.ts';
import { starterPlaybooks } from '../../../src/assist/playbooks.ts';
import { phraseDoubts, ruleSetOf } from '../../../src/assist/rule-set.ts';
import { firedBy, scoreOf } from '../../support/assist/labelled-lines.ts';

const set = ruleSetOf(starterPlaybooks());

test.each([
  ['lines-seen', 0.78, 0.97, 0.02],
  ['lines-unseen', 0.46, 0.9, 0.05],
])(
  'the starter playbook on %s: recall %d, precision %d, false hits in neutral lines %d',
  async (name, recall, precision, most) => {
    const figures = await scoreOf(name, (line) =>
      firedBy(new CallRules(set, { direction: null, carrier: 'x', to: null, metadata: {} }), line),
    );
    expect(figures.recall).toBeGreaterThanOrEqual(recall);
    expect(figures.precision).toBeGreaterThanOrEqual(precision);
    expect(figures.falseHits).toBeLessThanOrEqual(most);
  },
);

test('no phrase of the starter playbook has a choice that counts for nothing', () => {
  expect(starterPlaybooks().flatMap(phraseDoubts)).toEqual([]);
});
