import { multilingualModel, sentenceModel } from '../../../src/hearing/config.ts';
import { catalogueEntry } from '../../../src/hearing/models/catalogue.ts';
import { problemsOf } from '../../../src/hearing/models/installed.ts';
import { modelsFolder } from '../../../src/hearing/models/supply.ts';

/** The models folder if it has the English sentence encoder, else undefined. Tests never download its 83 MB. */
export function installedSentenceModel(): Promise<string | undefined> {
  return folderWith(sentenceModel);
}

/** The same for the encoder of other languages. */
export function multilingualModelFolder(): Promise<string | undefined> {
  return folderWith(multilingualModel);
}

async function folderWith(model: string): Promise<string | undefined> {
  const folder = modelsFolder({ models: process.env['TRUNKLINE_MODELS'] });
  const problems = await problemsOf(folder, catalogueEntry(model));
  if (problems.length === 0) return folder;
  console.error(`not tried: ${problems.join('; ')} (npx trunkline models pull ${model})`);
  return undefined;
}
