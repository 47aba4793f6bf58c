import { randomUUID } from 'node:crypto';
import { access, mkdir, open, readdir, rm, stat, unlink } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop } from '../../lib/every.ts';
import { GuardedClient } from '../../lib/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { PublicUrl } from '../../port/addresses.ts';
import type { Objects } from '../../objects/objects.ts';
import { NoRoomError, type DiskRoom } from '../../store/disk-room.ts';
import type { Store } from '../../store/store.ts';
import type { JobsConfig } from '../config.ts';
import { askForAudio, brokenBody, emptyBody, ofFetch, refusePage } from './fetched-audio.ts';
import { FileError } from './file-error.ts';
import { extensionOf, keptName, nameOfUrl } from './file-name.ts';
import { FileRoom } from './file-room.ts';
import { FileRows, type FileRow } from './file-rows.ts';
import { tooLarge, writeToDisk } from './intake.ts';
import { fileIdOf, ownFileId } from './own-address.ts';
import { SettledTime } from '../../lib/settled-time.ts';
import { isMissing } from '../../lib/is-missing.ts';
import { StoredFiles } from './stored-files.ts';

/** A file on the disk of `node`. A file that was fetched without a probe has no duration and no channels yet. */
export type StoredFile = {
  id: string;
  node: string;
  filename: string;
  extension: string;
  size: number;
  durationS: number;
  channels: number;
  /** The address it was fetched from; null for an upload. */
  source: string | null;
  createdAt: number;
};

/** Reads the facts of a file before it is decoded. If the file is no audio, fails with an error that has a `status`. */
export type Probe = (
  path: string,
  signal?: AbortSignal,
) => Promise<{ durationS: number; channels: number }>;

type FilesOptions = {
  config: JobsConfig;
  /** True if nothing may be stored for clients, so uploads are refused. */
  zeroRetention: boolean;
  store: Store;
  /** The folder with one file for each row of this node, named by its id. */
  folder: string;
  node: string;
  probe: Probe;
  publicUrl: PublicUrl;
  clock: Clock;
  log: Logger;
  /** Files move here. Without an object store they stay on the disk. */
  objects?: Objects | undefined;
};

/** An open file that is being read. */
export type ReadableFile = AsyncDisposable & {
  read(from: number, to: number): AsyncIterable<Buffer>;
};

export type Files = AsyncDisposable & {
  readonly node: string;
  /**
   * Streams a body to disk, counts and limits its bytes, probes it and stores its row. If this fails, nothing remains.
   */
  receive(
    body: Readable,
    facts: { filename: string | undefined; announcedBytes?: number | undefined },
    signal: AbortSignal,
  ): Promise<StoredFile>;
  /**
   * Fetches an address into a file, through the HTTP client that refuses private addresses, and then continues like
   * `receive`. `isProbed: false` leaves the probe to the caller.
   */
  fetch(url: string, signal: AbortSignal, options?: { isProbed?: boolean }): Promise<StoredFile>;
  /** The id of our own file that the address names: by the public address, loopback, or the host of the request. */
  ownId(url: string, request?: IncomingMessage): string | undefined;
  get(id: string): Promise<StoredFile | undefined>;
  pathOf(id: string): string;
  /**
   * A path at which the file can be read until it is disposed of. The file is on this disk or is copied from the object
   * store. Undefined if neither has it.
   */
  local(
    file: StoredFile,
    folder: string,
    signal: AbortSignal,
  ): Promise<(Disposable & { path: string }) | undefined>;
  /** `elsewhere` means that only another node's disk has the file. */
  open(file: StoredFile): Promise<ReadableFile | 'elsewhere' | 'gone'>;
  /** Deletes the row, then the bytes. Does nothing if there is no such file. */
  remove(id: string): Promise<void>;
  /** Deletes a file that no job reads. Returns `used` if one does. */
  removeUnused(id: string): Promise<'removed' | 'used' | 'unknown'>;
  /** The reason why no upload may begin, or undefined if one may. */
  whyClosed(): FileError | NoRoomError | undefined;
  /** Deletes files that no job used in time, and bytes without a row. Resolves with the number of deleted files. */
  sweep(): Promise<number>;
};

const sweepEveryMs = 900_000;
const sweepBatch = 200;
/** After each this many bytes of a file, the free disk space is checked again. */
const lookAtDiskBytes = 4_194_304;

/** Opens the files. Resolves when bytes that a crash left without a row are deleted. */
export async function openFiles(options: FilesOptions): Promise<Files> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const rows = new FileRows(options.store);
  const room = new FileRoom(options.config.storedMaxBytes, await rows.bytesOf(options.node));
  const files = new FilesOnDisk(options, rows, room);
  await files.removeOrphans();
  await files.recount();
  files.sweepLater();
  return files;
}

class FilesOnDisk implements Files {
  readonly #options: FilesOptions;
  readonly #settled: SettledTime;
  readonly #rows: FileRows;
  readonly #room: FileRoom;
  readonly #client: GuardedClient;
  readonly #stored: StoredFiles | undefined;
  /** The space of all nodes' files in the object store. */
  readonly #bucketRoom: FileRoom | undefined;
  /** Ids whose bytes are being written and that have no row yet. */
  readonly #underWay = new Set<string>();
  readonly #closing = new AbortController();
  #sweeps: Loop | undefined;

  constructor(options: FilesOptions, rows: FileRows, room: FileRoom) {
    this.#options = options;
    this.#settled = new SettledTime(options.clock);
    this.#rows = rows;
    this.#room = room;
    this.#client = new GuardedClient({ trust: 'checked', allow: options.config.audioHosts });
    const { objects } = options;
    // With zero retention a file serves its job only and must not be shared.
    if (objects === undefined || options.zeroRetention) return;
    this.#bucketRoom = new FileRoom(options.config.bucketMaxBytes, 0, {
      where: 'in the object store',
      setting: 'TRUNKLINE_JOBS_BUCKET_BYTES',
    });
    this.#stored = new StoredFiles({
      ...options,
      objects,
      isUnderWay: (id) => this.#underWay.has(id),
      onLeft: (bytes) => room.free(bytes),
    });
  }

  get node(): string {
    return this.#options.node;
  }

  async receive(
    body: Readable,
    facts: { filename: string | undefined; announcedBytes?: number | undefined },
    signal: AbortSignal,
  ): Promise<StoredFile> {
    if (this.#options.zeroRetention) throw refusedForRetention();
    return this.#store(body, {
      filename: keptName(facts.filename),
      source: null,
      announcedBytes: facts.announcedBytes,
      isProbed: true,
      signal,
      judge: () => undefined,
      empty: () => new FileError(422, 'the file is empty'),
    });
  }

  async fetch(
    url: string,
    signal: AbortSignal,
    { isProbed = true }: { isProbed?: boolean } = {},
  ): Promise<StoredFile> {
    const { config } = this.#options;
    const closed = this.#whyFull();
    if (closed) throw closed;
    // The request is sent only now: a server must not send what could not be kept.
    const { body, announcedBytes } = await askForAudio({
      client: this.#client,
      url,
      deadlineMs: config.transferS * 1_000,
      firstByteMs: config.stallS * 1_000,
      signal: AbortSignal.any([signal, this.#closing.signal]),
    });
    try {
      return await this.#store(body, {
        filename: nameOfUrl(url),
        source: url,
        announcedBytes,
        isProbed,
        signal,
        judge: (first) => refusePage(first, url),
        empty: () => emptyBody(url),
        broken: (error) => brokenBody(error, url),
      });
    } catch (error) {
      throw error instanceof FileError ? ofFetch(error, url) : error;
    }
  }

  ownId(url: string, request?: IncomingMessage): string | undefined {
    const { publicUrl } = this.#options;
    const host = request?.headers.host;
    return ownFileId(url, [
      publicUrl(request),
      publicUrl(),
      ...(host === undefined ? [] : [`http://${host}`]),
    ]);
  }

  async get(id: string): Promise<StoredFile | undefined> {
    const known = fileIdOf(id);
    const row = known === undefined ? undefined : await this.#rows.get(known);
    return row && storedFileOf(row);
  }

  pathOf(id: string): string {
    const known = fileIdOf(id);
    if (known === undefined) throw new Error('the path is not that of a stored file');
    return join(this.#options.folder, known);
  }

  async local(
    file: StoredFile,
    folder: string,
    signal: AbortSignal,
  ): Promise<(Disposable & { path: string }) | undefined> {
    const path = this.pathOf(file.id);
    const held = this.#stored?.hold(file.id);
    const release = (): void => held?.[Symbol.dispose]();
    const isHere = file.node === this.node && (await access(path).then(() => true, () => false)); // prettier-ignore
    if (isHere) return { path, [Symbol.dispose]: release };
    release();
    const copy = join(folder, 'stored-file');
    const isFetched = await this.#stored?.fetch(file.id, copy, signal);
    return isFetched === true ? { path: copy, [Symbol.dispose]: () => undefined } : undefined;
  }

  async open(file: StoredFile): Promise<ReadableFile | 'elsewhere' | 'gone'> {
    const isOurs = file.node === this.node;
    const handle = isOurs
      ? await open(this.pathOf(file.id), 'r').catch((error: unknown) => {
          if (isMissing(error)) return undefined;
          throw error;
        })
      : undefined;
    if (handle !== undefined)
      return {
        read: (from, to) =>
          handle.createReadStream({
            start: from,
            end: to - 1,
            autoClose: false,
          }) as AsyncIterable<Buffer>,
        [Symbol.asyncDispose]: () => handle.close(),
      };
    const read = await this.#stored?.reading(file.id);
    if (read !== undefined) return { read, [Symbol.asyncDispose]: () => Promise.resolve() };
    return isOurs ? 'gone' : 'elsewhere';
  }

  async remove(id: string): Promise<void> {
    const row = await this.#rows.remove(id, this.#stored);
    if (row) await this.#removeBytes(row);
  }

  async removeUnused(id: string): Promise<'removed' | 'used' | 'unknown'> {
    const row = await this.#rows.removeUnused(id, this.#stored);
    if (!row) return (await this.#rows.get(id)) ? 'used' : 'unknown';
    await this.#removeBytes(row);
    await this.#options.store.forgetDeleted();
    return 'removed';
  }

  whyClosed(): FileError | NoRoomError | undefined {
    return this.#options.zeroRetention ? refusedForRetention() : this.#whyFull();
  }

  async sweep(): Promise<number> {
    const { config, node } = this.#options;
    const beforeMs = this.#settled.now() - Math.round(config.unusedH * 3_600_000);
    let removed = 0;
    for (;;) {
      const ids = await this.#rows.unusedBefore(node, beforeMs, sweepBatch);
      for (const id of ids) {
        if (this.#closing.signal.aborted) return removed;
        // A new job may have begun to use the file since it was listed.
        const row = await this.#rows.removeUnused(id, this.#stored);
        if (!row) continue;
        await this.#removeBytes(row);
        removed++;
      }
      if (ids.length < sweepBatch) break;
    }
    if (removed > 0) await this.#options.store.forgetDeleted();
    const orphans = await this.removeOrphans();
    await this.recount();
    return removed + orphans;
  }

  /**
   * Deletes bytes without a row. A crash leaves them during an upload, or between the deletion of a row and of its
   * bytes.
   */
  async removeOrphans(): Promise<number> {
    const { folder } = this.#options;
    let removed = 0;
    const names = await readdir(folder);
    for (let at = 0; at < names.length; at += sweepBatch) {
      if (this.#closing.signal.aborted) break;
      // Files that are still being received are excluded before the rows are read. A file that is completed in between
      // already has its row then.
      const ids = names
        .slice(at, at + sweepBatch)
        .filter((name) => fileIdOf(name) === name && !this.#underWay.has(name));
      const known = await this.#rows.known(ids);
      for (const id of ids.filter((id) => !known.has(id))) {
        await rm(join(folder, id), { force: true });
        removed++;
      }
    }
    return removed;
  }

  /**
   * Counts the kept bytes again. With an object store the rows do not tell what is on this disk, since files leave it
   * and other nodes share the store.
   */
  async recount(): Promise<void> {
    if (this.#bucketRoom === undefined) return;
    this.#bucketRoom.recount(await this.#rows.bytesOf());
    let bytes = 0;
    for (const name of await readdir(this.#options.folder)) {
      if (fileIdOf(name) !== name || this.#underWay.has(name)) continue;
      const found = await stat(this.pathOf(name)).catch(() => undefined); // the file has just left the disk
      bytes += found?.size ?? 0;
    }
    this.#room.recount(bytes);
  }

  sweepLater(): void {
    const { clock, log } = this.#options;
    const sweep = async (): Promise<void> => {
      const removed = await this.sweep();
      if (removed > 0) log.info({ removed }, 'files that no job used were deleted');
    };
    this.#sweeps = every(clock, sweepEveryMs, sweep, {
      failed: (error) => log.error({ reason: reasonOf(error) }, 'the sweep of files failed'),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(stopping());
    void this.#sweeps?.stop();
    await this.#client[Symbol.asyncDispose]();
  }

  async #store(body: Readable, plan: StorePlan): Promise<StoredFile> {
    const { config, node, clock, probe } = this.#options;
    const id = randomUUID();
    let signal = AbortSignal.any([plan.signal, this.#closing.signal]);
    const path = this.pathOf(id);
    this.#underWay.add(id);
    try {
      const { announcedBytes } = plan;
      const closed = this.#whyFull();
      if (closed) throw closed;
      if (announcedBytes !== undefined && announcedBytes > config.maxBytes)
        throw tooLarge(config.maxBytes);
      using place = this.#room.open(announcedBytes);
      using inBucket = this.#bucketRoom?.open(announcedBytes);
      using onDisk = this.#options.store.reserve(announcedBytes ?? 0);
      signal = AbortSignal.any([signal, onDisk.signal]);
      const take = (bytes: number): void => {
        place.take(bytes);
        inBucket?.take(bytes);
      };
      const size = await this.#write(body, path, { take, onDisk }, plan, signal);
      if (size === 0) throw plan.empty();
      const facts = plan.isProbed ? await probe(path, signal) : { durationS: 0, channels: 0 };
      const { filename, source } = plan;
      const row: FileRow = {
        id,
        node,
        created_at: clock.now(),
        filename,
        extension: extensionOf(filename),
        size,
        audio_duration: facts.durationS,
        channels: facts.channels,
        source,
      };
      // If the sender left while the file was probed, nobody knows of its row.
      if (signal.aborted) throw abortedBy(signal);
      await this.#rows.add(row);
      place.keep();
      inBucket?.keep();
      return storedFileOf(row);
    } catch (error) {
      body.on('error', () => undefined).destroy();
      await rm(path, { force: true });
      // Calls need the disk. The sender may try again when there is room.
      if (signal.aborted && signal.reason instanceof NoRoomError) throw signal.reason;
      throw signal.aborted && !(error instanceof FileError) ? abortedBy(signal) : error;
    } finally {
      this.#underWay.delete(id);
    }
  }

  async #write(
    body: Readable,
    path: string,
    room: { take(bytes: number): void; onDisk: DiskRoom },
    plan: StorePlan,
    signal: AbortSignal,
  ): Promise<number> {
    const { config, clock } = this.#options;
    let untilLook = lookAtDiskBytes;
    let isFirst = true;
    let cameBytes = 0;
    let grantedBytes = plan.announcedBytes ?? 0;
    const take = (piece: Buffer): void => {
      if (isFirst) plan.judge(piece);
      isFirst = false;
      room.take(piece.length);
      cameBytes += piece.length;
      if (cameBytes > grantedBytes) {
        grantedBytes = cameBytes + lookAtDiskBytes;
        room.onDisk.extend(grantedBytes);
      }
      room.onDisk.wrote(cameBytes);
      untilLook -= piece.length;
      if (untilLook > 0) return;
      untilLook = lookAtDiskBytes;
      const full = this.#whyFull();
      if (full) throw full;
    };
    try {
      return await writeToDisk(body, {
        path,
        maxBytes: config.maxBytes,
        stallMs: config.stallS * 1_000,
        clock,
        signal,
        take,
      });
    } catch (error) {
      if (error instanceof FileError || error instanceof NoRoomError || signal.aborted) throw error;
      if (isFull(error))
        throw new NoRoomError('the data disk takes no more bytes', cameBytes + lookAtDiskBytes);
      if (isOfDisk(error))
        throw new FileError(503, 'the data disk takes no more bytes', { cause: error });
      throw plan.broken?.(error) ?? error;
    }
  }

  #whyFull(): FileError | NoRoomError | undefined {
    if (this.#closing.signal.aborted) return stopping();
    const { store } = this.#options;
    const room = store.acceptsNewCalls();
    if (room.ok) return undefined;
    return store.hasRoomFor(0) ? new FileError(503, room.reason) : new NoRoomError(room.reason, 0);
  }

  async #removeBytes({ id, node, size }: FileRow): Promise<void> {
    this.#stored?.wake();
    this.#bucketRoom?.free(size);
    // Another node's sweep deletes its bytes, because it finds no row for them.
    if (node !== this.#options.node) return;
    // The space is given back last: bytes that could not be deleted still occupy it.
    try {
      await unlink(this.pathOf(id));
    } catch (error) {
      if (!isMissing(error)) throw error;
      // With an object store, the file and its space were given back when it left the disk.
      if (this.#stored) return;
    }
    this.#room.free(size);
  }
}

type StorePlan = {
  filename: string;
  source: string | null;
  announcedBytes: number | undefined;
  isProbed: boolean;
  signal: AbortSignal;
  /** Checks the first bytes and may throw. */
  judge(first: Buffer): void;
  empty(): FileError;
  /** Turns a failure of the body into an error of the file. */
  broken?(error: unknown): FileError;
};

function storedFileOf(row: FileRow): StoredFile {
  const { id, node, filename, extension, size, channels, source } = row;
  return {
    id,
    node,
    filename,
    extension,
    size,
    durationS: row.audio_duration,
    channels,
    source,
    createdAt: row.created_at,
  };
}

function refusedForRetention(): FileError {
  return new FileError(
    403,
    'uploads are off: this installation stores nothing (zero retention), so give the address of the audio as audio_url of the job',
  );
}

function stopping(): FileError {
  return new FileError(503, 'the service is stopping, try again in a moment');
}

function abortedBy({ reason }: AbortSignal): FileError {
  return reason instanceof FileError
    ? reason
    : new FileError(400, 'the file was given up before its end', { cause: reason });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error));
}

function isOfDisk(error: unknown): boolean {
  return ['EIO', 'EROFS', 'EMFILE', 'ENFILE'].includes(codeOf(error));
}
