import { CallRules } from './call-rules.ts';
import type { HeardFinal } from './heard-text.ts';
import type { Hit } from './hits.ts';
import type { LoadedPlaybook } from './rule-set.ts';
import { ruleSetOf, type CallScope, type RuleSet } from './rule-set.ts';

/**
 * Triggers that depend on time are judged this many seconds late: by then the finals of that second have come, from
 * both parties.
 */
export const settledS = 3;
/** Live, a final comes about so long after its last word. The seconds that are judged by then are judged before it. */
const heardLateS = 0.7;

/** One thing that a call brought to the rules. */
export type RuleInput =
  | ({ kind: 'final' } & HeardFinal)
  | { kind: 'sentiment'; role: string; end: number; sentiment: string }
  | { kind: 'entity'; role: string; start: number; end: number; type: string; utteranceId: string }
  | { kind: 'dtmf'; end: number }
  | { kind: 'wait'; end: number };

type SpeakingInput = { kind: 'speaking'; end: number };
/** No sentence is longer; a final that claims to be would be walked through all the same. */
const maxSpokenS = 120;

/** The finals with their directions, where a rule waits for a meaning. The sentences are asked for one by one. */
export async function understood(set: RuleSet, inputs: readonly RuleInput[]): Promise<RuleInput[]> {
  const known: RuleInput[] = [];
  for (const input of inputs)
    if (input.kind === 'final' && set.means.wants(input.role, input.text))
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
  const rules = new CallRules(set, call, isTrial);
  const all = [...inputs, ...inputs.flatMap(underWay)];
  for (const input of all.toSorted((one, other) => one.end - other.end)) {
    yield rules.advance(input.end - (input.kind === 'wait' ? 0 : settledS - heardLateS));
    yield takenBy(rules, input);
  }
}

/** Live, partials say that somebody is speaking before the final comes: a long sentence is no silence. */
function underWay(input: RuleInput): SpeakingInput[] {
  if (input.kind !== 'final') return [];
  const seconds = Math.min(maxSpokenS, Math.max(0, input.end - input.start));
  return Array.from({ length: Math.ceil(seconds * 2) }, (_, half) => ({
    kind: 'speaking',
    end: input.start + half / 2,
  }));
}

function takenBy(rules: CallRules, input: RuleInput | SpeakingInput): Hit[] {
  switch (input.kind) {
    case 'speaking':
      rules.speaking(input.end);
      return [];
    case 'final':
      return rules.heard(input);
    case 'sentiment':
      return rules.felt(input.role, input.end, input.sentiment);
    case 'entity': {
      const { role, type, start, end, utteranceId } = input;
      return rules.entity(role, type, { utterance_id: utteranceId, start, end });
    }
    case 'dtmf':
      return rules.pressed(input.end);
    case 'wait':
      return [];
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
