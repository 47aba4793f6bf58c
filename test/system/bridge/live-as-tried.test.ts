import { expect, test } from 'vitest';
import { hitsOf } from '../../../src/assist/hit-rows.ts';
import { articlesAsPlaybook, type Hit } from '../../../src/assist/hits.ts';
import { KeptWeights } from '../../../src/assist/means-rules.ts';
import { starterPlaybooks } from '../../../src/assist/playbooks.ts';
import { ruleSetOf } from '../../../src/assist/rule-set.ts';
import { tryCall, understood } from '../../../src/assist/trial.ts';
import { scopeOf } from '../../../src/bridge/api/call-scope.ts';
import { callInputs } from '../../../src/bridge/events/assist-inputs.ts';
import { everyTrigger, inEnglish, simulatedCall } from '../../support/assist/simulated-calls.ts';
import { WordMeaning } from '../../support/meaning/word-meaning.ts';
import { temporaryStore } from '../../support/store/store.ts';

const calls = Number(process.env['SIMULATED_CALLS'] ?? 100);
const firstSeed = Number(process.env['SIMULATED_FROM'] ?? 1);
const atOnce = 25;

function inBytes(hits: readonly Hit[]): string[] {
  const byKey = new Map(hits.toReversed().map((hit) => [hit.key, hit]));
  return [...byKey.values()]
    .map(({ key, playbook, version, digest, rule, title, isShadow, at, cause, did }) =>
      JSON.stringify({ at, key, playbook, version, digest, rule, title, isShadow, cause, did }),
    ) // prettier-ignore
    .toSorted();
}

test('a trial finds in calls that are over the hits that they had live, byte for byte', async () => {
  await using store = await temporaryStore();
  const set = ruleSetOf([...starterPlaybooks(), everyTrigger, inEnglish]);
  await set.means.teach(new WordMeaning(), new KeptWeights());
  const fired = new Set<string>();
  const different: string[] = [];
  for (let first = 0; first < calls; first += atOnce) {
    const seeds = Array.from({ length: Math.min(atOnce, calls - first) }, (_, at) => first + at + firstSeed); // prettier-ignore
    const records = await Promise.all(seeds.map((seed) => simulatedCall(store, set, seed)));
    for (const [at, record] of records.entries()) {
      const stored = await hitsOf(store.db, record.id);
      const live = stored
        .filter(({ playbook }) => playbook !== articlesAsPlaybook)
        .map(({ verdict: _verdict, ...hit }) => hit);
      const inputs = await understood(set, await callInputs(store.db, record.id));
      const tried = inBytes(tryCall(set, scopeOf(record), inputs, false));
      for (const { rule } of live) fired.add(rule);
      const [told, found] = [inBytes(live), tried];
      if (JSON.stringify(told) !== JSON.stringify(found))
        different.push(`seed ${seeds[at]}: live alone ${told.filter((one) => !found.includes(one)).join(' ')}; tried alone ${found.filter((one) => !told.includes(one)).join(' ')}`); // prettier-ignore
    }
  }
  console.log(`${calls - different.length} of ${calls} simulated calls: the same hits; rules that fired: ${fired.size}`); // prettier-ignore
  expect(different.slice(0, 3)).toEqual([]);
  for (const { rule } of ruleSetOf([everyTrigger, inEnglish]).rules)
    expect(fired, rule.id).toContain(rule.id);
}, 3_600_000);
