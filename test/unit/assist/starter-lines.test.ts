import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CallRules } from '../../../src/assist/call-rules.ts';
import { starterPlaybooks } from '../../../src/assist/playbooks.ts';
import { ruleSetOf } from '../../../src/assist/rule-set.ts';

type LabelledLine = { role: string; text: string; rules: string[] };

/** Rules that need more than one line. */
const ofSeveralLines = new Set(['verified', 'gets-upset', 'dead-air']);

/**
 * Lines of calls, each with the situations that it is about. One writer, who had not seen the rules, wrote both sets in
 * different voices. No line of the second was looked at while the phrases were written.
 */
const linesOf = (name: string): LabelledLine[] =>
  readFileSync(new URL(`../../fixtures/assist/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LabelledLine);

const set = ruleSetOf(starterPlaybooks());

function firedBy({ role, text }: LabelledLine): string[] {
  const rules = new CallRules(set, { direction: null, carrier: 'x', to: null, metadata: {} });
  const final = { utteranceId: 'u', legId: 'l', role, start: 0, end: 5, text };
  // Hints that wait for their turn have it within these seconds.
  const hits = [...rules.heard(final), ...rules.advance(15)];
  return [...new Set(hits.map(({ rule }) => rule))].filter((rule) => !ofSeveralLines.has(rule));
}

test.each([
  ['lines-seen', 0.78, 0.95, 0.04],
  ['lines-unseen', 0.45, 0.8, 0.1],
])(
  'the starter playbook on %s: recall %d, precision %d, false hits in neutral lines %d',
  (name, recall, precision, most) => {
    let [found, wrong, missed, neutral, falseHits] = [0, 0, 0, 0, 0];
    for (const line of linesOf(name)) {
      const fired = firedBy(line);
      found += fired.filter((rule) => line.rules.includes(rule)).length;
      wrong += fired.filter((rule) => !line.rules.includes(rule)).length;
      missed += line.rules.filter((rule) => !fired.includes(rule)).length;
      if (line.rules.length > 0) continue;
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
