import { mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A folder that is filled once and kept in the temporary folder for all later runs. Test files that run side by side
 * may fill it at the same time: each fills a folder of its own, and the first one to finish gives its folder the name.
 */
export async function unpacked(
  name: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const user = process.getuid?.() ?? 0;
  const folder = join(tmpdir(), `trunkline-test-${name}-${user}`);
  if (isOurs(folder, user)) return folder;
  const filling = mkdtempSync(`${folder}-`);
  try {
    await fill(filling);
    // Servers that refuse to run as root read it in the name of another user.
    await chmod(filling, 0o755);
    renameSync(filling, folder);
  } catch (error) {
    rmSync(filling, { recursive: true, force: true });
    if (!isOurs(folder, user)) throw error;
  }
  return folder;
}

function isOurs(folder: string, user: number): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return false;
  // Anybody can make a folder of this name in the temporary folder: programs of others are not run.
  if (found.uid !== user) throw new Error(`${folder} belongs to another user: remove it`);
  return true;
}
