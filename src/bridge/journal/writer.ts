import { close, fdatasync, openSync, write as writeAsync, writeSync, unlink } from 'node:fs';
import { join } from 'node:path';
import { within, type Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import {
  batchHeaderBytes,
  recordHeaderBytes,
  recordKinds,
  sealBatch,
  segmentHeaderBytes,
  silenceNoteBytes,
  writeRecordHeader,
  writeSegmentHeader,
  writeSilenceNote,
  type RecordKind,
} from './format.ts';
import { isMissing } from '../../lib/is-missing.ts';

/**
 * The size limit of one batch. There are two buffers of this size: one is filled while the other is written to disk.
 */
export const maxBatchBytes = 1_048_576;
const segmentBytes = 67_108_864;
/** A segment covers at most this much time, so that the bytes of an erased call are gone within a minute. */
const segmentMs = 10_000;
/**
 * A write into the page cache takes microseconds. A write that takes this long shows that the disk is overloaded, or
 * that the machine was busy for a moment.
 */
const slowMs = 5;
/**
 * After a slow write the disk counts as slow for this time. The time doubles with each slow write, up to half a minute.
 */
const slowForMs = { first: 1_000, most: 30_000 };
const retryMs = 1_000;
/**
 * A few frames wait this long so that they are written together: a write with its wake-ups costs more than a frame. In
 * a busy process one turn of the event loop brings enough frames, and they do not wait.
 */
const gatherMs = 2;
const gatheredRecords = 8;
/** Frames wait at most this long for a batch that is written during a sync. After that the disk counts as slow. */
const heldMs = 25;
/**
 * While the process stops, file work that takes longer than this is assumed to hang, and the process exits without it.
 */
export const closeMs = 5_000;

/** Notified when audio has reached the operating system. From then on a `kill -9` cannot lose it. */
export type WriteListener = {
  /** Called with written bytes. Their memory is overwritten soon, so a listener that keeps them makes a copy. */
  written(position: number, bytes: Buffer): void;
  silenceWritten(position: number, bytes: number): void;
};

export type Segment = { seq: number; path: string; openedAtMs: number };

type WriterOptions = {
  dir: string;
  run: number;
  firstSeq: number;
  clock: Clock;
  log: Logger;
  /** Called when a segment is full and takes no more data. */
  onSealed(segment: Segment): void;
  /**
   * Called when writing works again after a failure. Data that could not be written meanwhile is missing in the
   * journal.
   */
  onRecovered(): void;
};

/**
 * Writes the audio of all legs, one batch at a time, before any of it is sent. Everything that the speech service may
 * have heard is therefore in the journal, and a leg can resume exactly after a `kill -9`. A write takes microseconds,
 * but a sync locks the file for milliseconds. During a sync the thread pool writes, so the frames wait and the event
 * loop does not. If the disk becomes slow, the thread pool writes everything, and no frame waits for it until the disk
 * has been fast for a while.
 */
export class JournalWriter {
  readonly totals = { batches: 0, bytes: 0, slowestMs: 0, unwrittenBytes: 0, failures: 0 };
  readonly #options: WriterOptions;
  #arena = Buffer.allocUnsafeSlow(maxBatchBytes);
  #spare = Buffer.allocUnsafeSlow(maxBatchBytes);
  #at = batchHeaderBytes;
  #notices = new WriteNotices();
  /** Notices of the batch that is being written during a sync. They are delivered when it is written. */
  #held: WriteNotices | undefined;
  /** Notices that are being delivered now. A listener may append, which begins another batch. */
  readonly #delivering: WriteNotices[] = [];
  readonly #silenceNote = Buffer.alloc(silenceNoteBytes);
  #heldUntilMs = 0;
  #scheduled: NodeJS.Immediate | undefined;
  #gathering: NodeJS.Timeout | undefined;
  /** Number of records since the last flush. */
  #records = 0;
  #segment: Segment;
  #fd: number;
  #offset = 0;
  /** Numbers of the batch being filled and of the last one that was written. */
  #batch = 1;
  #writtenBatch = 0;
  #nextSeq: number;
  /** True while the thread pool writes a batch. It writes at most one at a time. */
  #inFlight = false;
  #whenArrived: (() => void) | undefined;
  /** True if the segment is to end when the batch that is being written is finished. */
  #rollWanted = false;
  #slowUntilMs = 0;
  #slowForMs: number = slowForMs.first;
  #wellSinceMs = -Infinity;
  #failing: { reason: string; retryAtMs: number } | undefined;
  #unsynced = false;
  #syncs = 0;
  /** Last syncs of ended segment files that are still in progress. */
  readonly #closingFiles = new Set<Promise<void>>();
  #closed = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#nextSeq = options.firstSeq;
    [this.#segment, this.#fd] = this.#openSegment();
  }

  get segment(): Segment {
    return this.#segment;
  }

  get seq(): number {
    return this.#segment.seq;
  }

  get trouble(): string | undefined {
    return this.#failing?.reason;
  }

  /** The position after everything that was appended so far, for `isWritten`. */
  get mark(): number {
    return this.#at > batchHeaderBytes ? this.#batch : this.#batch - 1;
  }

  /** True if the operating system has everything before the position, so that older copies may go. */
  isWritten(mark: number): boolean {
    return this.#failing === undefined && this.#writtenBatch >= mark;
  }

  get slow(): boolean {
    return this.#slowUntilMs > 0;
  }

  audio(leg: number, position: number, bytes: Buffer, to: WriteListener): void {
    const at = this.#record(leg, recordKinds.audio, position, bytes);
    this.#notices.add(to, position, this.#arena, at, bytes.length);
  }

  /**
   * Writes a silence note: a length instead of bytes. `paused`: the silence replaces audio that was discarded on
   * request.
   */
  silence(leg: number, position: number, bytes: number, paused: boolean, to: WriteListener): void {
    writeSilenceNote(this.#silenceNote, bytes, paused);
    this.#record(leg, recordKinds.silence, position, this.#silenceNote);
    this.#notices.add(to, position, undefined, 0, bytes);
  }

  leg(leg: number, position: number, snapshot: string): void {
    this.#record(leg, recordKinds.leg, position, Buffer.from(snapshot));
  }

  /** Passes everything appended so far to the operating system, then notifies the listeners. */
  flush(): void {
    if (this.#scheduled) clearImmediate(this.#scheduled);
    if (this.#gathering) clearTimeout(this.#gathering);
    this.#scheduled = this.#gathering = undefined;
    this.#records = 0;
    if (this.#at > batchHeaderBytes && !this.#inFlight) {
      if (this.slow) this.#writeLater(slowMs);
      else if (this.#syncs > 0) this.#writeHeld();
      else this.#writeNow();
    }
    if (this.#held && this.#options.clock.monotonicMs() < this.#heldUntilMs) return;
    this.#deliver();
  }

  /** Runs about once a second. */
  tick(): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.slow && nowMs > this.#slowUntilMs && !this.#inFlight) {
      this.#slowUntilMs = 0;
      this.#wellSinceMs = nowMs;
    }
    if (nowMs - this.#segment.openedAtMs > segmentMs) this.roll();
    this.#sync();
  }

  /** Ends the segment, so that it can be freed once no leg needs it. */
  roll(): void {
    this.#rollWanted = this.#inFlight;
    if (this.#inFlight || this.#offset <= segmentHeaderBytes || this.#closed) return;
    const sealed = this.#segment;
    const fd = this.#fd;
    try {
      [this.#segment, this.#fd] = this.#openSegment();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#syncs++;
    const closing = syncAndClose(fd).then(() => {
      this.#syncs--;
      this.#closingFiles.delete(closing);
    });
    this.#closingFiles.add(closing);
    this.#options.onSealed(sealed);
  }

  remove(segment: Segment): Promise<void> {
    return new Promise((resolve) =>
      unlink(segment.path, (error) => {
        if (error && !isMissing(error))
          this.#options.log.warn({ err: error }, 'journal segment could not be removed');
        resolve();
      }),
    );
  }

  /** Puts everything on disk and closes the file. A disk that hangs delays this for seconds, not for ever. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    this.flush();
    this.#closed = true;
    if (this.#inFlight)
      await within(clock, closeMs, new Promise<void>((resolve) => (this.#whenArrived = resolve)));
    if (this.#at > batchHeaderBytes && !this.#inFlight) this.#writeNow();
    this.#deliver();
    await within(clock, closeMs, Promise.all([syncAndClose(this.#fd), ...this.#closingFiles]));
  }

  /** Returns the payload's offset in the buffer. */
  #record(leg: number, kind: RecordKind, position: number, payload: Buffer): number {
    const size = recordHeaderBytes + payload.length;
    if (this.#at + size > this.#arena.length) this.#makeRoom();
    const at = this.#at + recordHeaderBytes;
    writeRecordHeader(this.#arena, this.#at, leg, kind, payload.length, position);
    this.#arena.set(payload, at);
    this.#at += size;
    // Real timers are used here instead of the injected clock: they only gather frames, and no rule depends on their
    // time.
    if (++this.#records >= gatheredRecords) this.#scheduled ??= setImmediate(() => this.flush());
    else this.#gathering ??= setTimeout(() => this.flush(), gatherMs);
    return at;
  }

  #deliver(): void {
    this.#deliverHeld();
    this.#deliverAll(this.#notices);
  }

  #deliverHeld(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held) this.#deliverAll(held);
  }

  #deliverAll(notices: WriteNotices): void {
    this.#delivering.push(notices);
    notices.deliver();
    this.#delivering.pop();
  }

  #makeRoom(): void {
    this.flush();
    if (this.#at === batchHeaderBytes) return;
    // The disk hangs and both buffers are full. The legs still hold all unacknowledged audio in memory.
    this.#deliver();
    this.totals.unwrittenBytes += this.#at - batchHeaderBytes;
    this.#at = batchHeaderBytes;
  }

  #writeNow(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const { end, batch } = this.#takeArena();
    if (this.#failing && nowMs < this.#failing.retryAtMs) {
      this.totals.unwrittenBytes += end;
      return;
    }
    sealBatch(batch, end);
    try {
      for (let done = 0; done < end;)
        done += writeSync(this.#fd, batch, done, end - done, this.#offset + done);
    } catch (error) {
      this.totals.unwrittenBytes += end;
      this.#fail(error);
      return;
    }
    const tookMs = this.#options.clock.monotonicMs() - nowMs;
    if (tookMs > this.totals.slowestMs) this.totals.slowestMs = tookMs;
    if (tookMs > slowMs) this.#becomeSlow(nowMs);
    this.#wrote(end);
  }

  /** A slow write while the disk already counts as slow prolongs that time without doubling it. */
  #becomeSlow(nowMs: number): void {
    const again = nowMs - this.#wellSinceMs < slowForMs.most;
    if (!this.slow)
      this.#slowForMs = again ? Math.min(slowForMs.most, this.#slowForMs * 2) : slowForMs.first;
    this.#slowUntilMs = nowMs + this.#slowForMs;
  }

  #writeHeld(): void {
    this.#held = this.#notices;
    this.#notices = new WriteNotices();
    this.#heldUntilMs = this.#options.clock.monotonicMs() + heldMs;
    this.#writeLater(heldMs);
  }

  /**
   * Writes the batch in the thread pool. The disk counts as slow after `slowAfterMs`, which is long during a sync,
   * because a write may then take as long as the sync.
   */
  #writeLater(slowAfterMs: number): void {
    const { end, batch } = this.#takeArena();
    sealBatch(batch, end);
    this.#inFlight = true;
    const startedMs = this.#options.clock.monotonicMs();
    writeAsync(this.#fd, batch, 0, end, this.#offset, (error, bytes) => {
      this.#inFlight = false;
      this.#whenArrived?.();
      const nowMs = this.#options.clock.monotonicMs();
      if (nowMs - startedMs > slowAfterMs) this.#becomeSlow(nowMs);
      if (error || bytes < end) {
        this.totals.unwrittenBytes += end;
        this.#fail(error ?? new Error('short write'));
      } else {
        this.#wrote(end);
      }
      this.#deliverHeld();
      if (this.#rollWanted) this.roll();
      if (this.#at > batchHeaderBytes && !this.#closed) this.flush();
    });
  }

  /**
   * Switches to the other buffer for the next records. The present buffer may still be being written, and a listener
   * that is notified may append.
   */
  #takeArena(): { batch: Buffer; end: number } {
    // Pending notices point into the buffer that will be filled next, so they are delivered first.
    for (const notices of this.#delivering) notices.deliver();
    const batch = this.#arena;
    const end = this.#at;
    this.#arena = this.#spare;
    this.#spare = batch;
    this.#at = batchHeaderBytes;
    this.#batch++;
    return { batch, end };
  }

  #wrote(bytes: number): void {
    this.#offset += bytes;
    // Only one batch is written at a time, so the finished batch is the one before the batch that is being filled.
    this.#writtenBatch = this.#batch - 1;
    this.totals.batches++;
    this.totals.bytes += bytes;
    this.#unsynced = true;
    if (this.#failing) {
      this.#failing = undefined;
      this.#options.log.info('journal can be written again');
      setImmediate(() => this.#options.onRecovered());
    }
    if (this.#offset >= segmentBytes) this.roll();
  }

  #fail(error: unknown): void {
    this.totals.failures++;
    const reason = reasonOf(error);
    if (!this.#failing) this.#options.log.error({ err: error }, 'journal cannot be written');
    this.#failing = { reason, retryAtMs: this.#options.clock.monotonicMs() + retryMs };
  }

  /**
   * Syncs the file to survive a power cut; a killed process needs no sync. It runs in the background, and nothing
   * waits for it.
   */
  #sync(): void {
    if (!this.#unsynced || this.#syncs > 0 || this.#closed) return;
    this.#unsynced = false;
    this.#syncs++;
    fdatasync(this.#fd, (error) => {
      this.#syncs--;
      if (!error || this.#closed) return;
      // The kernel forgets a failed sync: a later sync would succeed although these bytes are lost. Nothing more is
      // written to this file.
      this.totals.failures++;
      this.#options.log.error({ err: error }, 'journal could not be synced');
      this.roll();
    });
  }

  #openSegment(): [Segment, number] {
    const seq = this.#nextSeq++;
    const path = join(this.#options.dir, `${String(seq).padStart(12, '0')}.wal`);
    const fd = openSync(path, 'wx', 0o600);
    const header = Buffer.alloc(segmentHeaderBytes);
    writeSegmentHeader(header, this.#options.run);
    writeSync(fd, header, 0, header.length, 0);
    this.#offset = segmentHeaderBytes;
    return [{ seq, path, openedAtMs: this.#options.clock.monotonicMs() }, fd];
  }
}

/** A batch of a busy process holds some hundred frames. Memory for more than this number is released. */
const noticesKept = 1_024;

/**
 * The listeners of a batch and the offsets of their bytes. The data is in parallel arrays that are reused: an object
 * per frame, or new arrays per batch, would soon be garbage. The carrier's buffer is released at once. Otherwise
 * thousands of buffers would become old while a batch is written, and only a full collection would free them.
 */
class WriteNotices {
  readonly #listeners: WriteListener[] = [];
  readonly #positions: number[] = [];
  /** Undefined for silence. */
  readonly #memories: (Buffer | undefined)[] = [];
  readonly #starts: number[] = [];
  readonly #lengths: number[] = [];
  #count = 0;
  #next = 0;

  add(
    listener: WriteListener,
    position: number,
    memory: Buffer | undefined,
    start: number,
    length: number,
  ): void {
    const at = this.#count++;
    this.#listeners[at] = listener;
    this.#positions[at] = position;
    this.#memories[at] = memory;
    this.#starts[at] = start;
    this.#lengths[at] = length;
  }

  deliver(): void {
    // The loop runs by index, because a listener may append notices, which this loop then delivers, or may trigger a
    // delivery itself.
    while (this.#next < this.#count) {
      const at = this.#next++;
      const memory = this.#memories[at];
      const position = this.#positions[at] ?? 0;
      const length = this.#lengths[at] ?? 0;
      const start = this.#starts[at] ?? 0;
      if (memory) this.#listeners[at]?.written(position, memory.subarray(start, start + length));
      else this.#listeners[at]?.silenceWritten(position, length);
    }
    this.#next = this.#count = 0;
    if (this.#listeners.length <= noticesKept) return;
    this.#listeners.length = 0;
    this.#positions.length = 0;
    this.#memories.length = 0;
    this.#starts.length = 0;
    this.#lengths.length = 0;
  }
}

/** Syncs and closes a file. Never rejects, because a failure cannot be repaired. */
function syncAndClose(fd: number): Promise<void> {
  return new Promise((resolve) => fdatasync(fd, () => close(fd, () => resolve())));
}
