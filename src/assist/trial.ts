import { CallRules, settledS } from './call-rules.ts';
import type { Hit } from './hits.ts';
import { arrivalOf, heardBy, inOrder, type RuleInput } from './rule-inputs.ts';
import type { LoadedPlaybook } from './rule-set.ts';
import { ruleSetOf, type CallScope, type RuleSet } from './rule-set.ts';

/** The finals with their directions, where a rule waits for a meaning. The sentences are asked for one by one. */
export async function understood(set: RuleSet, inputs: readonly RuleInput[]): Promise<RuleInput[]> {
  const known: RuleInput[] = [];
  for (const input of inputs)
    if (input.kind === 'final' && !input.isBlind && set.means.wants(input.role, input.text))
      known.push({ ...input, direction: await set.means.stored(input.text) });
    else known.push(input);
  return known;
}

/** The hits that the rules would have had in a call that is over: by the same engine as live. */
export function tryCall(
  set: RuleSet,
  call: CallScope,
  inputs: readonly RuleInput[],
  isTrial = true,
): Hit[] {
  return [...trialHits(set, call, inputs, isTrial)].flat();
}

/** The same input by input, so that a long call need not hold up others. */
export function* trialHits(
  set: RuleSet,
  call: CallScope,
  inputs: readonly RuleInput[],
  isTrial = true,
): Generator<Hit[]> {
  // The language that a call turned out to have was not known at its begin.
  const isNoted = inputs.some(({ heard }) => heard !== undefined);
  const rules = new CallRules(set, isNoted ? { ...call, language: null } : call, isTrial);
  for (const input of inOrder(inputs)) {
    const reached = input.kind === 'wait' ? input.end + settledS : arrivalOf(input);
    if (isNoted) yield* rules.reach(reached);
    else yield rules.advance(reached - settledS);
    yield heardBy(rules, input);
  }
}

export type TestResult = { name: string; isPassed: boolean; why: string };

/** A turn of a test without times is spoken at this speed, and the next one comes after a breath. */
const wordsPerSecond = 2.5;
const breathS = 0.5;

/** Runs the tests that a playbook brings. Its scope does not count: the test says what is said, not by whom. */
export async function testsOf(
  playbook: LoadedPlaybook,
  teach: (set: RuleSet) => Promise<unknown> = () => Promise.resolve(),
): Promise<TestResult[]> {
  const set = ruleSetOf([{ ...playbook, scope: {}, status: 'live' }]);
  await teach(set);
  const results: TestResult[] = [];
  for (const { name, turns, expect } of playbook.tests) {
    const { inputs, endS } = inputsOf(turns);
    const call: CallScope = { direction: null, carrier: 'test', to: null, metadata: {} };
    const heard = await understood(set, [...inputs, { kind: 'wait', end: endS }]);
    const hits = tryCall(set, call, heard);
    const found = {
      hits: unique(hits.map(({ rule }) => rule)),
      steps: unique(hits.flatMap(({ did }) => did.flatMap((done) => (done.kind === 'step' ? [`${done.checklist}.${done.step}`] : [])))), // prettier-ignore
      tags: unique(hits.flatMap(({ did }) => did.flatMap((done) => (done.kind === 'tag' ? [done.tag] : [])))), // prettier-ignore
    };
    const wrong = (['hits', 'steps', 'tags'] as const).flatMap((what) => {
      const wanted = expect[what];
      if (wanted === undefined) return [];
      const [is, should] = [
        found[what].toSorted().join(', '),
        unique(wanted).toSorted().join(', '),
      ];
      return is === should ? [] : [`${what}: ${is || 'none'}, expected ${should || 'none'}`];
    });
    results.push({ name, isPassed: wrong.length === 0, why: wrong.join('; ') });
  }
  return results;
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

function inputsOf(turns: LoadedPlaybook['tests'][number]['turns']) {
  let clockS = 0;
  const inputs = turns.flatMap((turn, at): RuleInput[] => {
    if ('wait' in turn) {
      clockS += turn.wait;
      return [];
    }
    const [role, text] = Array.isArray(turn) ? turn : [turn.role, turn.text];
    const start = Array.isArray(turn) ? clockS : turn.start;
    const end = Array.isArray(turn) ? start + 0.4 + text.split(/\s+/).length / wordsPerSecond : turn.end; // prettier-ignore
    clockS = end + breathS;
    return [{ kind: 'final', utteranceId: `turn-${at}`, legId: role, role, start, end, text }];
  });
  return { inputs, endS: clockS };
}
