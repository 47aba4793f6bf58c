import { z } from 'zod';
import { DateTime, Seconds } from './values.ts';

/** Scorecards: the questions by which calls are judged, the scores of calls, and scores over time. */

const ScoreState = z
  .enum(['auto', 'reviewed', 'disputed', 'settled'])
  .describe('auto: rules alone answered. settled: a dispute was answered.');

const ScoreItem = z.object({
  id: z.string(),
  section: z.string(),
  question: z.string(),
  points: z.number(),
  critical: z.boolean(),
  answers: z.array(z.object({ answer: z.string(), share: z.number() })),
  answer: z.string().nullable(),
  share: z.number().nullable().describe('Of the points; null while nobody answered.'),
  by: z.enum(['rule', 'reviewer']).nullable(),
  evidence: z.array(
    z.object({
      at: Seconds,
      role: z.string().optional(),
      matched: z.string().optional().describe('The words that were said.'),
    }),
  ),
  note: z.string().optional(),
  rule: z
    .object({ answer: z.string(), share: z.number() })
    .optional()
    .describe('The answer of the rule. It stays when a reviewer gives another.'),
  reviewed: z
    .literal(true)
    .optional()
    .describe('A reviewer answered it, or left the answer of the rule as it is.'),
});
export type ScoreItem = z.infer<typeof ScoreItem>;

const ScoreDispute = z.object({
  by: z.string(),
  at: DateTime,
  reason: z.string(),
  answer: z
    .object({ by: z.string(), at: DateTime, text: z.string() })
    .nullable()
    .describe('Null while it waits.'),
});

export const CallScore = z
  .object({
    call_id: z.string(),
    scorecard: z.string(),
    title: z.string(),
    version: z.int(),
    digest: z.string().describe('Of the text of the scorecard: its true version.'),
    agent: z.string().nullable(),
    state: ScoreState,
    points: z.number(),
    of: z.number().describe('The points of the items that were answered.'),
    percent: z
      .number()
      .nullable()
      .describe('0 where a critical item failed; null where nothing was answered.'),
    critical_failed: z.boolean(),
    open: z.int().describe('Items that wait for a reviewer.'),
    revision: z.int(),
    scored_at: DateTime,
    items: z.array(ScoreItem),
    reviews: z.array(z.object({ by: z.string(), at: DateTime })).describe('Who changed it.'),
    disputes: z.array(ScoreDispute).describe('The oldest first.'),
  })
  .meta({ id: 'CallScore' });
export type CallScore = z.infer<typeof CallScore>;

/** A score as an event tells it: when rules answered, and with each change of a person. */
export const CallScoredData = CallScore.omit({
  call_id: true,
  reviews: true,
  disputes: true,
}).extend({
  by: z
    .object({ kind: z.enum(['rule', 'reviewer', 'agent']), name: z.string().nullable() })
    .describe('Who changed it. An agent disputes it and changes no answer.'),
});

export const CallScoreList = z.object({ items: z.array(CallScore) }).meta({ id: 'CallScoreList' });
export type CallScoreList = z.infer<typeof CallScoreList>;

export const ScoreOrder = z
  .strictObject({ scorecard: z.string().min(1).max(64) })
  .meta({ id: 'ScoreOrder' });

const Note = z.string().max(2_000);
export const ScoreReview = z
  .strictObject({
    revision: z.int().min(0).describe('Of the score as it was read.'),
    items: z
      .array(
        z.strictObject({
          id: z.string().max(64),
          answer: z.string().max(200).nullable(),
          note: Note.optional(),
        }),
      )
      .min(1)
      .max(1_000),
    dispute: z
      .strictObject({ text: z.string().min(1).max(2_000) })
      .optional()
      .describe('The answer to the dispute that waits; it settles the score.'),
  })
  .meta({ id: 'ScoreReview' });
export type ScoreReview = z.infer<typeof ScoreReview>;

export const DisputeOrder = z
  .strictObject({ revision: z.int().min(0), reason: z.string().min(1).max(2_000) })
  .meta({ id: 'DisputeOrder' });
export type DisputeOrder = z.infer<typeof DisputeOrder>;

export const ScorecardList = z
  .object({
    scorecards: z.array(
      z.object({
        id: z.string(),
        version: z.int(),
        digest: z.string(),
        title: z.string(),
        status: z.enum(['draft', 'live']),
        items: z.int(),
        automatic: z.int(),
      }),
    ),
    problems: z.array(z.object({ file: z.string(), reason: z.string() })),
  })
  .meta({ id: 'ScorecardList' });
export type ScorecardList = z.infer<typeof ScorecardList>;

const ScoreFigures = z.object({
  calls: z.int(),
  percent: z.number().nullable().describe('The mean of the calls that have a score.'),
});

/** The answers of rules beside those of reviewers: whether both gave the same share of the points. */
const ScoreAgreement = z.object({
  scorecard: z.string(),
  item: z.string().nullable().describe('Null: all automatic items of the scorecard together.'),
  question: z.string().nullable(),
  answers: z.int().describe('Answers of rules that a reviewer saw.'),
  agreed: z.int(),
  kappa: z
    .number()
    .nullable()
    .describe("Cohen's kappa: 1 is all, 0 is chance. Null where all gave the same answer."),
});
export type ScoreAgreement = z.infer<typeof ScoreAgreement>;

export const ScoreReport = z
  .object({
    days: z.int(),
    by: z.enum(['agent', 'team']),
    rows: z
      .array(
        ScoreFigures.extend({
          scorecard: z.string(),
          name: z.string().nullable().describe('The agent or team; null where none is known.'),
          critical_failed: z.int(),
          reviewed: z.int(),
          disputed: z.int(),
          weeks: z
            .array(ScoreFigures.extend({ from: z.string().describe('The Monday.') }))
            .describe('The oldest first.'),
        }),
      )
      .describe('The lowest mean first.'),
    waiting: z
      .array(
        z.object({
          call_id: z.string(),
          scorecard: z.string(),
          agent: z.string().nullable(),
          state: ScoreState,
          percent: z.number().nullable(),
          open: z.int(),
        }),
      )
      .describe('Disputes first, then the newest calls with open items; 50 at most.'),
    agreement: z
      .array(ScoreAgreement)
      .describe('Of the newest 2,000 scores that a person changed; the lowest first.'),
    left_out: z.boolean().describe('True where there are more scores than a report reads.'),
  })
  .meta({ id: 'ScoreReport' });
export type ScoreReport = z.infer<typeof ScoreReport>;
