import { z } from 'zod';

/** Articles that agents are shown while customers speak. */
export const KnowledgeConfig = z.strictObject({
  folder: z.string().min(1).max(1_000).optional().meta({
    env: 'TRUNKLINE_KNOWLEDGE',
    description:
      'A folder of articles (Markdown, HTML, CSV, plain text) for agents; by default `knowledge` in the data folder. It is read again when it changes.',
  }),
  cards: z.enum(['on', 'off']).default('on').meta({
    env: 'TRUNKLINE_KNOWLEDGE_CARDS',
    description:
      'Articles show up by themselves while a customer speaks. If off, people find them by asking only.',
  }),
});
export type KnowledgeConfig = z.infer<typeof KnowledgeConfig>;
