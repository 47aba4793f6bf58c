import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** True if any journal file in this data folder, recordings included, contains the bytes. */
export async function journalHolds(dataDir: string, bytes: Buffer | string): Promise<boolean> {
  for (const part of ['wal', 'legs']) {
    const folder = join(dataDir, 'journal', part);
    for (const name of await readdir(folder).catch(() => []))
      // A segment may be deleted while it is searched.
      if ((await readFile(join(folder, name)).catch(() => Buffer.alloc(0))).includes(bytes))
        return true;
  }
  return false;
}
