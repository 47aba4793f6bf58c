import { z } from 'zod';
import { Seconds } from './values.ts';

/** The events of rules of playbooks: hints for the agent, alerts, steps, tags and signals. */

/** The rule that fired, and why. */
const ofRule = {
  hit_id: z.string().describe('The same in every event of one hit.'),
  rule: z.string(),
  playbook: z.string(),
  version: z.int(),
  digest: z.string().describe('Of the text of the playbook: its true version.'),
  at: Seconds,
  cause: z.object({
    utterance_id: z.string().optional().describe('None where time alone was the cause.'),
    role: z.enum(['customer', 'agent', 'mixed']).optional(),
    start: Seconds,
    end: Seconds,
    matched: z.string().optional().describe('The words that matched.'),
    score: z
      .number()
      .optional()
      .describe('1 for the very words, less where they sound alike. By meaning: the likelihood.'),
    by: z.enum(['meaning']).optional().describe('The sentence means it, in whatever words.'),
  }),
};

export const CallHintData = z.object({
  ...ofRule,
  source: z
    .enum(['knowledge'])
    .optional()
    .describe('An article: `playbook` is `@knowledge`, `rule` the path of the article.'),
  title: z.string(),
  text: z.string().optional(),
  say: z.string().optional().describe('A sentence to read out.'),
  links: z.array(z.object({ title: z.string(), url: z.string() })).optional(),
  priority: z.int(),
});

export const CallAlertData = z.object({
  ...ofRule,
  level: z.enum(['info', 'warn', 'urgent']),
  title: z.string(),
  text: z.string().optional(),
});

export const CallChecklistData = z.object({
  ...ofRule,
  checklist: z.string(),
  step: z.string(),
  title: z.string(),
  state: z.enum(['done']),
});

export const CallTaggedData = z.object({ ...ofRule, added: z.array(z.string()) });

export const CallSignalData = z.object({
  ...ofRule,
  name: z.string(),
  data: z.record(z.string(), z.string()),
});

/** An agent's word on a hint. */
export const HintVerdict = z.enum(['useful', 'not_useful', 'used', 'dismissed']);
export type HintVerdict = z.infer<typeof HintVerdict>;

const ChecklistState = z.object({
  id: z.string(),
  title: z.string(),
  steps: z.array(
    z.object({ id: z.string(), title: z.string(), required: z.boolean(), done: z.boolean() }),
  ),
});

const HitOfCall = z.object({
  ...ofRule,
  title: z.string(),
  did: z.array(
    z.discriminatedUnion('kind', [
      CallHintData.pick({
        source: true,
        title: true,
        text: true,
        say: true,
        links: true,
        priority: true,
      }).extend({
        kind: z.literal('hint'),
      }),
      CallAlertData.pick({ level: true, title: true, text: true }).extend({
        kind: z.literal('alert'),
      }),
      z.object({ kind: z.literal('tag'), tag: z.string() }),
      z.object({
        kind: z.literal('step'),
        checklist: z.string(),
        step: z.string(),
        title: z.string(),
      }),
      z.object({ kind: z.literal('pause'), seconds: z.number() }),
      z.object({ kind: z.literal('language'), language: z.string() }),
      CallSignalData.pick({ name: true, data: true }).extend({ kind: z.literal('signal') }),
    ]),
  ),
  verdict: HintVerdict.nullable().describe('What the agent said of the hint.'),
});

/** The deeds of playbooks in a call so far. */
export const CallAssistance = z
  .object({
    hits: z.array(HitOfCall).describe('In order of time.'),
    tags: z.array(z.string()),
    checklists: z
      .array(ChecklistState)
      .describe('Of the playbooks whose scope the call is in, as they are now.'),
  })
  .meta({ id: 'CallAssistance' });
export type CallAssistance = z.infer<typeof CallAssistance>;

export const HintFeedback = z
  .strictObject({ hit_id: z.string().min(1).max(400), verdict: HintVerdict })
  .meta({ id: 'HintFeedback' });

const PlaybookReport = z.object({
  id: z.string(),
  version: z.int(),
  digest: z.string(),
  title: z.string().nullable(),
  status: z.enum(['draft', 'shadow', 'live']),
  rules: z.array(z.object({ id: z.string(), title: z.string() })),
});

export const PlaybookList = z
  .object({
    waiting: z
      .object({ rules: z.int(), remedy: z.string() })
      .nullable()
      .describe('Rules with examples that listen for their phrases alone: there is no model.'),
    playbooks: z.array(PlaybookReport),
    problems: z
      .array(z.object({ file: z.string(), reason: z.string() }))
      .describe('Files that cannot be used; what they held before goes on.'),
  })
  .meta({ id: 'PlaybookList' });
export type PlaybookList = z.infer<typeof PlaybookList>;

export const PlaybookTrialRequest = z
  .strictObject({
    playbook: z.string().min(1).max(524_288).describe('The YAML of the playbook.'),
    against: z
      .string()
      .min(1)
      .max(524_288)
      .optional()
      .describe('The YAML of an older form: the answer says which hits come and go.'),
    call_ids: z.array(z.string().max(60)).min(1).max(200).optional(),
    last_days: z.int().min(1).max(365).optional().describe('The newest calls of so many days.'),
    limit: z.int().min(1).max(2_000).default(500).describe('At most so many calls.'),
  })
  .meta({ id: 'PlaybookTrialRequest' });

const RuleReport = z.object({
  rule: z.string().describe('As playbook/rule.'),
  hits: z.int(),
  calls: z.int(),
  useful: z.int(),
  not_useful: z.int(),
  used: z.int(),
  dismissed: z.int(),
});

/** The hits of rules in the calls of some days, and what agents said of them. */
export const RulesReport = z
  .object({ days: z.int(), rules: z.array(RuleReport).describe('Those with most hits first.') })
  .meta({ id: 'RulesReport' });
export type RulesReport = z.infer<typeof RulesReport>;

const RuleTrial = z.object({
  rule: z.string(),
  title: z.string(),
  hits: z.int(),
  calls: z.int(),
  places: z
    .array(
      z.object({
        call_id: z.string(),
        at: Seconds,
        role: z.string().nullable(),
        matched: z.string().nullable(),
        score: z.number().nullable(),
      }),
    )
    .describe('The newest, 20 at most.'),
});

const RuleChange = z.object({
  rule: z.string(),
  comes: z.int().describe('Hits that only the new form has.'),
  goes: z.int().describe('Hits that only the older form has.'),
  places: z
    .array(
      z.object({
        change: z.enum(['comes', 'goes']),
        call_id: z.string(),
        at: Seconds,
        role: z.string().nullable(),
        matched: z.string().nullable(),
      }),
    )
    .describe('The newest, 20 at most.'),
});

/** The hits that a playbook would have had in calls that are over. */
export const PlaybookTrial = z
  .object({
    calls: z.int().describe('Those that were tried.'),
    left_out: z.int().describe('Those that were not, because the time was over.'),
    rules: z.array(RuleTrial),
    changes: z
      .array(RuleChange)
      .optional()
      .describe('Rules whose hits differ; there where an older form was given.'),
  })
  .meta({ id: 'PlaybookTrial' });
export type PlaybookTrial = z.infer<typeof PlaybookTrial>;

const FileName = z.string().describe('The name of a file in the folder of playbooks.');
const Mistake = z.object({ line: z.int().describe('From 1 on.'), reason: z.string() });

const PlaybookFileReport = z.object({
  name: FileName,
  digest: z.string().describe('Of the text: a save names it.'),
  id: z.string().nullable().describe('Null where the file cannot be used.'),
  title: z.string().nullable(),
  status: z.enum(['draft', 'shadow', 'live']).nullable(),
  rules: z.array(z.string()).describe('The titles of its rules.'),
  mistakes: z.array(Mistake),
  starter: z.boolean().describe('It comes with the program: saved, it becomes a file of yours.'),
});

export const PlaybookFileList = z
  .object({
    folder: z.string().describe('On the node that answers.'),
    closed: z.string().nullable().describe('Why nothing can be saved here, and what to do.'),
    files: z.array(PlaybookFileReport),
  })
  .meta({ id: 'PlaybookFileList' });
export type PlaybookFileList = z.infer<typeof PlaybookFileList>;

export const PlaybookDeleted = z
  .object({
    file: PlaybookFileReport.describe('The file as it was.'),
    back: z
      .string()
      .nullable()
      .describe('The playbook of the same id that comes with Trunkline, which is read again.'),
  })
  .meta({ id: 'PlaybookDeleted' });
export type PlaybookDeleted = z.infer<typeof PlaybookDeleted>;

export const PlaybookText = z
  .object({ name: FileName, text: z.string(), digest: z.string(), starter: z.boolean() })
  .meta({ id: 'PlaybookText' });
export type PlaybookText = z.infer<typeof PlaybookText>;

const playbookText = z.string().min(1).max(524_288).describe('The YAML of the playbook.');

export const PlaybookSave = z
  .strictObject({
    text: playbookText,
    digest: z
      .string()
      .max(64)
      .nullable()
      .describe('Of the text that was read; null for a new file. Another digest is refused.'),
  })
  .meta({ id: 'PlaybookSave' });

export const PlaybookSaved = z
  .object({
    file: PlaybookFileReport.nullable().describe('As it is now; null where mistakes kept it out.'),
    mistakes: z.array(Mistake),
  })
  .meta({ id: 'PlaybookSaved' });
export type PlaybookSaved = z.infer<typeof PlaybookSaved>;

export const PlaybookPreviewRequest = z
  .strictObject({
    // Reading YAML takes the thread that moves audio: a tenth of a second for so much.
    playbook: z.string().max(131_072).describe('The YAML as it is while somebody types.'),
    last_days: z.int().min(1).max(365).default(30),
    limit: z.int().min(1).max(200).default(100).describe('At most so many calls.'),
  })
  .meta({ id: 'PlaybookPreviewRequest' });

export const PlaybookPreview = z
  .object({
    mistakes: z.array(Mistake),
    trial: PlaybookTrial.nullable().describe('Null where there are mistakes.'),
  })
  .meta({ id: 'PlaybookPreview' });
export type PlaybookPreview = z.infer<typeof PlaybookPreview>;
