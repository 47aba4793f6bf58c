import { spawn, execFileSync, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { endsWithUs } from '../process/ends-with-us.ts';

/** The reason why system calls cannot be traced here, for the name of a skipped test. */
export const straceMissing: string | undefined = missing();

function missing(): string | undefined {
  try {
    execFileSync('strace', ['-qq', '-e', 'trace=none', 'true'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'strace does not work here';
  }
}

export type Child = {
  process: ChildProcess;
  lines: string[];
  ended: Promise<number | null>;
  saw(line: string): Promise<void>;
};

/**
 * Runs a program of test/support (by its path below that folder) with this Node, under strace if strace arguments are
 * given.
 */
export function runChild(
  program: string,
  args: readonly string[],
  straceArgs?: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Child {
  const script = fileURLToPath(new URL(`../${program}`, import.meta.url));
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', script, ...args];
  const [command = '', ...rest] = straceArgs
    ? ['strace', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null', ...straceArgs, ...node]
    : node;
  const child = endsWithUs(
    spawn(command, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    }),
  );
  const lines: string[] = [];
  const waiting: { line: string; resolve: () => void }[] = [];
  let errors = '';
  child.stderr.on('data', (bytes: Buffer) => {
    errors = (errors + bytes.toString()).slice(-4_000);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    for (const wait of waiting) if (line.startsWith(wait.line)) wait.resolve();
  });
  const ended = new Promise<number | null>((resolve) =>
    child.once('close', (code) => resolve(code)),
  );
  return {
    process: child,
    lines,
    ended,
    saw: (line) =>
      new Promise((resolve, reject) => {
        if (lines.some((seen) => seen.startsWith(line))) return resolve();
        waiting.push({ line, resolve });
        void ended.then((code) =>
          reject(
            new Error(
              `ended (${code ?? 'killed'}) without saying ${line}: ${lines.slice(-3).join(' | ')} ${errors}`,
            ),
          ),
        );
      }),
  };
}

export function acknowledged(lines: readonly string[]): number[] {
  return lines.filter((line) => line.startsWith('ack ')).map((line) => Number(line.slice(4)));
}
