import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { endsWithUs } from './ends-with-us.ts';

const cli = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));
const compileCache = new URL('../../../src/lib/compile-cache.mjs', import.meta.url).href;
/** The options of `npm run trunkline`. */
const options = ['--disable-warning=ExperimentalWarning', '--import', compileCache];

export type StartedCommand = {
  child: ChildProcess;
  /** The printed lines, from both outputs. */
  lines: string[];
  /** Its exit code. */
  ended: Promise<number | null>;
};

/** Runs `trunkline` with these arguments and none of our settings. */
export function trunkline(args: string[], env: Record<string, string> = {}): StartedCommand {
  const child = endsWithUs(
    spawn(process.execPath, [...options, cli, ...args], {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
  return { child, lines, ended: new Promise((resolve) => child.once('close', resolve)) };
}
