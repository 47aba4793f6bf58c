import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { TrunklineError } from '../../lib/errors.ts';
import type { CatalogueEntry } from './catalogue.ts';
import { type Model, readModelFolder } from './model-folder.ts';

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/** The problem of a file as a sentence, or undefined if the file is good. */
export async function problemOf(
  path: string,
  expected: { bytes?: number | undefined; sha256?: string | undefined },
): Promise<string | undefined> {
  const size = await stat(path).then(
    (found) => found.size,
    () => undefined,
  );
  if (size === undefined) return `${path} is missing`;
  if (size === 0) return `${path} is empty`;
  if (expected.bytes !== undefined && size !== expected.bytes)
    return `${path} has ${String(size)} bytes instead of ${String(expected.bytes)}`;
  if (expected.sha256 !== undefined && (await sha256Of(path)) !== expected.sha256)
    return `${path} is not the file it should be: its sha256 differs`;
  return undefined;
}

export function folderOf(models: string, name: string): string {
  return join(models, name);
}

/** The checksums by file, as `sha256sum` writes them. The first pull of an unverified model records them. */
export async function recordedChecksums(
  models: string,
  name: string,
): Promise<Map<string, string>> {
  const text = await readFile(join(models, `${name}.sha256`), 'utf8').catch(() => '');
  return new Map(
    text
      .split('\n')
      .map((line) => /^([0-9a-f]{64}) {2}(.+)$/.exec(line))
      .filter((match) => match !== null)
      .map(([, hash, file]) => [file ?? '', hash ?? '']),
  );
}

export async function recordChecksums(
  models: string,
  name: string,
  checksums: ReadonlyMap<string, string>,
): Promise<void> {
  const path = join(models, `${name}.sha256`);
  const lines = [...checksums].map(([file, hash]) => `${hash}  ${file}\n`);
  await writeFile(`${path}.${String(process.pid)}`, lines.join(''));
  await rename(`${path}.${String(process.pid)}`, path);
}

/** The files that an entry must have, with sizes and checksums as far as these are known. */
async function expectedFiles(
  models: string,
  entry: CatalogueEntry,
): Promise<{ name: string; bytes?: number | undefined; sha256?: string | undefined }[]> {
  const { derived } = entry;
  if (entry.verified)
    return [...entry.files.filter(({ forMaking }) => !forMaking), ...(derived?.files ?? [])];
  const recorded = await recordedChecksums(models, entry.name);
  return [...recorded].map(([name, sha256]) => ({ name, sha256 }));
}

/** The problems of an installed model, one sentence per file. Empty if it is good. */
export async function problemsOf(models: string, entry: CatalogueEntry): Promise<string[]> {
  const folder = folderOf(models, entry.name);
  const files = await expectedFiles(models, entry);
  if (files.length === 0) return [`${folder} has not been pulled`];
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  if (!isThere) return [`${entry.name} is not in ${models}`];
  const found = await Promise.all(files.map((file) => problemOf(join(folder, file.name), file)));
  return found.filter((problem) => problem !== undefined);
}

/** True when every file of a model is there in its size. The reader of a file compares its checksum. */
export async function isInPlace(models: string, entry: CatalogueEntry): Promise<boolean> {
  const files = await expectedFiles(models, entry);
  const folder = folderOf(models, entry.name);
  const found = await Promise.all(
    files.map(({ name, bytes }) => problemOf(join(folder, name), { bytes })),
  );
  return files.length > 0 && found.every((problem) => problem === undefined);
}

/** Opens a catalogue model after checking every file, because a damaged file would end the engine's process. */
export async function installedModel(models: string, entry: CatalogueEntry): Promise<Model> {
  if (!entry.model)
    throw new TrunklineError('MODEL_INVALID', `${entry.name} is not a recognition model`);
  const problems = await problemsOf(models, entry);
  if (problems.length > 0) throw new TrunklineError('MODEL_INVALID', problems.join('; '));
  return readModelFolder(folderOf(models, entry.name), entry.name);
}
