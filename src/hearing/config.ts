import { z } from 'zod';

/** The model that reads recordings a second time. */
export const secondReader = 'whisper-tiny-en';
/** The model that tells voices apart. */
export const voiceModel = 'voice-encoder';

/** Settings of the recogniser and its models. */
export const RecogniserConfig = z.strictObject({
  model: z.string().min(1).default('moonshine-tiny-en').meta({
    env: 'TRUNKLINE_MODEL',
    description:
      'Recognition model: a name that `trunkline models` lists, or a folder with a model.json.',
  }),
  models: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_MODELS',
    description:
      "Folder of the models, shared by installations; by default under the user's cache folder.",
  }),
  modelsMirror: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_MODELS_MIRROR',
    description:
      'The first place from which models are fetched: a folder or a base URL that holds <model>/<file>.',
  }),
  pullModels: z.boolean().default(true).meta({
    env: 'TRUNKLINE_PULL_MODELS',
    description:
      'Fetch the model at start when it is missing; off: only `trunkline models pull` does.',
  }),
  processes: z.int().min(1).max(64).optional().meta({
    env: 'TRUNKLINE_RECOGNISERS',
    description:
      'At most this many recogniser processes run, started as load asks for them; by default one for each core, at most 4.',
  }),
  hangDeadlineMs: z.int().min(500).max(3_600_000).default(15_000).meta({
    env: 'TRUNKLINE_RECOGNISER_DEADLINE_MS',
    description: 'A recogniser process that says nothing for this long is replaced.',
  }),
});
export type RecogniserConfig = z.infer<typeof RecogniserConfig>;
