import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The name of this disk, in a file on it that all parts share: several nodes use one Postgres, and a
 * session's audio and log are where its socket was.
 */
export async function nodeIdOf(dataDir: string): Promise<string> {
  const path = join(dataDir, 'node-id');
  const kept = await readFile(path, 'utf8').catch(() => '');
  if (kept.trim() !== '') return kept.trim();
  const id = randomUUID();
  await writeFile(path, `${id}\n`, { mode: 0o600 });
  return id;
}
