import { reasonOf } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest-name.ts';
import { TimeSlice } from '../lib/time-slice.ts';
import { Playbook, type PhraseTrigger, type Rule, type Scope, type Trigger } from './playbook.ts';
import { RuleFileError, type PlacedMistake } from './mistakes.ts';
import { MeansRules } from './means-rules.ts';
import { PhraseMatcher, type PhraseSpec } from './phrase-matcher.ts';
import { ruleFileFrom } from './rule-files.ts';
import { ignoredChoices, wordingsOf } from './template.ts';

/** A trigger with its number, under which a call keeps what it has seen of it. */
export type TriggerWatch =
  | { id: number; on: 'phrase'; phrase: number }
  | { id: number; on: 'means'; means: number }
  | { id: number; on: 'any' | 'all'; parts: TriggerWatch[] }
  | { id: number; on: 'not'; part: TriggerWatch }
  | { id: number; on: 'then'; first: TriggerWatch; next: TriggerWatch; within: number }
  | { id: number; on: 'count'; of: TriggerWatch; times: number; over: number }
  | PlainWatch;
type PlainTrigger = Exclude<
  Trigger,
  | { phrase: unknown }
  | { means: unknown }
  | { any: unknown }
  | { all: unknown }
  | { not: unknown }
  | { then: unknown }
  | { count: unknown }
>;
type PlainWatch = { id: number; on: 'plain'; trigger: PlainTrigger };

export type WatchedRule = {
  playbook: LoadedPlaybook;
  rule: Rule;
  watch: TriggerWatch;
  /** True if time alone can make it fire. All others need not be asked each second. */
  isTimed: boolean;
};

/** After so many milliseconds of work others have their turn. */
const sliceMs = 8;
/** Playbooks with more wordings than this, together, would make each final wait. */
const maxWordingsOfAll = 30_000;

/** A playbook as it was read. The digest is its true version. */
export type LoadedPlaybook = Playbook & { digest: string };

/** The rules of several playbooks, ready to listen. It never changes: a call keeps the one that it began with. */
export type RuleSet = {
  playbooks: readonly LoadedPlaybook[];
  rules: readonly WatchedRule[];
  phrases: PhraseMatcher;
  /** Learnt after the rules are ready, where the model is. Until then these triggers find nothing. */
  means: MeansRules;
};

/** Reads one playbook. Throws with a line for each mistake, for the person who wrote it. */
export function playbookFrom(text: string): LoadedPlaybook {
  const playbook = ruleFileFrom('playbook', Playbook, text);
  const problems = problemsOf(playbook);
  if (problems.length > 0) throw new RuleFileError(problems);
  return playbook;
}

/** Names that nothing has, and names that two have. */
function problemsOf({ rules, checklists, tests }: Playbook): PlacedMistake[] {
  const problems: PlacedMistake[] = [];
  const steps = checklists.flatMap(({ id, steps }) => steps.map((step) => `${id}.${step.id}`));
  const ids = rules.map(({ id }) => id);
  for (const [what, names] of [
    ['rule', ids],
    ['step', steps],
  ] as const)
    for (const name of new Set(names.filter((one, at) => names.indexOf(one) !== at))) {
      const place = what === 'rule' ? ['rules', names.lastIndexOf(name)] : ['checklists'];
      problems.push({ place, reason: `two are the ${what} ${name}` });
    }
  const named = (name: string, known: readonly string[], where: NamedPlace): void => {
    if (known.includes(name)) return;
    const near = nearestName(name, [...known]);
    problems.push({ place: where.place, reason: `${where.told}: there is no ${where.what} ${name}${near === undefined ? '' : `, did you mean ${near}?`}` }); // prettier-ignore
  };
  for (const [at, { id, when, then }] of rules.entries()) {
    const inRule = { told: `rules.${id}`, what: 'step' };
    const place = ['rules', at, 'when'];
    for (const trigger of triggersIn(when)) {
      if ('step' in trigger) named(trigger.step.step, steps, { ...inRule, place });
      if ('missing' in trigger) named(trigger.missing.step, steps, { ...inRule, place });
    }
    for (const [action, done] of then.entries())
      if ('step' in done) named(done.step, steps, { ...inRule, place: ['rules', at, 'then', action] }); // prettier-ignore
  }
  for (const [at, { name, expect }] of tests.entries()) {
    const where = { told: `the test "${name}"`, place: ['tests', at] };
    for (const hit of expect.hits ?? []) named(hit, ids, { ...where, what: 'rule' });
    for (const step of expect.steps ?? []) named(step, steps, { ...where, what: 'step' });
  }
  return problems;
}

type NamedPlace = { told: string; what: string; place: PlacedMistake['place'] };

/** The triggers without the ones that only hold others. */
export function triggersIn(trigger: Trigger): Trigger[] {
  if ('any' in trigger) return trigger.any.flatMap(triggersIn);
  if ('all' in trigger) return trigger.all.flatMap(triggersIn);
  if ('not' in trigger) return triggersIn(trigger.not);
  if ('then' in trigger) return [trigger.then.first, trigger.then.next].flatMap(triggersIn);
  if ('count' in trigger) return triggersIn(trigger.count.of);
  return [trigger];
}

/** A line for each choice of a phrase that says less than its writer may think. */
export function phraseDoubts({ rules, words }: Playbook): string[] {
  const lists = new Map(Object.entries(words));
  return rules.flatMap(({ id, when }) =>
    triggersIn(when)
      .flatMap((trigger) => ('phrase' in trigger ? [trigger.phrase] : []))
      .flatMap(({ any = [], near = [] }) => [...any, ...near.flat()])
      .flatMap((phrase) =>
        ignoredChoices(phrase, lists).map(
          (choice) => `${id}: "${choice}" counts for nothing, so "${phrase}" is found without it`,
        ),
      ),
  );
}

function dependsOnTime(trigger: Trigger): boolean {
  return 'silence' in trigger || 'elapsed' in trigger || 'missing' in trigger || 'talk' in trigger;
}

/** Makes the rules ready. Throws where a phrase cannot be read, with the place of the phrase. */
export function ruleSetOf(playbooks: readonly LoadedPlaybook[]): RuleSet {
  const making = rulesInSteps(playbooks);
  for (;;) {
    const step = making.next();
    if (step.done === true) return step.value;
  }
}

/** The same in slices of some milliseconds: the thread that moves audio goes on meanwhile. */
export async function ruleSetInSlices(playbooks: readonly LoadedPlaybook[]): Promise<RuleSet> {
  const making = rulesInSteps(playbooks);
  const slice = new TimeSlice(sliceMs);
  for (;;) {
    const step = making.next();
    if (step.done === true) return step.value;
    await slice.stepped();
  }
}

function* rulesInSteps(playbooks: readonly LoadedPlaybook[]): Generator<undefined, RuleSet> {
  const made = new RuleSetMaker();
  for (const playbook of playbooks)
    for (const rule of playbook.rules) {
      made.add(playbook, rule);
      yield;
    }
  yield* made.phrases.finishing();
  return { playbooks, rules: made.rules, phrases: made.phrases, means: made.means };
}

/** Gives each trigger its number, and each phrase its wordings. */
class RuleSetMaker {
  readonly rules: WatchedRule[] = [];
  readonly phrases = new PhraseMatcher();
  readonly means = new MeansRules();
  #last = 0;
  #wordings = 0;

  add(playbook: LoadedPlaybook, rule: Rule): void {
    const of = { playbook, rule, lists: new Map(Object.entries(playbook.words)) };
    const isTimed = triggersIn(rule.when).some(dependsOnTime);
    try {
      this.rules.push({ playbook, rule, watch: this.#watchOf(rule.when, of), isTimed });
    } catch (error) {
      const place = ['rules', playbook.rules.indexOf(rule), 'when'];
      throw new RuleFileError([{ place, reason: `rules.${rule.id}: ${reasonOf(error)}` }]);
    }
  }

  #watchOf(trigger: Trigger, around: TriggerPlace): TriggerWatch {
    const id = this.#last++;
    const of = (part: Trigger): TriggerWatch => this.#watchOf(part, around);
    if ('phrase' in trigger) {
      const spec = specOf(trigger.phrase, around.lists);
      this.#wordings += wordingsIn(spec);
      if (this.#wordings > maxWordingsOfAll)
        throw new Error(`all phrases together stand for more than ${maxWordingsOfAll} wordings`);
      return { id, on: 'phrase', phrase: this.phrases.add(spec) };
    }
    if ('means' in trigger) {
      const spec = { rule: around.rule.id, ...trigger.means };
      return { id, on: 'means', means: this.means.add(around.playbook.id, spec) };
    }
    if ('any' in trigger) return { id, on: 'any', parts: trigger.any.map(of) };
    if ('all' in trigger) return { id, on: 'all', parts: trigger.all.map(of) };
    if ('not' in trigger) return { id, on: 'not', part: of(trigger.not) };
    if ('then' in trigger) {
      const { first, next, within } = trigger.then;
      return { id, on: 'then', first: of(first), next: of(next), within };
    }
    if ('count' in trigger) {
      const { times, over } = trigger.count;
      return { id, on: 'count', of: of(trigger.count.of), times, over };
    }
    return { id, on: 'plain', trigger };
  }
}

type TriggerPlace = { playbook: LoadedPlaybook; rule: Rule; lists: WordLists };
type WordLists = ReadonlyMap<string, readonly string[]>;

function specOf(trigger: PhraseTrigger, lists: WordLists): PhraseSpec {
  const wordings = (phrases: readonly string[]) =>
    phrases.flatMap((phrase) => wordingsOf(phrase, lists));
  const { role, any = [], near, within_words: within, not_near, sounds, loose, negated } = trigger;
  return {
    role,
    wordings: wordings(any),
    near: near && { groups: near.map(wordings), within },
    notNear: not_near && { wordings: wordings(not_near.words), within: not_near.within },
    sounds,
    loose,
    negated,
  };
}

function wordingsIn({ wordings, near, notNear }: PhraseSpec): number {
  const groups = [wordings, ...(near?.groups ?? []), notNear?.wordings ?? []];
  return groups.reduce((sum, group) => sum + group.length, 0);
}

/** The facts of a call that the scope of a playbook may ask for. */
export type CallScope = {
  direction: string | null;
  carrier: string;
  to: string | null;
  metadata: Readonly<Record<string, unknown>>;
  /** The customer's language; null while it is in doubt. A running call may come to know it. */
  readonly language?: string | null | undefined;
};

/** True if the playbook is for the language of the call. */
export function isSpoken({ language }: Scope, call: Pick<CallScope, 'language'>): boolean {
  return language === undefined || language.includes(call.language ?? '');
}

export function isInScope(scope: Scope, call: CallScope): boolean {
  const { direction, carrier, to, metadata = {} } = scope;
  if (direction !== undefined && !(direction as string[]).includes(call.direction ?? ''))
    return false;
  if (carrier !== undefined && !carrier.includes(call.carrier)) return false;
  if (to !== undefined && !to.includes(call.to ?? '')) return false;
  if (!isSpoken(scope, call)) return false;
  return Object.entries(metadata).every(([name, wanted]) => {
    const value = call.metadata[name];
    const isText =
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return isText && [wanted].flat().includes(String(value));
  });
}
