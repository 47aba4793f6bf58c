import { stat, readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { reasonOf, TrunklineError } from '../../lib/errors.ts';
import { isMissing } from '../../lib/is-missing.ts';

const file = z
  .string()
  .min(1)
  .refine(
    (name) => !isAbsolute(name) && !name.split(/[\\/]/).includes('..'),
    'must stay inside the folder',
  );
const tokens = { tokens: file };
const transducer = z.strictObject({ ...tokens, encoder: file, decoder: file, joiner: file });
const ctc = z.strictObject({ ...tokens, model: file });
const seq2seq = z.strictObject({ ...tokens, encoder: file, decoder: file });

const common = {
  /** Codes of two or three letters. */
  languages: z.array(z.string().min(2).max(3)).min(1),
  sampleRate: z.literal([8000, 16000]).default(16000),
};

/** The contents of `model.json`: the files of a model folder and the kind of engine that reads them. */
export const ModelDescription = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('streaming-nemo-ctc'), files: ctc, ...common }),
  z.strictObject({ kind: z.literal('streaming-zipformer-ctc'), files: ctc, ...common }),
  z.strictObject({ kind: z.literal('streaming-transducer'), files: transducer, ...common }),
  z.strictObject({ kind: z.literal('moonshine'), files: seq2seq, ...common }),
  z.strictObject({ kind: z.literal('whisper'), files: seq2seq, ...common }),
  /** Whisper for many languages, as `making/whisper/` converts it, and read by our own loop. */
  z.strictObject({
    kind: z.literal('whisper-windows'),
    files: z.strictObject({ ...tokens, encoder: file, decoder: file, config: file }),
    ...common,
  }),
  z.strictObject({ kind: z.literal('sense-voice'), files: ctc, ...common }),
  z.strictObject({ kind: z.literal('nemo-ctc'), files: ctc, ...common }),
  z.strictObject({ kind: z.literal('zipformer-ctc'), files: ctc, ...common }),
  z.strictObject({ kind: z.literal('nemo-transducer'), files: transducer, ...common }),
  z.strictObject({ kind: z.literal('transducer'), files: transducer, ...common }),
]);
export type ModelDescription = z.infer<typeof ModelDescription>;

/** A model with all its files present. */
export type Model = {
  name: string;
  folder: string;
  description: ModelDescription;
};

/** True if this kind of model gives no word times, so they are estimated. */
export function estimatesTimes(kind: ModelDescription['kind']): boolean {
  return kind === 'moonshine' || kind === 'whisper';
}

/** Reads `model.json` and checks that its files exist, because a missing one would end the engine's process. */
export async function readModelFolder(folder: string, name: string): Promise<Model> {
  const description = await readDescription(folder);
  for (const path of Object.values(description.files)) {
    const size = await stat(join(folder, path)).then(
      (found) => (found.isFile() ? found.size : 0),
      () => 0,
    );
    if (size === 0)
      throw new TrunklineError('MODEL_INVALID', `${join(folder, path)} is missing or empty`);
  }
  return { name, folder, description };
}

async function readDescription(folder: string): Promise<ModelDescription> {
  const path = join(folder, 'model.json');
  let content: unknown;
  try {
    content = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (isMissing(error))
      throw new TrunklineError('MODEL_INVALID', `there is no model.json in ${folder}`);
    throw new TrunklineError('MODEL_INVALID', `${path} cannot be read: ${reasonOf(error)}`);
  }
  const parsed = ModelDescription.safeParse(content);
  if (!parsed.success)
    throw new TrunklineError('MODEL_INVALID', `${path}: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
