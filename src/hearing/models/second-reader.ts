import { stat } from 'node:fs/promises';
import type { Logger } from '../../lib/log.ts';
import { secondReader } from '../config.ts';
import { catalogueEntry } from './catalogue.ts';
import { folderOf, problemsOf } from './installed.ts';
import { modelsFolder } from './supply.ts';

type Settings = {
  recogniser: { models?: string | undefined };
  jobs: { model?: string | undefined };
};

/**
 * The folder of the second reader if it is wanted, installed and correct. Otherwise the live model reads recordings
 * alone, and the log says so if somebody requested or pulled the second reader.
 */
export async function secondReaderFolder(
  { recogniser, jobs }: Settings,
  log: Logger,
): Promise<string | undefined> {
  if (jobs.model !== undefined && jobs.model !== secondReader) return undefined;
  const models = modelsFolder(recogniser);
  const folder = folderOf(models, secondReader);
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  if (!isThere && jobs.model === undefined) return undefined;
  const problems = await problemsOf(models, catalogueEntry(secondReader));
  if (problems.length === 0) return folder;
  log.warn(
    { problems, mend: `npx trunkline models pull ${secondReader}` },
    'the second reader could not be used; the live model reads recordings alone',
  );
  return undefined;
}
