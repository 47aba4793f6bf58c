import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and its parents, and returns the topmost one it made. Every folder that a person names must be made by
 * this function: some file systems (/proc, some network ones) refuse a folder with "no such file", and Node's own
 * recursive mkdir then repeats for ever.
 */
export function makeFolder(path: string, mode?: number): string | undefined {
  const options = mode === undefined ? {} : { mode };
  try {
    mkdirSync(path, options);
    return path;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST' && statSync(path).isDirectory()) return undefined;
    const above = dirname(path);
    if (code !== 'ENOENT' || statSync(above, { throwIfNoEntry: false })?.isDirectory()) throw error;
    const made = makeFolder(above, mode);
    mkdirSync(path, options);
    return made ?? path;
  }
}
