import { mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A folder that is filled once and kept in the temporary folder for later runs. Test files that run in parallel may
 * fill it at the same time: each fills its own folder, and the first to finish gives it the final name.
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
    // Servers that refuse to run as root read it as another user.
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
  // Anybody can create a folder of this name in the temporary folder. Programs of another user must not be run.
  if (found.uid !== user) throw new Error(`${folder} belongs to another user: remove it`);
  return true;
}
