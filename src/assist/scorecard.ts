import { z } from 'zod';
import { Playbook, Scope, Trigger, type Rule } from './playbook.ts';
import { ruleFileFrom } from './rule-files.ts';
import { ruleSetOf, type LoadedPlaybook } from './rule-set.ts';

/**
 * A scorecard: the questions by which a call is judged. A person writes it in YAML. Rules answer some of the questions,
 * with their evidence, and a reviewer the rest.
 */
const Id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower case letters, digits and hyphens, at most 64');
const Text = z.string().min(1).max(200);

/** Figures of an ended call that an item may be judged by. */
export const figureNames = [
  'dead_air.longest',
  'dead_air.total',
  'interruptions.agent',
  'interruptions.customer',
  'longest_monologue.agent',
  'talk_ratio.agent',
  'talk_ratio.customer',
] as const;
export type FigureName = (typeof figureNames)[number];

const ruleName = z.string().regex(/^[a-z0-9-]+\/[a-z0-9-]+$/, 'must be playbook/rule');
const autos = {
  when: Trigger.describe('Answered with yes where the trigger is met.'),
  never: Trigger.describe('Answered with yes where the trigger is not met.'),
  step: z.string().min(3).max(130).describe('A step of a checklist that is done: checklist.step.'),
  hit: ruleName.describe('A rule of a playbook that fired.'),
  no_hit: ruleName.describe('A rule of a playbook that did not fire.'),
  figure: z.strictObject({
    of: z.enum(figureNames),
    bands: z
      .array(z.tuple([z.number(), z.number().min(0).max(1)]))
      .min(1)
      .max(10)
      .describe('Up to this value, this share of the points. Above the last: none.'),
  }),
};
type Autos = { [Name in keyof typeof autos]?: z.infer<(typeof autos)[Name]> | undefined };

const Auto = z
  .strictObject({
    when: autos.when.optional(),
    never: autos.never.optional(),
    step: autos.step.optional(),
    hit: autos.hit.optional(),
    no_hit: autos.no_hit.optional(),
    figure: autos.figure.optional(),
  })
  .refine(
    (auto) => Object.values(auto).filter((value) => value !== undefined).length === 1,
    'needs exactly one of when, never, step, hit, no_hit and figure',
  )
  .transform((auto): Autos => auto);

const Choice = z.strictObject({ answer: Text, share: z.number().min(0).max(1) });
const yesOrNo: z.infer<typeof Choice>[] = [
  { answer: 'yes', share: 1 },
  { answer: 'no', share: 0 },
];

const Item = z.strictObject({
  id: Id,
  question: Text,
  points: z.int().min(1).max(100),
  critical: z.boolean().default(false).describe('Without any point here the whole call has none.'),
  auto: Auto.optional().describe('Without it a reviewer answers.'),
  answers: z
    .array(Choice)
    .min(2)
    .max(10)
    .default(yesOrNo)
    .describe('The choices of a reviewer, each with its share of the points.'),
});
export type ScorecardItem = z.infer<typeof Item>;

export const Scorecard = z.strictObject({
  id: Id,
  version: z.int().min(1).default(1),
  title: Text,
  status: z.enum(['draft', 'live']).default('draft').describe('draft: no call is judged by it.'),
  scope: Scope.default({}),
  min_duration: z.number().min(0).max(86_400).default(20).describe('Shorter calls are not judged.'),
  sample: z
    .number()
    .min(1)
    .max(100)
    .default(100)
    .describe('Per cent of the calls, always the same ones.'),
  words: Playbook.shape.words,
  sections: z
    .array(z.strictObject({ title: Text, items: z.array(Item).min(1).max(50) }))
    .min(1)
    .max(20),
});

/** A scorecard as it was read. Its rules are made ready when a call is first judged by it. */
export type LoadedScorecard = z.infer<typeof Scorecard> & { digest: string };

/** Reads one scorecard. Throws with a line for each mistake, for the person who wrote it. */
export function scorecardFrom(text: string): LoadedScorecard {
  const card = ruleFileFrom('scorecard', Scorecard, text);
  const problems = problemsOf(card);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  // Phrases that cannot be read are found here, where the file is still known.
  ruleSetOf(rulesOf(card));
  return card;
}

function problemsOf(card: LoadedScorecard): string[] {
  const ids = itemsOf(card).map(({ id }) => id);
  const problems = [...new Set(ids.filter((id, at) => ids.indexOf(id) !== at))].map(
    (id) => `two are the item ${id}`,
  );
  for (const { id, auto, answers } of itemsOf(card)) {
    const names = answers.map(({ answer }) => answer);
    if (new Set(names).size < names.length) problems.push(`items.${id}: an answer stands twice`);
    const text = JSON.stringify(auto?.when ?? auto?.never ?? {});
    for (const kind of ['step', 'missing', 'tag'])
      if (text.includes(`{"${kind}":`))
        problems.push(`items.${id}: ${kind} cannot be asked of an ended call; a playbook can: name its rule by hit`); // prettier-ignore
  }
  return problems;
}

export function itemsOf({ sections }: Pick<LoadedScorecard, 'sections'>): ScorecardItem[] {
  return sections.flatMap(({ items }) => items);
}

/** The triggers of the items as rules, which the engine of the playbooks listens with. */
export function rulesOf(card: LoadedScorecard): LoadedPlaybook[] {
  const rules = itemsOf(card).flatMap(({ id, question, auto }): Rule[] => {
    const when = auto?.when ?? auto?.never;
    if (when === undefined) return [];
    return [{ id, title: question, when, then: [{ signal: { name: 'found' } }], cooldown: 15, once: false, priority: 50 }]; // prettier-ignore
  });
  if (rules.length === 0) return [];
  const { id, version, words, digest } = card;
  return [{ id, version, words, digest, status: 'live', scope: {}, checklists: [], tests: [], rules }]; // prettier-ignore
}
