import { open } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { systemClock, type Clock } from '../../../lib/clock.ts';
import type { DiskBatch, DiskReply } from './disk-thread.ts';

/**
 * The size of one batch, whose bytes are copied in one turn of the event loop. Further bytes wait for the next batch.
 */
export const maxDiskBatchBytes = 4_194_304;

/** A file that grows. Its size is read when the thread has to open it. */
type Appended = { readonly path: string; readonly size: number };

/** A file that a full disk refused is tried again after this long. */
const tryAgainMs = 250;
/** A file is held this long for a disk that is full. */
const withoutRoomMs = 120_000;

type DiskPromise = { done: () => void; failed: (error: Error) => void };
type DiskPiece = DiskPromise & { file: Appended; bytes: Buffer };
/** The pieces of a file, in order, that a full disk has not taken yet. */
type HeldPieces = { pieces: DiskPiece[]; sinceMs: number; isProbing: boolean };
type DiskWriterOptions = { clock?: Clock; withoutRoomMs?: number };
type FileClose = DiskPromise & { file: Appended };
type BatchUnderWay = { groups: DiskPiece[][]; closes: FileClose[] };

/**
 * Writes the files of all sessions through one thread. One batch is being written at a time, and bytes that arrive
 * meanwhile form the next one. A slow disk therefore means fewer and larger batches. The bytes of a confirmed batch
 * survive the end of this process. The queue is bounded by each session's unwritten bytes (`maxUnwrittenBytes` in
 * live-session.ts).
 *
 * A disk that is full refuses a file for a while: its pieces are held in order and written when there is room. Neither
 * their session nor any other file fails meanwhile. They fail only when the time for that has passed.
 */
export class DiskWriter implements AsyncDisposable {
  #worker: Worker | undefined;
  /** The numbers by which the thread knows its files. */
  #numbers = new Map<Appended, number>();
  #nextNumber = 1;
  #pieces: DiskPiece[] = [];
  #closes: FileClose[] = [];
  #underWay: BatchUnderWay | undefined;
  #flushDue = false;
  #disposed: Promise<void> | undefined;
  #ended = false;
  #idle: () => void = () => undefined;
  readonly #clock: Clock;
  readonly #withoutRoomMs: number;
  readonly #held = new Map<Appended, HeldPieces>();
  #retryDue: (() => void) | undefined;
  #isHurried = false;

  constructor(options: DiskWriterOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#withoutRoomMs = options.withoutRoomMs ?? withoutRoomMs;
  }

  /** Resolves once the bytes are in the file, in the order of the calls. */
  append(file: Appended, bytes: Buffer): Promise<void> {
    if (this.#disposed) return Promise.reject(new Error('the disk writer is closed'));
    return new Promise((done, failed) => {
      const piece = { file, bytes, done, failed };
      const held = this.#held.get(file);
      if (held) held.pieces.push(piece);
      else this.#pieces.push(piece);
      this.#flushSoon();
    });
  }

  /** Closes a file once everything appended to it is written. */
  async release(file: Appended): Promise<void> {
    if (this.#ended) return;
    await new Promise<void>((done, failed) => {
      this.#closes.push({ file, done, failed });
      this.#flushSoon();
    });
  }

  /** From now on a full disk is not waited for, because the process stops. Pieces that it refuses fail at once. */
  hurry(): void {
    this.#isHurried = true;
    this.#tryAgain();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.hurry();
    this.#disposed ??= this.#end();
    await this.#disposed;
  }

  async #end(): Promise<void> {
    while (
      this.#underWay ||
      this.#pieces.length > 0 ||
      this.#closes.length > 0 ||
      this.#held.size > 0
    )
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    this.#ended = true;
    await this.#worker?.terminate();
  }

  /** Flushes at the end of the event loop's turn, because one turn reads the frames of many sockets. */
  #flushSoon(): void {
    if (this.#flushDue || this.#underWay) return;
    this.#flushDue = true;
    setImmediate(() => {
      this.#flushDue = false;
      this.#flush();
    });
  }

  #flush(): void {
    const pieces = this.#takePieces();
    const closes = this.#takeCloses();
    if (pieces.length === 0 && closes.length === 0) {
      this.#idle();
      return;
    }
    this.#worker ??= this.#start();
    const groups = groupsOf(pieces);
    this.#underWay = { groups, closes };
    const batch = this.#batchOf(groups, closes);
    this.#worker.postMessage(batch, [batch.bytes.buffer, batch.pieces.buffer as ArrayBuffer]);
  }

  /** A file is closed only when none of its pieces is in the queue or held. */
  #takeCloses(): BatchUnderWay['closes'] {
    if (this.#pieces.length > 0 || this.#closes.length === 0) return [];
    const closes = this.#closes.filter(({ file }) => !this.#held.has(file));
    this.#closes = this.#closes.filter(({ file }) => this.#held.has(file));
    return closes;
  }

  #takePieces(): DiskPiece[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#pieces.length && (count === 0 || bytes < maxDiskBatchBytes))
      bytes += this.#pieces[count++]?.bytes.length ?? 0;
    return this.#pieces.splice(0, count);
  }

  #batchOf(groups: readonly DiskPiece[][], closes: readonly { file: Appended }[]): DiskBatch {
    const opens: DiskBatch['opens'] = [];
    const pieces = new Uint32Array(groups.length * 2);
    const total = groups.flat().reduce((sum, { bytes }) => sum + bytes.length, 0);
    const bytes = new Uint8Array(total);
    let at = 0;
    for (const [index, group] of groups.entries()) {
      const start = at;
      for (const piece of group) {
        bytes.set(piece.bytes, at);
        at += piece.bytes.length;
      }
      const file = group[0]?.file;
      if (file) pieces[index * 2] = this.#numberOf(file, opens);
      pieces[index * 2 + 1] = at - start;
    }
    const closed = closes.flatMap(({ file }) => this.#numbers.get(file) ?? []);
    for (const { file } of closes) this.#numbers.delete(file);
    return { opens, pieces, bytes, closes: closed };
  }

  #numberOf(file: Appended, opens: DiskBatch['opens']): number {
    const known = this.#numbers.get(file);
    if (known !== undefined) return known;
    const number = this.#nextNumber++;
    this.#numbers.set(file, number);
    opens.push({ file: number, path: file.path, size: file.size });
    return number;
  }

  #settle({ failed }: DiskReply): void {
    const batch = this.#underWay;
    this.#underWay = undefined;
    const errors = new Map(failed.map((each) => [each.piece, each]));
    for (const [index, group] of (batch?.groups ?? []).entries()) {
      const error = errors.get(index);
      if (error)
        this.#refused(group, Object.assign(new Error(error.message), { code: error.code }));
      else this.#taken(group);
    }
    for (const { done } of batch?.closes ?? []) done();
    this.#flush();
  }

  #taken(group: readonly DiskPiece[]): void {
    for (const piece of group) piece.done();
    const file = group[0]?.file;
    const held = file && this.#held.get(file);
    if (!held) return;
    this.#held.delete(file);
    this.#pieces.push(...held.pieces);
  }

  #refused(group: readonly DiskPiece[], error: Error & { code: string }): void {
    const file = group[0]?.file;
    if (!file) return;
    const now = this.#clock.monotonicMs();
    const before = this.#held.get(file);
    const sinceMs = before?.sinceMs ?? now;
    // Pieces that came meanwhile belong behind the refused ones: the file must not get a hole.
    const behind = this.#pieces.filter((piece) => piece.file === file);
    if (behind.length > 0) this.#pieces = this.#pieces.filter((piece) => piece.file !== file);
    const pieces = [...group, ...behind, ...(before?.pieces ?? [])];
    this.#held.delete(file);
    if (!isFull(error) || this.#isHurried || now - sinceMs >= this.#withoutRoomMs) {
      for (const piece of pieces) piece.failed(error);
      return;
    }
    this.#held.set(file, { pieces, sinceMs, isProbing: false });
    this.#retryDue ??= this.#clock.after(tryAgainMs, () => this.#tryAgain());
  }

  /** Tries the first bytes of each held file. The rest of the file follows when they are taken. */
  #tryAgain(): void {
    this.#retryDue?.();
    this.#retryDue = undefined;
    for (const held of this.#held.values()) {
      if (held.isProbing) continue;
      held.isProbing = true;
      const first = held.pieces.findIndex(({ bytes }) => bytes.length > 0);
      this.#pieces.push(...held.pieces.splice(0, first < 0 ? Infinity : first + 1));
    }
    this.#flushSoon();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./disk-thread.ts', import.meta.url), { name: 'live disk' });
    worker.on('message', (reply: DiskReply) => this.#settle(reply));
    worker.on('error', (error) =>
      this.#lost(worker, error instanceof Error ? error : new Error(String(error))),
    );
    worker.on('exit', () => this.#lost(worker, new Error('the disk thread ended')));
    return worker;
  }

  /**
   * Handles the end of the thread. It is unknown whether its batch reached the files, so those chunks fail and their
   * audio is not acknowledged. The next batch starts a new thread.
   */
  #lost(worker: Worker, error: Error): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#numbers.clear();
    const batch = this.#underWay;
    this.#underWay = undefined;
    for (const group of batch?.groups ?? [])
      this.#refused(group, Object.assign(error, { code: 'EIO' }));
    for (const { done } of batch?.closes ?? []) done();
    this.#flush();
  }
}

function isFull({ code }: { code: string }): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Groups the chunks by file. The chunks of one file are written together and fail together. */
function groupsOf(pieces: readonly DiskPiece[]): DiskPiece[][] {
  const groups = new Map<Appended, DiskPiece[]>();
  for (const piece of pieces) {
    const group = groups.get(piece.file);
    if (group) group.push(piece);
    else groups.set(piece.file, [piece]);
  }
  return [...groups.values()];
}

const nothing = Buffer.alloc(0);

/** A file that is appended to and read back. It is opened at the first append. */
export class AppendFile {
  readonly path: string;
  readonly #writer: DiskWriter;
  #size: number;
  #waitingBytes = 0;
  #waiting = 0;
  #wasOpened = false;
  #closed: Promise<void> | undefined;

  constructor(writer: DiskWriter, path: string, size = 0) {
    this.#writer = writer;
    this.path = path;
    this.#size = size;
  }

  /** The number of bytes in the file, without those that wait to be written. */
  get size(): number {
    return this.#size;
  }

  /** The number of bytes that wait to be written. While it is high, the session reads its socket slowly. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Resolves once the bytes are in the file, in the order of the calls. */
  append(bytes: Buffer): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('the file is closed'));
    if (bytes.length === 0) return this.flushed();
    this.#wasOpened = true;
    this.#waiting++;
    this.#waitingBytes += bytes.length;
    return this.#writer.append(this, bytes).then(
      () => {
        this.#settled(bytes);
        this.#size += bytes.length;
      },
      (error: unknown) => {
        this.#settled(bytes);
        throw error;
      },
    );
  }

  /** Resolves, in order, once every earlier append of this file has succeeded or failed. */
  flushed(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve();
    this.#waiting++;
    const settled = (): void => this.#settled(nothing);
    return this.#writer.append(this, nothing).then(settled, settled);
  }

  async read(from: number, to: number): Promise<Buffer> {
    const bytes = Buffer.alloc(Math.max(0, to - from));
    if (bytes.length === 0) return bytes;
    await using handle = await open(this.path, 'r');
    let at = 0;
    while (at < bytes.length) {
      const { bytesRead } = await handle.read(bytes, at, bytes.length - at, from + at);
      if (bytesRead === 0) break;
      at += bytesRead;
    }
    return bytes.subarray(0, at);
  }

  close(): Promise<void> {
    this.#closed ??= this.#wasOpened ? this.#writer.release(this) : Promise.resolve();
    return this.#closed;
  }

  #settled(bytes: Buffer): void {
    this.#waiting--;
    this.#waitingBytes -= bytes.length;
  }
}
