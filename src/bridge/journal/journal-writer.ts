import { close, fdatasync, openSync, write as writeAsync, writeSync, unlink } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import {
  batchHeaderBytes,
  recordHeaderBytes,
  sealBatch,
  segmentHeaderBytes,
  writeRecordHeader,
  writeSegmentHeader,
  type RecordKind,
} from './journal-format.ts';

const arenaBytes = 1_048_576;
const segmentBytes = 67_108_864;
/** Small enough in time that an erased call's bytes are gone within a minute. */
const segmentMs = 10_000;
/** A write to the page cache takes microseconds. One this slow means that the disk pushes back ... */
const slowMs = 5;
/** ... or that the machine was busy for a moment: the wait doubles each time, up to half a minute. */
const slowForMs = { first: 1_000, most: 30_000 };
const retryMs = 1_000;
/**
 * A few frames wait a moment for more: a write and the wake-ups after it cost more than a frame does. As many as
 * a busy process gets in one turn do not wait.
 */
const gatherMs = 2;
const gathered = 8;
/** Frames wait this long for a batch that is written beside a sync; longer, and the disk is slow. */
const heldMs = 25;

/**
 * Told after its bytes are with the operating system: from here on a `kill -9` cannot lose them. They lie in
 * memory that is written over soon: who wants them longer copies them.
 */
export type WrittenTo = { written(position: number, bytes: Buffer): void };

export type Segment = { seq: number; path: string; openedAtMs: number };

export type WriterOptions = {
  dir: string;
  run: number;
  firstSeq: number;
  clock: Clock;
  log: Logger;
  /** A segment is full: nothing more goes into it. */
  onSealed(segment: Segment): void;
  /** Writing works again after it had failed: what was not written meanwhile is missing here. */
  onRecovered(): void;
};

/**
 * Writes what all legs received, a batch at a time, before any of it goes to a socket:
 * whatever the speech service can have heard is in the journal, which is what makes resuming after a
 * `kill -9` exact. A write costs microseconds, but not beside a sync, which holds the file for milliseconds:
 * then the thread pool writes, and the frames wait for it instead of the event loop. If the disk begins to
 * push back, writes move there for good and nobody waits for them until it has been well for a while.
 */
export class JournalWriter {
  readonly totals = { batches: 0, bytes: 0, slowestMs: 0, unwrittenBytes: 0, failures: 0 };
  private readonly options: WriterOptions;
  private arena = Buffer.allocUnsafeSlow(arenaBytes);
  private spare = Buffer.allocUnsafeSlow(arenaBytes);
  private at = batchHeaderBytes;
  private told = new Told();
  /** Of the batch that is being written beside a sync. */
  private held: Told | undefined;
  /** Whoever is told may append, and so begin another batch. */
  private readonly telling: Told[] = [];
  private heldUntilMs = 0;
  private scheduled: NodeJS.Immediate | undefined;
  private gathering: NodeJS.Timeout | undefined;
  /** In the batch that is being filled. */
  private records = 0;
  private segment: Segment;
  private fd: number;
  private offset = 0;
  /** Number of the batch that is being filled, and of the last one that was written. */
  private batch = 1;
  private writtenBatch = 0;
  private nextSeq: number;
  private inFlight = false;
  /** As soon as the batch that is on its way has arrived. */
  private rollWanted = false;
  private slowUntilMs = 0;
  private slowForMs: number = slowForMs.first;
  private wellSinceMs = -Infinity;
  private failing: { reason: string; retryAtMs: number } | undefined;
  private unsynced = false;
  private syncs = 0;
  private closed = false;

  constructor(options: WriterOptions) {
    this.options = options;
    this.nextSeq = options.firstSeq;
    [this.segment, this.fd] = this.openSegment();
  }

  get seq(): number {
    return this.segment.seq;
  }

  get trouble(): string | undefined {
    return this.failing?.reason;
  }

  /** Of what was appended so far, for `isWritten`. */
  get mark(): number {
    return this.at > batchHeaderBytes ? this.batch : this.batch - 1;
  }

  /** With the operating system: older copies of it may go. */
  isWritten(mark: number): boolean {
    return this.failing === undefined && this.writtenBatch >= mark;
  }

  get slow(): boolean {
    return this.slowUntilMs > 0;
  }

  audio(leg: number, position: number, bytes: Buffer, to: WrittenTo): void {
    const at = this.record(leg, 1, position, bytes);
    this.told.add(to, position, this.arena, at, bytes.length);
  }

  /** `silence` is what the wire carries; the journal keeps only how much of it. */
  filler(leg: number, position: number, note: Buffer, silence: Buffer, to: WrittenTo): void {
    this.record(leg, 2, position, note);
    this.told.add(to, position, silence, 0, silence.length);
  }

  leg(leg: number, position: number, snapshot: string): void {
    this.record(leg, 3, position, Buffer.from(snapshot));
  }

  /** Everything appended so far goes to the operating system and then to whoever waits for it. */
  flush(): void {
    if (this.scheduled) clearImmediate(this.scheduled);
    if (this.gathering) clearTimeout(this.gathering);
    this.scheduled = this.gathering = undefined;
    this.records = 0;
    if (this.at > batchHeaderBytes && !this.inFlight) {
      if (this.slow) this.writeLater(slowMs);
      else if (this.syncs > 0) this.writeHeld();
      else this.writeNow();
    }
    if (this.held && this.options.clock.monotonicMs() < this.heldUntilMs) return;
    this.deliver();
  }

  /** About once a second. */
  tick(): void {
    const nowMs = this.options.clock.monotonicMs();
    if (this.slow && nowMs > this.slowUntilMs && !this.inFlight) {
      this.slowUntilMs = 0;
      this.wellSinceMs = nowMs;
    }
    if (nowMs - this.segment.openedAtMs > segmentMs) this.roll();
    this.sync();
  }

  /** Ends the segment, so that it can be freed once its legs allow it. */
  roll(): void {
    this.rollWanted = this.inFlight;
    if (this.inFlight || this.offset <= segmentHeaderBytes || this.closed) return;
    const sealed = this.segment;
    const fd = this.fd;
    try {
      [this.segment, this.fd] = this.openSegment();
    } catch (error) {
      this.fail(error);
      return;
    }
    this.syncs++;
    fdatasync(fd, () => {
      this.syncs--;
      close(fd, ignoreError);
    });
    this.options.onSealed(sealed);
  }

  remove(segment: Segment): void {
    unlink(segment.path, (error) => {
      if (error && error.code !== 'ENOENT')
        this.options.log.warn({ err: error }, 'journal segment could not be removed');
    });
  }

  async close(): Promise<void> {
    this.flush();
    this.closed = true;
    while (this.inFlight) await new Promise((resolve) => setTimeout(resolve, 2));
    if (this.at > batchHeaderBytes) this.writeNow();
    this.deliver();
    await new Promise<void>((resolve) => fdatasync(this.fd, () => close(this.fd, () => resolve())));
  }

  /** Answers where in the arena the payload lies. */
  private record(leg: number, kind: RecordKind, position: number, payload: Buffer): number {
    const size = recordHeaderBytes + payload.length;
    if (this.at + size > this.arena.length) this.makeRoom();
    const at = this.at + recordHeaderBytes;
    writeRecordHeader(this.arena, this.at, leg, kind, payload.length, position);
    this.arena.set(payload, at);
    this.at += size;
    if (++this.records >= gathered) this.scheduled ??= setImmediate(() => this.flush());
    else this.gathering ??= setTimeout(() => this.flush(), gatherMs);
    return at;
  }

  private deliver(): void {
    this.deliverHeld();
    this.tell(this.told);
  }

  private deliverHeld(): void {
    const held = this.held;
    this.held = undefined;
    if (held) this.tell(held);
  }

  private tell(told: Told): void {
    this.telling.push(told);
    told.deliver();
    this.telling.pop();
  }

  private makeRoom(): void {
    this.flush();
    if (this.at === batchHeaderBytes) return;
    // The disk hangs and both arenas are full. The legs still hold what is unacknowledged in memory.
    this.deliver();
    this.totals.unwrittenBytes += this.at - batchHeaderBytes;
    this.at = batchHeaderBytes;
  }

  private writeNow(): void {
    const nowMs = this.options.clock.monotonicMs();
    const { end, batch } = this.takeArena();
    if (this.failing && nowMs < this.failing.retryAtMs) {
      this.totals.unwrittenBytes += end;
      return;
    }
    sealBatch(batch, end);
    try {
      for (let done = 0; done < end;)
        done += writeSync(this.fd, batch, done, end - done, this.offset + done);
    } catch (error) {
      this.totals.unwrittenBytes += end;
      this.fail(error);
      return;
    }
    const tookMs = this.options.clock.monotonicMs() - nowMs;
    if (tookMs > this.totals.slowestMs) this.totals.slowestMs = tookMs;
    if (tookMs > slowMs) this.becomeSlow(nowMs);
    this.wrote(end);
  }

  /** A slow write while we are slow already makes it last, not grow. */
  private becomeSlow(nowMs: number): void {
    const again = nowMs - this.wellSinceMs < slowForMs.most;
    if (!this.slow)
      this.slowForMs = again ? Math.min(slowForMs.most, this.slowForMs * 2) : slowForMs.first;
    this.slowUntilMs = nowMs + this.slowForMs;
  }

  private writeHeld(): void {
    this.held = this.told;
    this.told = new Told();
    this.heldUntilMs = this.options.clock.monotonicMs() + heldMs;
    this.writeLater(heldMs);
  }

  /** `slow` from this long on: beside a sync a write may take as long as the sync. */
  private writeLater(slowAfterMs: number): void {
    const { end, batch } = this.takeArena();
    sealBatch(batch, end);
    this.inFlight = true;
    const startedMs = this.options.clock.monotonicMs();
    writeAsync(this.fd, batch, 0, end, this.offset, (error, bytes) => {
      this.inFlight = false;
      const nowMs = this.options.clock.monotonicMs();
      if (nowMs - startedMs > slowAfterMs) this.becomeSlow(nowMs);
      if (error || bytes < end) {
        this.totals.unwrittenBytes += end;
        this.fail(error ?? new Error('short write'));
      } else {
        this.wrote(end);
      }
      this.deliverHeld();
      if (this.rollWanted) this.roll();
      if (this.at > batchHeaderBytes && !this.closed) this.flush();
    });
  }

  /**
   * The other arena takes what comes next: this one may still be on its way to the disk, and what the legs
   * do that are about to be told may append.
   */
  private takeArena(): { batch: Buffer; end: number } {
    // Whoever is being told just now reads from the arena that is filled next.
    for (const told of this.telling) told.deliver();
    const batch = this.arena;
    const end = this.at;
    this.arena = this.spare;
    this.spare = batch;
    this.at = batchHeaderBytes;
    this.batch++;
    return { batch, end };
  }

  private wrote(bytes: number): void {
    this.offset += bytes;
    // Only one is on its way at a time, so the one that arrived is the one before the one being filled.
    this.writtenBatch = this.batch - 1;
    this.totals.batches++;
    this.totals.bytes += bytes;
    this.unsynced = true;
    if (this.failing) {
      this.failing = undefined;
      this.options.log.info('journal can be written again');
      setImmediate(() => this.options.onRecovered());
    }
    if (this.offset >= segmentBytes) this.roll();
  }

  private fail(error: unknown): void {
    this.totals.failures++;
    const reason = reasonOf(error);
    if (!this.failing) this.options.log.error({ err: error }, 'journal cannot be written');
    this.failing = { reason, retryAtMs: this.options.clock.monotonicMs() + retryMs };
  }

  /** Against a power cut; a killed process needs no sync. In the background, never waited for. */
  private sync(): void {
    if (!this.unsynced || this.syncs > 0 || this.closed) return;
    this.unsynced = false;
    this.syncs++;
    fdatasync(this.fd, (error) => {
      this.syncs--;
      if (!error || this.closed) return;
      // What was not synced may be gone whatever a later sync says (F50): leave this file behind.
      this.totals.failures++;
      this.options.log.error({ err: error }, 'journal could not be synced');
      this.roll();
    });
  }

  private openSegment(): [Segment, number] {
    const seq = this.nextSeq++;
    const path = join(this.options.dir, `${String(seq).padStart(12, '0')}.wal`);
    const fd = openSync(path, 'wx', 0o600);
    const header = Buffer.alloc(segmentHeaderBytes);
    writeSegmentHeader(header, this.options.run);
    writeSync(fd, header, 0, header.length, 0);
    this.offset = segmentHeaderBytes;
    return [{ seq, path, openedAtMs: this.options.clock.monotonicMs() }, fd];
  }
}

/**
 * Who is to be told of a batch, and where its bytes lie. Arrays side by side, used over and over: an object for
 * each frame, or arrays that grow anew for each batch, would be garbage a frame later. The frame itself is let go
 * of at once: while a batch is on its way thousands of them would grow old, and only a full collection frees
 * what is old.
 */
class Told {
  private readonly to: WrittenTo[] = [];
  private readonly positions: number[] = [];
  private readonly memories: Buffer[] = [];
  private readonly starts: number[] = [];
  private readonly lengths: number[] = [];
  private count = 0;
  private next = 0;

  add(to: WrittenTo, position: number, memory: Buffer, start: number, length: number): void {
    const at = this.count++;
    this.to[at] = to;
    this.positions[at] = position;
    this.memories[at] = memory;
    this.starts[at] = start;
    this.lengths[at] = length;
  }

  deliver(): void {
    // By index: a leg that is told may append more, which is delivered in the same go, or deliver itself.
    while (this.next < this.count) {
      const at = this.next++;
      const start = this.starts[at] ?? 0;
      const bytes = this.memories[at]?.subarray(start, start + (this.lengths[at] ?? 0));
      if (bytes) this.to[at]?.written(this.positions[at] ?? 0, bytes);
    }
    this.next = this.count = 0;
    if (this.to.length <= placesKept) return;
    for (const places of [this.to, this.positions, this.memories, this.starts, this.lengths])
      places.length = 0;
  }
}

/** A batch of a busy process holds some hundred frames; room for more is given back. */
const placesKept = 1_024;

function ignoreError(): void {
  // a file that is left behind cannot be closed twice
}
