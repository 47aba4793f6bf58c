import { afterAll, expect, test, vi } from 'vitest';
import { CallRules } from '../../../src/assist/call-rules.ts';
import { KeptWeights } from '../../../src/assist/means-rules.ts';
import { starterPlaybooks } from '../../../src/assist/playbooks.ts';
import { ruleSetOf } from '../../../src/assist/rule-set.ts';
import { testsOf } from '../../../src/assist/trial.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { SentenceMeaning } from '../../../src/meaning/meaning.ts';
import { firedBy, scoreOf } from '../../support/assist/labelled-lines.ts';
import { installedSentenceModel } from '../../support/meaning/installed-model.ts';

vi.setConfig({ testTimeout: 120_000 });
const models = await installedSentenceModel();
const meaning = new SentenceMeaning({ models: models ?? '' }, systemClock, createLog({ level: 'silent' })); // prettier-ignore
afterAll(() => meaning[Symbol.asyncDispose]());
const kept = new KeptWeights();

test.skipIf(!models).each([
  ['lines-seen', 0.94, 0.94, 0.04],
  ['lines-unseen', 0.7, 0.88, 0.12],
])(
  'phrases and meanings of the starter playbook on %s: recall %d, precision %d, false hits in neutral lines %d',
  async (name, recall, precision, most) => {
    const set = ruleSetOf(starterPlaybooks());
    expect(await set.means.teach(meaning, kept)).toBe(true);
    const figures = await scoreOf(name, async (line) => {
      const wanted = set.means.wants(line.role, line.text);
      const direction = wanted ? await set.means.stored(line.text) : undefined;
      const call = new CallRules(set, { direction: null, carrier: 'x', to: null, metadata: {} });
      return firedBy(call, line, direction);
    });
    expect(figures.recall).toBeGreaterThanOrEqual(recall);
    expect(figures.precision).toBeGreaterThanOrEqual(precision);
    expect(figures.falseHits).toBeLessThanOrEqual(most);
  },
);

test.skipIf(!models)('the tests in the starter playbook pass with its meanings too', async () => {
  for (const playbook of starterPlaybooks())
    for (const { name, why } of await testsOf(playbook, (set) => set.means.teach(meaning, kept)))
      expect(why, name).toBe('');
});
