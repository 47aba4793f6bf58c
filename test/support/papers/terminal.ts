import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { endsWithUs } from '../process/ends-with-us.ts';
import { fixtureModel } from '../recognition/fixture-model.ts';
import { freePort } from '../process/free-port.ts';

const root = resolve(import.meta.dirname, '../../..');

/**
 * The programs behind the commands on a page. `npm start` and `trunkline hooks` keep running in a window of their own,
 * as the pages say. `systemctl` starts and stops that same process. Packages are installed before any test and not
 * again. A call is played ten times as fast. Everything else is real.
 */
const programs: Record<string, string> = {
  npm: `
case "$1" in
  ci | test) echo "npm $1: done before, or being done" ;;
  start)
    "$TERMINAL/bin/end" app
    PORT="\${PORT:-$TERMINAL_PORT}" "$TERMINAL_NODE" --disable-warning=ExperimentalWarning --import ./src/lib/compile-cache.mjs src/main.ts > "$TERMINAL/app.log" 2>&1 &
    echo $! > "$TERMINAL/app.pid"
    exec "$TERMINAL/bin/await" app 'ready at' ;;
  *) echo "the terminal knows no npm $1" >&2; exit 2 ;;
esac`,
  npx: `
[ "$1" = node ] && { shift; exec "$TERMINAL_NODE" "$@"; }
[ "$1" = trunkline ] || { echo "the terminal knows no npx $1" >&2; exit 2; }
shift
export PORT="\${PORT:-$TERMINAL_PORT}"
case "$1" in
  hooks)
    "$TERMINAL/bin/end" hooks
    trunkline "$@" > "$TERMINAL/hooks.log" 2>&1 &
    echo $! > "$TERMINAL/hooks.pid"
    exec "$TERMINAL/bin/await" hooks 'receiving at' ;;
  call) exec trunkline "$@" --speed 10 ;;
  *) exec trunkline "$@" ;;
esac`,
  trunkline:
    'exec "$TERMINAL_NODE" --disable-warning=ExperimentalWarning --import ./src/lib/compile-cache.mjs src/cli.ts "$@"',
  sudo: 'exec "$@"',
  systemctl: `
case "$1" in
  stop) exec "$TERMINAL/bin/end" app ;;
  start) TRUNKLINE_DATA="$TERMINAL/var/lib/trunkline" exec npm start ;;
  *) echo "the terminal knows no systemctl $1" >&2; exit 2 ;;
esac`,
  // Ends a window and waits until it is gone, so that its output is not taken for that of the next one.
  end: `
rm -f "$TERMINAL/$1.log"
pid=$(cat "$TERMINAL/$1.pid" 2>/dev/null) || exit 0
rm "$TERMINAL/$1.pid"
kill "$pid" 2>/dev/null || exit 0
while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done`,
  // Shows the output of a window once it contains the awaited text.
  await: `
pid=$(cat "$TERMINAL/$1.pid")
looks=0
until grep -qs "$2" "$TERMINAL/$1.log"; do
  looks=$((looks + 1))
  [ $looks -lt 1200 ] && kill -0 "$pid" 2>/dev/null || { cat "$TERMINAL/$1.log" >&2; exit 1; }
  sleep 0.05
done
cat "$TERMINAL/$1.log"`,
};

const mark = '=== next block ===';

export type PlayedBlocks = {
  readonly code: number | null;
  readonly outputs: string[];
  readonly errors: string;
};

export type PaperTerminal = AsyncDisposable & {
  /** Runs the blocks one after the other in one shell that stops at the first failure. Returns the output of each. */
  play(blocks: readonly string[]): Promise<PlayedBlocks>;
  /** The text in the window of the receiver or of the process. */
  shown(window: 'hooks' | 'app'): Promise<string>;
};

/** A shell in a folder that looks like a clone, with its own service and ports. */
export async function openTerminal(): Promise<PaperTerminal> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-paper-'));
  const own = join(folder, 'terminal');
  const clone = join(folder, 'trunkline');
  for (const path of [
    join(own, 'bin'),
    join(own, 'var/lib/trunkline'),
    join(folder, 'home'),
    clone,
  ])
    await mkdir(path, { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(own, 'bin', name), `#!/bin/sh\n${script}\n`);
    await chmod(join(own, 'bin', name), 0o755);
  }
  for (const name of ['src', 'test', 'config', 'node_modules', 'package.json', 'Dockerfile'])
    await symlink(join(root, name), join(clone, name));
  const [port, receiverPort] = [await freePort(), await freePort()];
  const env = {
    PATH: `${join(own, 'bin')}:${process.env['PATH'] ?? ''}`,
    HOME: join(folder, 'home'),
    TERMINAL: own,
    TERMINAL_PORT: String(port),
    TERMINAL_NODE: process.execPath,
    TRUNKLINE_MODEL: await fixtureModel(),
    TRUNKLINE_RECOGNISERS: '1',
  };
  const here = (block: string): string =>
    block
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replaceAll('PORT=8080', `PORT=${port}`)
      .replaceAll('9000', String(receiverPort))
      .replaceAll('/var/lib', join(own, 'var/lib'));
  return {
    play: (blocks) =>
      new Promise((done, failed) => {
        const script = blocks.map(here).join(`\necho '${mark}'\n`);
        const shell = endsWithUs(
          spawn('/bin/sh', ['-e', '-c', script], {
            cwd: clone,
            env,
            stdio: ['ignore', 'pipe', 'pipe'],
          }),
        );
        let output = '';
        let errors = '';
        shell.stdout.on('data', (data: Buffer) => (output += data.toString()));
        shell.stderr.on('data', (data: Buffer) => (errors += data.toString()));
        shell.once('error', failed);
        // The windows keep running, so the end of the shell counts and not the end of its pipes.
        shell.once('exit', (code) =>
          setImmediate(() => {
            done({ code, outputs: output.split(`${mark}\n`), errors });
          }),
        );
      }),
    shown: (window) => readFile(join(own, `${window}.log`), 'utf8'),
    async [Symbol.asyncDispose]() {
      for (const window of ['app', 'hooks']) {
        const ended = spawn(join(own, 'bin/end'), [window], { env });
        await new Promise((resolve) => ended.once('exit', resolve));
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}
