import { z } from 'zod';

/** A language model that the operator chooses, behind any address that speaks OpenAI's API. There is no default. */
export const LlmConfig = z
  .strictObject({
    llmUrl: z
      .url({ protocol: /^https?$/ })
      .optional()
      .meta({
        env: 'TRUNKLINE_LLM_URL',
        description:
          'Base address of an OpenAI-compatible service (up to and with `/v1`), for translation, prompts and abstractive summaries.',
      }),
    llmKey: z.string().min(1).optional().meta({
      env: 'TRUNKLINE_LLM_KEY',
      description: 'The key of the language model service, sent as a bearer token.',
      secret: true,
    }),
    llmModel: z.string().min(1).optional().meta({
      env: 'TRUNKLINE_LLM_MODEL',
      description: 'The model to ask for.',
    }),
    llmTimeoutMs: z.number().int().positive().max(3_600_000).default(20_000).meta({
      env: 'TRUNKLINE_LLM_TIMEOUT_MS',
      description: 'The longest time for one answer of the language model.',
    }),
    llmCallsPerMinute: z.number().int().positive().max(1_000_000).default(60).meta({
      env: 'TRUNKLINE_LLM_CALLS_PER_MINUTE',
      description:
        'The budget of requests to the language model per minute. Beyond it the extractive form is returned, or the error block if there is none.',
    }),
  })
  .superRefine(({ llmUrl, llmModel }, context) => {
    if (llmUrl !== undefined && llmModel === undefined)
      context.addIssue({
        code: 'custom',
        path: ['llmModel'],
        message: 'a language model needs its name: set TRUNKLINE_LLM_MODEL',
      });
    if (llmUrl === undefined && llmModel !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['llmUrl'],
        message: 'a language model needs its address: set TRUNKLINE_LLM_URL',
      });
  });
export type LlmConfig = z.infer<typeof LlmConfig>;
