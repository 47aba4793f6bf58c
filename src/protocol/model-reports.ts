import { z } from 'zod';
import { LanguageCode } from './values.ts';

/** A model that a feature needs and the start of the process does not. */
export const ApiModel = z
  .object({
    name: z.string(),
    gain: z.string().describe('What recordings gain by it, for a person.'),
    cost: z
      .string()
      .optional()
      .describe(
        'Its memory, and its processor time, for a person; missing where nobody measured it.',
      ),
    languages: z.array(LanguageCode).optional().describe('Those that it hears.'),
    megabytes: z.number().describe('The size of the download.'),
    state: z.enum(['installed', 'missing', 'installing', 'failed']),
    share: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe('How much of an installation is done; null where none runs.'),
    detail: z.string().nullable().describe('How far it is, or why it failed, for a person.'),
    command: z.string().describe('Installs it from a terminal.'),
  })
  .meta({ id: 'Model' });
export type ApiModel = z.infer<typeof ApiModel>;

export const ModelList = z.object({ items: z.array(ApiModel) }).meta({ id: 'ModelList' });
export type ModelList = z.infer<typeof ModelList>;

export const LanguageModelTrial = z
  .object({
    tried: z
      .object({
        model: z.string(),
        ms: z.number(),
        problem: z
          .string()
          .optional()
          .describe('What was wrong, for a person; missing when all is well.'),
        todo: z.string().optional(),
      })
      .nullable()
      .describe('Null where no language model is configured.'),
  })
  .meta({ id: 'LanguageModelTrial', description: 'One question to the language model.' });
export type LanguageModelTrial = z.infer<typeof LanguageModelTrial>;
