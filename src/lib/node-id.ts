import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The name of this disk, stored in a file that all components share. Several nodes may use one Postgres, but audio and
 * journals lie on one node's disk, so only that node recovers what its rows name.
 */
export async function nodeIdOf(dataDir: string): Promise<string> {
  const path = join(dataDir, 'node-id');
  // No file means the first start on this disk. An empty file means a start that was interrupted while writing it.
  const kept = (await readFile(path, 'utf8').catch(() => '')).trim();
  if (kept !== '') return kept;
  await mkdir(dataDir, { recursive: true });
  const id = randomUUID();
  await writeFile(path, `${id}\n`, { mode: 0o600 });
  return id;
}
