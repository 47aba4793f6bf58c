import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it; answers the topmost that it made. For folders that a person names: where
 * the system will not have a folder and says so as "no such file" (/proc, some network file systems), Node's
 * own recursive mkdir tries for ever.
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
