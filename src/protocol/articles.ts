import { z } from 'zod';

/** Articles for agents: found by a question, read whole, and the questions that none of them answers. */

const ArticleName = z.object({
  id: z.string().describe('For the address of the article. It stays when the article is edited.'),
  name: z
    .string()
    .describe(
      'The path in the folder; a row of a table has its line behind it, as in `faq.csv#7`.',
    ),
  title: z.string(),
  url: z.string().nullable().describe('The address that the article itself names.'),
});

export const KnowledgeFound = z
  .object({
    items: z
      .array(
        ArticleName.extend({
          heading: z.string().describe('The headings above the passage; empty at the beginning.'),
          text: z.string().describe('The passage that answers best.'),
          say: z.string().nullable().describe('A sentence to read out.'),
          score: z.number(),
          sure: z
            .boolean()
            .describe('Good enough to be shown by itself. The others may still be of use.'),
        }),
      )
      .describe('The likeliest first.'),
  })
  .meta({ id: 'KnowledgeFound' });
export type KnowledgeFound = z.infer<typeof KnowledgeFound>;

export const KnowledgeText = ArticleName.extend({
  say: z.string().nullable(),
  passages: z.array(z.object({ heading: z.string(), text: z.string() })),
}).meta({ id: 'KnowledgeText' });
export type KnowledgeText = z.infer<typeof KnowledgeText>;

export const KnowledgeList = z
  .object({
    articles: z.array(ArticleName),
    passages: z.int(),
    problems: z
      .array(z.object({ file: z.string(), reason: z.string() }))
      .describe('Files that cannot be used.'),
    remedy: z
      .string()
      .nullable()
      .describe(
        'The command that installs the model, where articles are found by their words alone.',
      ),
  })
  .meta({ id: 'KnowledgeList' });
export type KnowledgeList = z.infer<typeof KnowledgeList>;

export const KnowledgeQuestions = z
  .object({
    days: z.int(),
    items: z
      .array(
        z.object({
          question: z.string().describe('As it was said or typed the last time.'),
          times: z.int(),
          last_asked_at: z.iso.datetime(),
          last_call_id: z.string(),
          by: z.enum(['caller', 'agent']).describe('An agent types a question in the panel.'),
        }),
      )
      .describe('Those asked most first, at most 200.'),
  })
  .meta({ id: 'KnowledgeQuestions' });
export type KnowledgeQuestions = z.infer<typeof KnowledgeQuestions>;
