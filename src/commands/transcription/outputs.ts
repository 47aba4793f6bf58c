import { open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { JobInput } from './inputs.ts';

/**
 * The reason why the results could not be written. It is checked before anything is sent, so that nobody waits an
 * hour for the message.
 */
export async function whyUnwritable(
  { outputs }: JobInput,
  isForced: boolean,
): Promise<string | undefined> {
  for (const path of outputs.values()) {
    const folder = await stat(dirname(path)).catch(() => undefined);
    if (!folder?.isDirectory()) return `there is no folder ${dirname(path)}`;
    const there = await stat(path).catch(() => undefined);
    if (there && !isForced) return `${path} is there already; --force overwrites it`;
    if (there && !there.isFile()) return `${path} is no regular file and is not overwritten`;
  }
  return undefined;
}

/** A transcript holds people's words, so only its owner may read it, like recordings. */
const ownerOnly = 0o600;

/**
 * Writes a file completely or not at all. Without `isForced` an existing file is kept, even one that was created
 * during the write: the name is reserved first, and the finished file is then moved there.
 */
export async function writeOutput(path: string, text: string, isForced: boolean): Promise<void> {
  const draft = join(dirname(path), `.trunkline-${randomUUID()}.part`);
  let isTaken = false;
  try {
    await writeFile(draft, text, { flag: 'wx', mode: ownerOnly });
    if (!isForced) {
      await (await open(path, 'wx', ownerOnly)).close();
      isTaken = true;
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    if (isTaken) await rm(path, { force: true });
    throw error;
  }
}
