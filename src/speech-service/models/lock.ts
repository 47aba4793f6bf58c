import { mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const beatMs = 2_000;
/** A holder that has not touched its lock for this long is gone. */
const staleMs = 20_000;
const lookMs = 250;

/**
 * One process at a time, across processes that share a folder. The lock is a file that its holder
 * touches; one that nobody touches any more is moved away by whoever finds it.
 */
export async function lockFile(
  path: string,
  options: { signal: AbortSignal; onWait(): void },
): Promise<AsyncDisposable> {
  await mkdir(dirname(path), { recursive: true });
  for (;;) {
    try {
      const file = await open(path, 'wx');
      await file.write(String(process.pid));
      await file.close();
      break;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    options.onWait();
    await removeStale(path);
    await sleep(lookMs, undefined, { signal: options.signal });
  }
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined); // taken away: the checksums catch what that spoils
  }, beatMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      await rm(path, { force: true });
    },
  };
}

async function removeStale(path: string): Promise<void> {
  const touchedMs = await stat(path).then(
    (found) => found.mtimeMs,
    () => undefined,
  );
  if (touchedMs === undefined || Date.now() - touchedMs < staleMs) return;
  const aside = `${path}.${String(process.pid)}`;
  try {
    await rename(path, aside); // one of several that found it succeeds
    await rm(aside, { force: true });
  } catch {
    // Another process was faster.
  }
}
