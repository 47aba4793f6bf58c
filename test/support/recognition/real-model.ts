import { catalogueEntry } from '../../../src/hearing/models/catalogue.ts';
import { folderOf, problemsOf } from '../../../src/hearing/models/installed.ts';
import { pullModel } from '../../../src/hearing/models/pull.ts';
import { modelsFolder } from '../../../src/hearing/models/supply.ts';

/** Kept between runs: the models are 44 and 28 MB, and the tests must not fetch them each time. */
const models = new URL('../../../node_modules/.cache/trunkline/models', import.meta.url).pathname;

export type RealModel = { model: string; models: string };

/**
 * The settings of the default model or of another one, fetched on the first use; undefined where no source can be
 * reached, and then the tests that need it are skipped by name.
 */
export async function realModel(
  name: 'moonshine-tiny-en' | 'voice-encoder' = 'moonshine-tiny-en',
): Promise<RealModel | undefined> {
  const entry = catalogueEntry(name);
  try {
    if ((await problemsOf(models, entry)).length > 0)
      await pullModel(entry, {
        models,
        signal: AbortSignal.timeout(180_000),
        onProgress: () => undefined,
        onWait: () => undefined,
      });
    return { model: entry.name, models };
  } catch (error) {
    console.error(`${name} is not to be had: ${String(error)}`);
    return undefined;
  }
}

/**
 * The folder of the second reader where it has been pulled, with the right checksums; undefined elsewhere. Tests never
 * fetch it: it is 76 MB, and it is kept away from the other models, because jobs read with it wherever they find it.
 */
export async function pulledSecondReader(): Promise<string | undefined> {
  const entry = catalogueEntry('whisper-tiny-en');
  const folder = modelsFolder({ models: process.env['TRUNKLINE_MODELS'] });
  const problems = await problemsOf(folder, entry);
  if (problems.length === 0) return folderOf(folder, entry.name);
  console.error(`not tried: ${problems.join('; ')} (npx trunkline models pull ${entry.name})`);
  return undefined;
}
