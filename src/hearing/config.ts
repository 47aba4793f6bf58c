import { z } from 'zod';

/** The model that reads recordings a second time. */
export const secondReader = 'whisper-tiny-en';
/** The model that reads other languages beside the default model, and tells languages apart. */
export const languagesModel = 'whisper-base';
/** The model that tells voices apart. */
export const voiceModel = 'voice-encoder';
/** The model that tells what sentences mean. */
export const sentenceModel = 'sentence-encoder-en';
/** The same in other languages: what sentences express. */
export const multilingualModel = 'sentence-encoder-multilingual';

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
      'A folder or base URL that holds <model>/<file>. Models are fetched from there before any other source.',
  }),
  pullModels: z.boolean().default(true).meta({
    env: 'TRUNKLINE_PULL_MODELS',
    description:
      'If on, a missing model is fetched at the start. If off, only `trunkline models pull` fetches it.',
  }),
  processes: z.int().min(1).max(64).optional().meta({
    env: 'TRUNKLINE_RECOGNISERS',
    description:
      'The most recogniser processes that may run; they are started as the load requires. Default: one per core, at most 4.',
  }),
  hangDeadlineMs: z.int().min(500).max(3_600_000).default(15_000).meta({
    env: 'TRUNKLINE_RECOGNISER_DEADLINE_MS',
    description: 'A recogniser process that sends nothing for this long is replaced.',
  }),
});
export type RecogniserConfig = z.infer<typeof RecogniserConfig>;
