import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The reason why rules cannot be checked here, for the name of a skipped test. */
export const promtoolMissing: string | undefined = missing();

function missing(): string | undefined {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'promtool is not installed';
  }
}

/**
 * Writes the content to a file, runs promtool on it, and returns its output and verdict. The file is JSON, which is valid
 * YAML.
 */
export function promtool(
  args: readonly string[],
  file: object | string,
): { isContent: boolean; says: string } {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-promtool-'));
  try {
    const path = join(folder, 'file.yaml');
    writeFileSync(path, typeof file === 'string' ? file : JSON.stringify(file));
    const { status, stdout, stderr } = spawnSync('promtool', [...args, path], { encoding: 'utf8' });
    return { isContent: status === 0, says: stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
