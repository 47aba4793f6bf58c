import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type SmallDisk = Disposable & { path: string };

/** A file system of that size, which really becomes full. */
export function mountSmallDisk(mebibytes: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'trunkline-disk-'));
  try {
    mount(path, mebibytes);
  } catch (error) {
    rmSync(path, { recursive: true });
    throw error;
  }
  return {
    path,
    [Symbol.dispose]: () => {
      execFileSync('umount', ['--lazy', path]);
      rmSync(path, { recursive: true });
    },
  };
}

function mount(path: string, mebibytes: number): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path], {
    stdio: 'pipe',
  });
}

/** The reason why no disk can be mounted here. Undefined if one can. */
export const smallDiskMissing = ((): string | undefined => {
  try {
    mountSmallDisk(1)[Symbol.dispose]();
    return undefined;
  } catch {
    return 'no file system can be mounted here (that needs root)';
  }
})();
