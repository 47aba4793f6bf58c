import { readFileSync } from 'node:fs';
import { afterAll, expect, test, vi } from 'vitest';
import { CallRules } from '../../../src/assist/call-rules.ts';
import { KeptWeights } from '../../../src/assist/means-rules.ts';
import { starterPlaybooks } from '../../../src/assist/playbooks.ts';
import { ruleSetOf } from '../../../src/assist/rule-set.ts';
import { testsOf } from '../../../src/assist/trial.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { SentenceMeaning } from '../../../src/meaning/meaning.ts';
import { installedSentenceModel } from '../../support/meaning/installed-model.ts';

vi.setConfig({ testTimeout: 120_000 });
const models = await installedSentenceModel();
const meaning = new SentenceMeaning({ models: models ?? '' }, systemClock, createLog({ level: 'silent' })); // prettier-ignore
afterAll(() => meaning[Symbol.asyncDispose]());
const kept = new KeptWeights();
/** Rules that need more than one line. */
const ofSeveralLines = new Set(['verified', 'gets-upset', 'dead-air']);

test.skipIf(!models).each([
  ['lines-seen', 0.86, 0.9, 0.1],
  ['lines-unseen', 0.6, 0.82, 0.13],
])(
  'phrases and meanings of the starter playbook on %s: recall %d, precision %d, false hits in neutral lines %d',
  async (name, recall, precision, most) => {
    const set = ruleSetOf(starterPlaybooks());
    expect(await set.means.teach(meaning, kept)).toBe(true);
    const file = new URL(`../../fixtures/assist/${name}.jsonl`, import.meta.url);
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    let [found, wrong, missed, neutral, falseHits] = [0, 0, 0, 0, 0];
    for (const line of lines) {
      const { role, text, rules } = JSON.parse(line) as { role: string; text: string; rules: string[] }; // prettier-ignore
      const direction = set.means.wants(role, text) ? await set.means.stored(text) : undefined;
      const final = { utteranceId: 'u', legId: 'l', role, start: 0, end: 5, text, direction };
      const call = new CallRules(set, { direction: null, carrier: 'x', to: null, metadata: {} });
      // Hints that wait for their turn have it within these seconds.
      const hits = [...call.heard(final), ...call.advance(15)];
      const fired = [...new Set(hits.map(({ rule }) => rule))].filter((rule) => !ofSeveralLines.has(rule)); // prettier-ignore
      found += fired.filter((rule) => rules.includes(rule)).length;
      wrong += fired.filter((rule) => !rules.includes(rule)).length;
      missed += rules.filter((rule) => !fired.includes(rule)).length;
      if (rules.length > 0) continue;
      neutral++;
      if (fired.length > 0) falseHits++;
    }
    const figures = { recall: found / (found + missed), precision: found / (found + wrong), falseHits: falseHits / neutral }; // prettier-ignore
    console.log(name, figures);
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
