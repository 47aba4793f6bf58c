import { catalogueEntry } from '../../../src/hearing/models/catalogue.ts';
import { folderOf, problemsOf } from '../../../src/hearing/models/installed.ts';
import { pullModel } from '../../../src/hearing/models/pull.ts';
import { modelsFolder } from '../../../src/hearing/models/supply.ts';

/** Kept between runs: the models have 44 and 28 MB, and tests must not download them each time. */
const models = new URL('../../../node_modules/.cache/trunkline/models', import.meta.url).pathname;

export type RealModel = { model: string; models: string };

/**
 * The settings of the default model or of another one, downloaded on the first use. Undefined if no source can be
 * reached; the tests that need it are then skipped by name.
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
 * The folder of the second reader if it has been pulled with the right checksums, otherwise undefined. Tests never
 * download its 76 MB. It is kept apart from the other models, because jobs would use it wherever they find it.
 */
export async function pulledSecondReader(): Promise<string | undefined> {
  const entry = catalogueEntry('whisper-tiny-en');
  const folder = modelsFolder({ models: process.env['TRUNKLINE_MODELS'] });
  const problems = await problemsOf(folder, entry);
  if (problems.length === 0) return folderOf(folder, entry.name);
  console.error(`not tried: ${problems.join('; ')} (npx trunkline models pull ${entry.name})`);
  return undefined;
}
