import { catalogueEntry } from '../../../src/speech-service/models/catalogue.ts';
import { problemsOf } from '../../../src/speech-service/models/installed.ts';
import { pullModel } from '../../../src/speech-service/models/pull.ts';

/** Kept between runs: the model is 44 MB and the tests must not fetch it each time. */
const models = new URL('../../../node_modules/.cache/trunkline/models', import.meta.url).pathname;

export type RealModel = { model: string; models: string };

/**
 * The settings of the default model, fetched on the first use; undefined where no source can be
 * reached, and then the tests that need it are skipped by name.
 */
export async function realModel(): Promise<RealModel | undefined> {
  const entry = catalogueEntry('moonshine-tiny-en');
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
    console.error(`the real model is not to be had: ${String(error)}`);
    return undefined;
  }
}
