import { fork, type ChildProcess, type ForkOptions } from 'node:child_process';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';

type BareProcess = {
  program: URL;
  args?: readonly string[];
  maxHeapMiB: number;
  options?: Pick<ForkOptions, 'detached' | 'serialization'>;
};

const maxSaidBytes = 2_000;
const compileCache = new URL('../../lib/compile-cache.mjs', import.meta.url).href;

/** Starts a process of ours for work on audio without any of our settings. `said` is the end of its stderr. */
export function forkBare({ program, args = [], maxHeapMiB, options }: BareProcess): {
  child: ChildProcess;
  said: () => string;
} {
  const child = fork(fileURLToPath(program), args, {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: [
      '--disable-proto=delete',
      '--disable-warning=ExperimentalWarning',
      `--max-old-space-size=${maxHeapMiB}`,
      '--import',
      compileCache,
    ],
    // The environment has only the program path. It contains no secret, and nothing that a polluted prototype would
    // add.
    env: Object.assign(Object.create(null) as NodeJS.ProcessEnv, { PATH: env['PATH'] }),
  } satisfies ForkOptions);
  let said = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    said = (said + bytes.toString()).slice(-maxSaidBytes);
  });
  return { child, said: () => said };
}
