import {
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf, TrunklineError } from '../../lib/errors.ts';
import { systemClock } from '../../lib/clock.ts';
import { every } from '../../lib/every.ts';
import { makeFolder } from '../../lib/make-folder.ts';
import type { CatalogueEntry, ModelFile, ModelSource } from './catalogue.ts';
import { download } from './download.ts';
import {
  folderOf,
  problemOf,
  problemsOf,
  recordChecksums,
  recordedChecksums,
  sha256Of,
} from './installed.ts';
import { moonshineTokens } from '../making/moonshine/moonshine-tokens.ts';
import {
  convertMultilingualEncoder,
  convertSentenceEncoder,
} from '../making/sentence-encoder/convert-sentence-encoder.ts';
import { run, Wheels } from './python-wheel.ts';
import { convertVoiceEncoder } from '../making/voice-encoder/convert-voice-encoder.ts';
import { convertWhisper } from '../making/whisper/convert-whisper.ts';
import { whisperTokens } from '../making/whisper/whisper-tokens.ts';

export type PullProgress = {
  source: string;
  receivedBytes: number;
  totalBytes: number;
  /** True once everything is downloaded and files are being made from it. The numbers then count steps. */
  isConverting?: boolean;
};

export type PullOptions = {
  models: string;
  /** A folder or base URL that holds `<model>/<file>`. It is tried before all other sources. */
  mirror?: string | undefined;
  /** A local folder with the files, or with the archive that contains them. No other source is then used. */
  from?: string | undefined;
  signal: AbortSignal;
  onProgress(progress: PullProgress): void;
  onWait(): void;
};

type PullPlace = ModelSource | { type: 'folder'; path: string };
type ArchiveSource = Extract<ModelSource, { type: 'archive' }>;
type WantedFile = ModelFile & { sha256?: string | undefined };

/** The limit for a file whose size the catalogue does not name. An endless source must not fill the disk. */
const longestUnknownBytes = 4 * 1024 ** 3;

/**
 * Brings a model into the models folder. Correct files stay. The others come from the first source that has them, and a
 * file gets its final name only after its checksum is right.
 */
export async function pullModel(entry: CatalogueEntry, options: PullOptions): Promise<void> {
  const folder = folderOf(options.models, entry.name);
  makeFolder(folder);
  await using _lock = await lockFile(join(folder, '.pulling'), options);
  if ((await problemsOf(options.models, entry)).length === 0) {
    await writeDescription(entry, folder);
    return; // another process held the lock and has already fetched the model
  }
  const failures: string[] = [];
  for (const place of await placesOf(entry, options)) {
    try {
      await bring(entry, place, folder, options);
      await finish(entry, folder, options);
      return;
    } catch (error) {
      options.signal.throwIfAborted();
      if (isFull(error)) throw diskFull(entry, folder, error);
      failures.push(`${nameOf(place)}: ${reasonOf(error)}`);
    }
  }
  throw new TrunklineError(
    'MODEL_UNAVAILABLE',
    options.from === undefined
      ? howToMend(entry, folder, failures)
      : `${entry.name} could not be taken over: ${failures.join('; ')}`,
  );
}

/** The possible places of files: a folder may hold the files of one model, or a subfolder for each model. */
async function placesOf(entry: CatalogueEntry, options: PullOptions): Promise<PullPlace[]> {
  const { mirror, from } = options;
  if (from !== undefined) {
    const own = join(from, entry.name);
    return [{ type: 'folder', path: (await isFolder(own)) ? own : from }];
  }
  if (mirror === undefined || entry.files.length === 0) return entry.sources;
  const base = mirror.replace(/\/+$/, '');
  return /^https?:/.test(base)
    ? [{ type: 'https', base: `${base}/${entry.name}/` }, ...entry.sources]
    : [{ type: 'folder', path: join(base, entry.name) }, ...entry.sources];
}

function nameOf(place: PullPlace): string {
  switch (place.type) {
    case 'folder':
      return `folder ${place.path}`;
    case 'https':
      return place.base;
    case 'archive':
      return place.url;
    case 'python-wheel':
      return `pip (${place.package})`;
  }
}

async function bring(
  entry: CatalogueEntry,
  place: PullPlace,
  folder: string,
  options: PullOptions,
): Promise<void> {
  if (place.type === 'archive') {
    await fromArchive(entry, place, folder, options);
    return;
  }
  if (place.type === 'folder') {
    await fromFolder(entry, place.path, folder, options);
    return;
  }
  const missing: WantedFile[] = [];
  const isToBeMade =
    (await lacksDerived(entry, folder)) &&
    !(place.type === 'https' && (await broughtDerived(entry, place.base, folder, options)));
  for (const file of entry.files)
    if ((isToBeMade || !file.forMaking) && (await problemOf(join(folder, file.name), file)))
      missing.push(file);
  if (missing.length === 0) return;
  const total = missing.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
  let before = 0;
  await using wheels =
    place.type === 'python-wheel' ? new Wheels(place, folder, options.signal) : undefined;
  for (const file of missing) {
    const part = join(folder, `${file.name}.part`);
    const report = (received: number, size?: number) =>
      options.onProgress({
        source: nameOf(place),
        receivedBytes: before + received,
        totalBytes: total || (size ?? 0),
      });
    if (place.type === 'https') await fromAddress(place.base, file, part, options, report);
    else if (wheels) {
      let received = 0;
      const mostBytes = file.bytes ?? longestUnknownBytes;
      await wheels.extract(file.name, part, mostBytes, (bytes) => report((received += bytes)));
    }
    await keep(part, join(folder, file.name), file);
    before += file.bytes ?? 0;
  }
}

function fromAddress(
  base: string,
  { name, bytes }: WantedFile,
  part: string,
  { signal }: PullOptions,
  onBytes: (received: number, size?: number) => void,
): Promise<void> {
  const url = new URL(name, base).href;
  return download({ url, part, mostBytes: bytes ?? longestUnknownBytes, signal, onBytes });
}

/** Takes files that another machine has made. Its models folder has them, but not the files they were made from. */
async function broughtDerived(
  entry: CatalogueEntry,
  base: string,
  folder: string,
  options: PullOptions,
): Promise<boolean> {
  for (const file of entry.derived?.files ?? []) {
    const part = join(folder, `${file.name}.part`);
    try {
      await fromAddress(base, file, part, options, (receivedBytes) =>
        options.onProgress({ source: base, receivedBytes, totalBytes: file.bytes }),
      );
      await keep(part, join(folder, file.name), file);
    } catch (error) {
      options.signal.throwIfAborted();
      if (isFull(error)) throw error;
      return false; // the files are made here instead
    }
  }
  return true;
}

/** Renames a part to its file if the checksum is right. A wrong part is deleted and never continued. */
async function keep(part: string, path: string, expected: WantedFile): Promise<void> {
  const problem = await problemOf(part, expected);
  if (problem !== undefined) {
    await rm(part, { force: true });
    throw new Error(problem.replaceAll(part, path));
  }
  await rename(part, path);
}

/** Takes the files of a model from a folder, including files made on another machine, or an archive as published. */
async function fromFolder(
  entry: CatalogueEntry,
  path: string,
  folder: string,
  options: PullOptions,
): Promise<void> {
  const made: ModelFile[] = [];
  let isToBeMade = false;
  for (const file of entry.derived?.files ?? [])
    if (!(await problemOf(join(path, file.name), file))) made.push(file);
    else isToBeMade ||= (await problemOf(join(folder, file.name), file)) !== undefined;
  const named: WantedFile[] =
    entry.files.length > 0
      ? entry.files
      : Object.values(entry.model?.files ?? {}).map((name) => ({ name }));
  const wanted = named.filter(({ forMaking }) => isToBeMade || !forMaking);
  const missing: WantedFile[] = [];
  for (const file of wanted) if (await problemOf(join(folder, file.name), file)) missing.push(file);
  const lacking: string[] = [];
  for (const { name } of missing) if (!(await isFile(join(path, name)))) lacking.push(name);
  const archive = entry.sources.find((source) => source.type === 'archive');
  const packed = archive && join(path, basename(new URL(archive.url).pathname));
  if (archive && packed !== undefined && lacking.length > 0 && (await isFile(packed))) {
    await unpack(entry, archive, packed, folder, options);
    return;
  }
  if (lacking.length > 0) {
    const orArchive = packed === undefined ? '' : `, and there is no ${basename(packed)} either`;
    throw new Error(`${path} lacks ${lacking.join(', ')}${orArchive}`);
  }
  // All files are checked before the first is taken, because half a model could pass for a whole one.
  for (const file of [...missing, ...made]) {
    options.signal.throwIfAborted();
    await takeOver(join(path, file.name), join(folder, file.name), file);
  }
}

async function takeOver(from: string, to: string, expected: WantedFile): Promise<void> {
  await copyFile(from, `${to}.part`);
  await keep(`${to}.part`, to, expected);
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

async function fromArchive(
  entry: CatalogueEntry,
  source: ArchiveSource,
  folder: string,
  options: PullOptions,
): Promise<void> {
  const part = join(folder, 'archive.part');
  await download({
    url: source.url,
    part,
    mostBytes: longestUnknownBytes,
    signal: options.signal,
    onBytes: (receivedBytes, totalBytes = entry.megabytes * 1e6) =>
      options.onProgress({ source: source.url, receivedBytes, totalBytes }),
  });
  await unpack(entry, source, part, folder, options);
  await rm(part, { force: true });
}

/** Unpacks the archive with the program tar, because Node cannot read bzip2. */
async function unpack(
  entry: CatalogueEntry,
  source: ArchiveSource,
  packed: string,
  folder: string,
  options: PullOptions,
): Promise<void> {
  const staging = join(folder, '.unpacked');
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging);
  try {
    const wanted = entry.model
      ? Object.values(entry.model.files).map((file) => `${source.folder}/${file}`)
      : [source.folder];
    // The shell limits the size of each file, because a small archive can hold an endless one.
    const limited = [
      '-c',
      'ulimit -f "$1"; shift; exec "$@"',
      'sh',
      String(longestUnknownBytes / 512),
    ];
    const tar = ['tar', '-xjf', packed, '-C', staging, ...wanted];
    await run('/bin/sh', [...limited, ...tar], options.signal);
    const unpacked = join(await realpath(staging), source.folder);
    // The archive may hold a link instead of its folder. Files that the link points to do not come from the archive.
    if ((await realpath(unpacked)) !== unpacked)
      throw new Error(`${source.folder} in the archive is a link and not a folder`);
    for (const file of await readdir(unpacked, { withFileTypes: true }))
      if (file.isFile()) await rename(join(unpacked, file.name), join(folder, file.name));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function finish(entry: CatalogueEntry, folder: string, options: PullOptions): Promise<void> {
  const { models } = options;
  if (await lacksDerived(entry, folder)) await derive(entry, folder, options);
  for (const { name, forMaking } of entry.files)
    if (forMaking) await rm(join(folder, name), { force: true });
  if (!entry.verified) await compareWithRecord(entry, folder, models);
  await writeDescription(entry, folder);
}

async function lacksDerived({ derived }: CatalogueEntry, folder: string): Promise<boolean> {
  for (const file of derived?.files ?? [])
    if (await problemOf(join(folder, file.name), file)) return true;
  return false;
}

/** Makes the files that nobody publishes. They too get their names only when their checksums are right. */
async function derive(
  { name, derived }: CatalogueEntry,
  folder: string,
  options: PullOptions,
): Promise<void> {
  const part = (file: string) => join(folder, `${file}.part`);
  const report = (done: number, of: number): void => {
    options.signal.throwIfAborted();
    options.onProgress({ source: name, receivedBytes: done, totalBytes: of, isConverting: true });
  };
  switch (derived?.how) {
    case 'moonshine-tokens': {
      const tokenizer = await readFile(join(folder, 'tokenizer.bin'));
      await writeFile(part('tokens.txt'), moonshineTokens(tokenizer));
      break;
    }
    case 'whisper': {
      const vocabulary = await readFile(join(folder, 'vocabulary.txt'), 'utf8');
      await writeFile(part('tokens.txt'), whisperTokens(vocabulary));
      const from = { model: join(folder, 'model.bin'), description: join(folder, 'config.json') };
      const graphs = { encoder: part('encoder.onnx'), decoder: part('decoder.onnx') };
      await convertWhisper(from, graphs, report);
      break;
    }
    case 'voice-encoder': {
      const checkpoint = join(folder, 'campplus_cn_en_common.pt');
      await convertVoiceEncoder(checkpoint, part('voices.onnx'), report);
      break;
    }
    case 'sentence-encoder': {
      const weights = join(folder, 'model.safetensors');
      await convertSentenceEncoder(weights, part('sentences.onnx'), report);
      break;
    }
    case 'multilingual-encoder': {
      const weights = join(folder, 'e5-small-q4.bin');
      const to = { graph: part('sentences.onnx'), pieces: part('pieces.bin') };
      await convertMultilingualEncoder(weights, to, report);
      break;
    }
    case undefined:
  }
  for (const file of derived?.files ?? [])
    await keep(part(file.name), join(folder, file.name), file);
}

/** Records the checksums at the first pull of a model that we have not verified. Later pulls must match them. */
async function compareWithRecord(
  entry: CatalogueEntry,
  folder: string,
  models: string,
): Promise<void> {
  const names = await readdir(folder, { withFileTypes: true });
  const files = names
    .filter((file) => file.isFile() && !file.name.startsWith('.') && file.name !== 'model.json')
    .map((file) => file.name);
  const found = new Map<string, string>();
  for (const file of files) found.set(file, await sha256Of(join(folder, file)));
  const recorded = await recordedChecksums(models, entry.name);
  for (const [file, hash] of recorded)
    if (found.get(file) !== hash)
      throw new Error(`${file} differs from the file of the first pull (its sha256)`);
  if (recorded.size === 0) await recordChecksums(models, entry.name, found);
}

/** `model.json` is written last, so a folder that has it holds a complete model. */
async function writeDescription(entry: CatalogueEntry, folder: string): Promise<void> {
  if (!entry.model) return;
  const path = join(folder, 'model.json');
  await writeFile(`${path}.part`, `${JSON.stringify(entry.model, null, 2)}\n`);
  await rename(`${path}.part`, path);
}

function isFull(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
}

function diskFull(entry: CatalogueEntry, folder: string, cause: unknown): TrunklineError {
  return new TrunklineError(
    'MODEL_UNAVAILABLE',
    `no space left for ${entry.name} (${String(entry.megabytes)} MB) in ${folder}: ` +
      'make room, or name another folder with TRUNKLINE_MODELS',
    { cause },
  );
}

function howToMend(entry: CatalogueEntry, folder: string, failures: readonly string[]): string {
  const files = entry.files.map((file) => file.name).join(', ') || 'its files';
  return [
    `${entry.name} could not be fetched.`,
    ...failures.map((failure) => `  ${failure}`),
    `To mend it: put ${files} into ${folder}, or name a mirror with TRUNKLINE_MODELS_MIRROR, ` +
      `then run: trunkline models pull ${entry.name}`,
  ].join('\n');
}

const beatMs = 2_000;
/** A lock that was not touched for this long has lost its holder. */
const staleMs = 20_000;
const lookMs = 250;

/**
 * Admits one process at a time among those that share a folder. The lock is a file that its holder touches regularly.
 * The next process that finds a lock without a holder moves it away.
 */
async function lockFile(
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
  // This uses the machine's time, here and where the age is judged, because other processes compare the lock's time
  // with that of their disk.
  const beat = every(systemClock, beatMs, () => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined); // the lock was taken away; the checksums will show any damage
  });
  return {
    async [Symbol.asyncDispose]() {
      await beat.stop();
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
    await rename(path, aside); // only one of the processes that find the lock succeeds
    await rm(aside, { force: true });
  } catch {
    // Another process was faster.
  }
}
