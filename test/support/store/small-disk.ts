import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
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

/** Fills a disk to its last byte. Disposing frees it again. */
export function fillDisk(path: string, name = 'filler'): Disposable {
  const filler = join(path, name);
  const file = openSync(filler, 'w');
  const block = Buffer.alloc(4_096, 1);
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
  return { [Symbol.dispose]: () => rmSync(filler, { force: true }) };
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
