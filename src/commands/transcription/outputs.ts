import { open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { JobInput } from './inputs.ts';

/** Why the results could not be written, asked before anything is sent: nobody waits an hour to hear it. */
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

/** A transcript holds what people said: only its owner may read it, as it is with recordings. */
const ownerOnly = 0o600;

/**
 * Writes a file whole or not at all. Without force a file that is there stays as it is, even when it has come only now:
 * the name is taken first, and then given to the finished file.
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
