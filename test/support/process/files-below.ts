import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../../../src/lib/is-missing.ts';

/**
 * The paths of all files below the folder of a running process, in alphabetical order. A folder that goes while it is
 * read has no files: `readdir` with `recursive` would fail and lose all the others. The folder itself must exist.
 */
export async function filesBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  const folders: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) folders.push(path);
    else if (entry.isFile()) found.push(path);
  }
  for (const each of folders)
    found.push(
      ...(await filesBelow(each).catch((error: unknown) => {
        if (isMissing(error)) return [];
        throw error;
      })),
    );
  return found.toSorted();
}

/** The bytes of a file of a running process: none if it has gone meanwhile. */
export async function bytesOf(path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    if (isMissing(error)) return Buffer.alloc(0);
    throw error;
  });
}
