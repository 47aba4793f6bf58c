import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TrunklineError } from '../../lib/errors.ts';
import { voiceModel } from '../config.ts';
import { catalogueEntry } from '../models/catalogue.ts';
import { folderOf, sha256Of } from '../models/installed.ts';

const weightsFile = 'voices.onnx';
export const pullCommand = `npx trunkline models pull ${voiceModel}`;

export function weightsPath(models: string): string {
  return join(folderOf(models, voiceModel), weightsFile);
}

/** True if the model has been pulled. Its files are checked when they are read. */
export async function isPulled(models: string): Promise<boolean> {
  return stat(weightsPath(models)).then(
    (found) => found.isFile(),
    () => false,
  );
}

/**
 * Throws unless the file is the one that the catalogue names. Many other files would make the engine end its process.
 */
export async function checkWeights(path: string): Promise<void> {
  const known = catalogueEntry(voiceModel).derived?.files.find(({ name }) => name === weightsFile);
  const { size } = await stat(path);
  if (size !== known?.bytes)
    throw notTheModel(`it has ${String(size)} bytes instead of ${String(known?.bytes)}`);
  if ((await sha256Of(path)) !== known.sha256) throw notTheModel('its sha256 differs');
}

function notTheModel(how: string): TrunklineError {
  return new TrunklineError(
    'MODEL_INVALID',
    `${weightsFile} of ${voiceModel} is not the file it should be (${how}): "${pullCommand}" fetches it again`,
  );
}
