import { z } from 'zod';
import { languageCodeOf, languagesNamed } from '../protocol/language-names.ts';
import { hintThreshold } from './means-rules.ts';

/**
 * A playbook: what to listen for in a call, and what to show or do then. A person writes it in YAML. No rule holds code
 * or a regular expression.
 */
const Id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower case letters, digits and hyphens, at most 64');
const Party = z.enum(['customer', 'agent']);
const Seconds = z.number().min(0).max(86_400);
const Title = z.string().min(1).max(200);
const Text = z.string().min(1).max(1_000);
const Language = z
  .string()
  .max(60)
  .refine((text) => languageCodeOf(text) !== undefined, 'is no language: es or Spanish')
  .transform((text) => languageCodeOf(text) ?? text);
const PhraseText = z.string().min(2).max(300);

const PhraseTrigger = z
  .strictObject({
    role: Party.optional(),
    any: z.array(PhraseText).min(1).max(100).optional(),
    near: z
      .array(z.array(PhraseText).min(1).max(100))
      .min(2)
      .max(4)
      .optional()
      .describe('Groups: something of each is said within so many words, in any order.'),
    within_words: z.int().min(2).max(30).default(8),
    not_near: z
      .strictObject({
        words: z.array(PhraseText).min(1).max(50),
        within: z.int().min(1).max(20).default(4),
      })
      .optional(),
    sounds: z.boolean().default(false).describe('Names: one word is enough if it sounds alike.'),
    loose: z
      .boolean()
      .default(false)
      .describe('Finds more of what was misheard, and more that was not said.'),
    negated: z.boolean().default(false).describe('Counts "I do not want to ..." too.'),
  })
  .refine(({ any, near }) => any !== undefined || near !== undefined, 'needs any or near');
export type PhraseTrigger = z.infer<typeof PhraseTrigger>;

const Sentences = z.array(z.string().min(8).max(300));
const Examples = Sentences.min(5).max(80);

const MeansTrigger = z
  .union([
    Examples,
    z.strictObject({
      role: Party.default('customer'),
      like: Examples,
      unlike: Sentences.max(40)
        .default([])
        .describe(
          'Sentences that look like it and are not: denied, half said, about something else.',
        ),
      threshold: z
        .number()
        .min(0.2)
        .max(0.95)
        .default(hintThreshold)
        .describe('The likelihood from which on a hint is shown.'),
    }),
  ])
  .describe('Sentences that mean the same: other words are understood too.')
  .transform((means) =>
    Array.isArray(means)
      ? { role: 'customer' as const, like: means, unlike: [], threshold: hintThreshold }
      : means,
  );

const triggers = {
  phrase: PhraseTrigger,
  means: MeansTrigger,
  entity: z.strictObject({ role: Party.optional(), type: z.string().min(1).max(60) }),
  sentiment: z
    .strictObject({
      role: Party.default('customer'),
      is: z.enum(['negative', 'positive']).optional(),
      times: z.int().min(1).max(20).default(1),
      course: z.enum(['falling', 'rising']).optional(),
      by: z.number().min(0.1).max(2).default(0.5),
      over: Seconds.default(60),
      min_utterances: z.int().min(2).max(50).default(4),
    })
    .refine(
      ({ is, course }) => (is === undefined) !== (course === undefined),
      'needs either is or course',
    ),
  silence: z.strictObject({ longer_than: z.number().min(2).max(600) }),
  talk: z.strictObject({
    role: Party,
    share_above: z.number().min(0.5).max(1),
    over: z.number().min(30).max(3_600).default(180),
  }),
  overlap: z.strictObject({
    by: Party,
    times: z.int().min(1).max(50).default(3),
    over: Seconds.default(120),
  }),
  elapsed: z.strictObject({ at: Seconds }),
  missing: z.strictObject({ step: z.string().min(3).max(130), at: Seconds }),
  step: z.strictObject({ step: z.string().min(3).max(130) }),
  dtmf: z.strictObject({ presses: z.int().min(1).max(100), over: Seconds.default(15) }),
  tag: z.string().min(1).max(60),
};

export type Trigger =
  | {
      [Name in keyof typeof triggers]: Record<Name, z.infer<(typeof triggers)[Name]>>;
    }[keyof typeof triggers]
  | { any: Trigger[] }
  | { all: Trigger[] }
  | { not: Trigger }
  | { then: { first: Trigger; next: Trigger; within: number } }
  | { count: { of: Trigger; times: number; over: number } };

export const Trigger: z.ZodType<Trigger> = z.lazy(() =>
  z
    .strictObject({
      ...optional(triggers),
      any: z.array(Trigger).min(1).max(50).optional(),
      all: z.array(Trigger).min(2).max(20).optional(),
      not: Trigger.optional(),
      then: z
        .strictObject({ first: Trigger, next: Trigger, within: Seconds.default(60) })
        .optional(),
      count: z
        .strictObject({ of: Trigger, times: z.int().min(2).max(50), over: Seconds.default(300) })
        .optional(),
    })
    .refine(
      (trigger) => Object.values(trigger).filter((value) => value !== undefined).length === 1,
      'needs exactly one trigger: put several under any or all',
    )
    .transform((trigger) => trigger as Trigger),
);

function optional<Shape extends Record<string, z.ZodType>>(shape: Shape) {
  return Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => [name, schema.optional()]),
  ) as { [Name in keyof Shape]: z.ZodOptional<Shape[Name]> };
}

const Link = z.strictObject({ title: Title, url: z.url({ protocol: /^https?$/ }).max(2_000) });

const actions = {
  hint: z.strictObject({
    title: Title,
    text: Text.optional(),
    say: Text.optional().describe('A sentence to read out.'),
    links: z.array(Link).max(5).optional(),
    priority: z.int().min(0).max(100).optional(),
  }),
  step: z.string().min(3).max(130).describe('A step that is done: checklist.step.'),
  alert: z.strictObject({
    level: z.enum(['info', 'warn', 'urgent']).default('warn'),
    title: Title.optional(),
    text: Text.optional(),
  }),
  tag: z.string().min(1).max(60),
  pause: z
    .strictObject({ resume_after: z.number().min(5).max(600).default(60) })
    .describe('Pauses the call for so many seconds: nothing of them is kept or sent.'),
  language: z
    .string()
    .max(200)
    .refine(
      (text) => languagesNamed(text) !== undefined,
      'is no language: es, Spanish, "es, en" or auto',
    )
    .describe('The language in which the call is heard from here on.'),
  signal: z.strictObject({
    name: Id,
    data: z.record(z.string().max(60), z.string().max(500)).optional(),
  }),
};

export type Action = { [Name in keyof typeof actions]: Record<Name, z.infer<(typeof actions)[Name]>> }[keyof typeof actions]; // prettier-ignore

const Action = z
  .strictObject(optional(actions))
  .refine((action) => Object.keys(action).length === 1, 'needs exactly one action')
  .transform((action) => action as Action);

const Step = z.strictObject({ id: Id, title: Title, required: z.boolean().default(false) });

const Checklist = z.strictObject({ id: Id, title: Title, steps: z.array(Step).min(1).max(30) });

const Rule = z.strictObject({
  id: Id,
  title: Title,
  when: Trigger,
  then: z.array(Action).min(1).max(10),
  cooldown: Seconds.default(60).describe('Seconds of the call before the rule may fire again.'),
  once: z.boolean().default(false),
  priority: z.int().min(0).max(100).default(50),
});
export type Rule = z.infer<typeof Rule>;

export const Scope = z.strictObject({
  direction: z
    .array(z.enum(['inbound', 'outbound']))
    .min(1)
    .optional(),
  carrier: z.array(z.string().max(40)).min(1).optional(),
  to: z.array(z.string().max(40)).min(1).optional().describe('Numbers that were dialled.'),
  language: z
    .array(Language)
    .min(1)
    .optional()
    .describe('Languages of the customer, such as es or Spanish, from when the language is sure.'),
  metadata: z
    .record(
      z.string().max(100),
      z.union([z.string().max(200), z.array(z.string().max(200)).min(1)]),
    )
    .optional()
    .describe('Values of custom_metadata, such as a campaign.'),
});
export type Scope = z.infer<typeof Scope>;

const TestTurn = z.union([
  z.tuple([Party, z.string().max(2_000)]),
  z.strictObject({ role: Party, text: z.string().max(2_000), start: Seconds, end: Seconds }),
  z.strictObject({ wait: Seconds }),
]);
const PlaybookTest = z.strictObject({
  name: Title,
  turns: z.array(TestTurn).min(1).max(200),
  expect: z.strictObject({
    hits: z.array(Id).optional().describe('Rules that fire, in any order, and no others.'),
    steps: z.array(z.string()).optional(),
    tags: z.array(z.string()).optional(),
  }),
});
export type PlaybookTest = z.infer<typeof PlaybookTest>;

export const Playbook = z.strictObject({
  id: Id,
  version: z.int().min(1).default(1),
  title: Title.optional(),
  status: z
    .enum(['draft', 'shadow', 'live'])
    .default('draft')
    .describe('draft: only tests and trials use it. shadow: it is counted and shown to nobody.'),
  scope: Scope.default({}),
  words: z
    .record(Id, z.array(z.string().min(1).max(100)).min(1).max(200))
    .default({})
    .describe('Lists that phrases name in braces.'),
  checklists: z.array(Checklist).max(10).default([]),
  rules: z.array(Rule).min(1).max(300),
  tests: z.array(PlaybookTest).max(300).default([]),
});
export type Playbook = z.infer<typeof Playbook>;
export type PlaybookStatus = Playbook['status'];
