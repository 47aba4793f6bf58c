import { sentenceModel } from '../../../src/hearing/config.ts';
import { catalogueEntry } from '../../../src/hearing/models/catalogue.ts';
import { problemsOf } from '../../../src/hearing/models/installed.ts';
import { modelsFolder } from '../../../src/hearing/models/supply.ts';

/** The models folder if it has the sentence encoder, else undefined. Tests never download its 83 MB. */
export async function installedSentenceModel(): Promise<string | undefined> {
  const folder = modelsFolder({ models: process.env['TRUNKLINE_MODELS'] });
  const problems = await problemsOf(folder, catalogueEntry(sentenceModel));
  if (problems.length === 0) return folder;
  console.error(`not tried: ${problems.join('; ')} (npx trunkline models pull ${sentenceModel})`);
  return undefined;
}
