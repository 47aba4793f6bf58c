import { stat } from 'node:fs/promises';
import type { Logger } from '../../lib/log.ts';
import { secondReader } from '../config.ts';
import { catalogueEntry } from './catalogue.ts';
import { folderOf, problemsOf } from './installed.ts';
import { modelsFolder } from './supply.ts';

/**
 * The folder of the second reader if it is wanted, installed and correct. Otherwise the live model reads recordings
 * alone, and the log says so if somebody requested or pulled the second reader. `wanted` is the model that somebody chose
 * for recordings.
 */
export async function secondReaderFolder(
  settings: { models?: string | undefined },
  wanted: string | undefined,
  log: Logger,
): Promise<string | undefined> {
  if (wanted !== undefined && wanted !== secondReader) return undefined;
  const models = modelsFolder(settings);
  const folder = folderOf(models, secondReader);
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  if (!isThere && wanted === undefined) return undefined;
  const problems = await problemsOf(models, catalogueEntry(secondReader));
  if (problems.length === 0) return folder;
  log.warn(
    { problems, mend: `npx trunkline models pull ${secondReader}` },
    'the second reader could not be used; the live model reads recordings alone',
  );
  return undefined;
}
