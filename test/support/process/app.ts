import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fixtureModel } from '../recognition/fixture-model.ts';
import { endsWithUs } from './ends-with-us.ts';

const root = resolve(import.meta.dirname, '../../..');

export type App = AsyncDisposable & {
  readonly url: string;
  readonly dataDir: string;
  readonly process: ChildProcess;
  /** All printed lines. */
  readonly lines: string[];
  /** Fetches a path of this process. */
  get(path: string, init?: RequestInit): Promise<Response>;
  /** Ends the process and waits for its exit. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  exited(): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
};

export type AppOptions = {
  env?: Record<string, string>;
  /** A data folder that is kept when the app is disposed, so that another app can start on it. */
  dataDir?: string;
  /** The limit of open files and sockets. By default the same as for this process. */
  handles?: number;
  /** The path of the program, if it is not this one. */
  program?: string;
};

/** The whole program as a user starts it, on a free port, with its own folder and the generated model. */
export async function startApp(options: AppOptions = {}): Promise<App> {
  const ownFolder =
    options.dataDir === undefined ? await mkdtemp(join(tmpdir(), 'trunkline-app-')) : undefined;
  const dataDir = options.dataDir ?? ownFolder ?? '';
  const env = {
    PORT: '0',
    TRUNKLINE_DATA: dataDir,
    TRUNKLINE_MODEL: await fixtureModel(),
    TRUNKLINE_RECOGNISERS: '1',
    ...options.env,
  };
  const started = await startProcess(env, options.handles, options.program);
  const url = await started.ready();
  return {
    ...started,
    url,
    dataDir,
    get: (path, init) => fetch(url + path, init),
    [Symbol.asyncDispose]: async () => {
      await started.end('SIGKILL');
      if (ownFolder !== undefined) await rm(ownFolder, { recursive: true, force: true });
    },
  };
}

/** Starts the program with only this environment. It may fail to come up. */
export async function startProcess(env: Record<string, string>, handles?: number, program = root) {
  const command = [
    process.execPath,
    '--disable-proto=delete',
    '--disable-warning=ExperimentalWarning',
    '--max-semi-space-size=4',
    '--no-parallel-scavenge',
    '--import',
    './src/lib/compile-cache.mjs',
    'src/main.ts',
  ];
  const limited = ['/bin/sh', '-c', `ulimit -n ${handles}; exec "$@"`, 'sh', ...command];
  const [first = '', ...args] = handles === undefined ? command : limited;
  const child = endsWithUs(
    spawn(first, args, {
      cwd: program,
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  const exit = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((done) =>
    child.once('close', (code, signal) => {
      done({ code, signal });
      for (const look of waiting) look();
    }),
  );
  const ready = (): Promise<string> =>
    new Promise((found, lost) => {
      const look = (): void => {
        const address = lines
          .map((line) => /ready at (http:\/\/[^"\s]+)/.exec(line)?.[1])
          .find((url) => url !== undefined);
        if (address !== undefined) found(address);
        else if (child.exitCode !== null || child.signalCode !== null)
          lost(new Error(`it ended before it was ready:\n${lines.join('\n')}`));
        else return;
        waiting.delete(look);
      };
      waiting.add(look);
      look();
    });
  await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  return {
    process: child,
    lines,
    ready,
    exited: () => exit,
    end(signal: NodeJS.Signals) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return exit;
    },
  };
}
