import { randomInt } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { within, type Clock } from '../../lib/clock.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import type { LegSnapshot } from '../records/leg-snapshot.ts';
import { silenceFrame } from './leg-backlog.ts';
import { fileNameOf, LegFile, legIdOf, rewrittenPath } from './leg-file.ts';
import { LegStore } from './leg-store.ts';
import { journalTotals } from './metrics.ts';
import { recoverJournal, type RecoveredLeg } from './journal-recovery.ts';
import { closeMs, JournalWriter, type Segment } from './writer.ts';

const tickMs = 1_000;
/** If a leg still needs a full segment after this time, the audio moves to the leg's own file. */
const spillAfterMs = 5_000;

export type LegRecording = {
  bytes: number;
  /** Reads the raw audio of the leg. It has silence where the call was paused or the carrier lost audio. */
  read(from: number, to: number): AsyncIterable<Buffer>;
};

/** A leg's place in the journal. Only the journal decides when the leg's snapshot is written. */
export class JournalEntry {
  readonly legId: string;
  /** The number of the leg in the shared segments. */
  readonly number: number;
  snapshot: () => LegSnapshot;
  store: LegStore | undefined;
  /** The segment that holds the leg's newest snapshot. */
  snapshotSegment = 0;
  #hasChanged = false;
  readonly #write: (entry: JournalEntry) => void;

  constructor(
    legId: string,
    number: number,
    snapshot: () => LegSnapshot,
    write: (entry: JournalEntry) => void,
  ) {
    this.legId = legId;
    this.number = number;
    this.snapshot = snapshot;
    this.#write = write;
  }

  /**
   * Reports a change that must be in the journal before the next audio: a session, a pause, the end, or waiting
   * results. If a crash preserved only the audio, the leg would ask for a second session, or go on during a pause.
   */
  changedNow(): void {
    this.#write(this);
  }

  /** Reports a change that the next process must know. It is written within a second. */
  changed(): void {
    this.#hasChanged = true;
  }

  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  writtenInto(segment: number): void {
    this.snapshotSegment = segment;
    this.#hasChanged = false;
  }
}

type OpenLeg = {
  legId: string;
  recording: boolean;
  silence: number;
  bytesPerSecond: number;
  /** The positions from which a leg of an earlier run continues; 0 for a new leg. */
  position: { settled: number; end: number };
  log: Logger;
  snapshot(): LegSnapshot;
  onWritten(position: number, bytes: Buffer): void;
  onLost(start: number, end: number, cause: 'journal' | 'damaged'): void;
};

type SealedSegment = {
  segment: Segment;
  sealedAtMs: number;
  /**
   * The legs that still need this segment, each with the end of the audio it needs: audio that is neither settled nor
   * in the leg's own file.
   */
  needs: Map<LegStore, number>;
  /**
   * The writer's position after this segment's newest snapshots were written again to a later segment. Undefined until
   * then.
   */
  movedAt?: number | undefined;
};

type JournalOptions = { dir: string; clock: Clock; log: Logger };

/** The folder is private, because it holds recordings and session addresses. */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  for (const part of ['', 'wal', 'legs'])
    mkdirSync(join(options.dir, part), { recursive: true, mode: 0o700 });
  const found = await recoverJournal(options.dir, options.log);
  const journal = new Journal(options, found.recovered, found.nextSeq);
  await journal.takeOver(() => found.removeOldSegments());
  return journal;
}

/** Keeps the audio of all legs on disk until it is acknowledged. Recorded audio is kept after that too. */
export class Journal implements AsyncDisposable {
  readonly recovered: Map<string, RecoveredLeg>;
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #writer: JournalWriter;
  readonly #legs = new Map<string, JournalEntry>();
  readonly #sealed: SealedSegment[] = [];
  #nextNumber = 1;
  /**
   * The snapshots written in the last second. Once they are on disk, the file of each leg may drop the audio that its
   * snapshot counts as settled.
   */
  #lastRound: { mark: number; legs: { store: LegStore; settled: number }[] } = {
    mark: 0,
    legs: [],
  };
  /** The segments of the earlier run, until this run's own segments hold every leg. */
  #oldSegments: { movedAt: number | undefined; remove: () => Promise<void> } | undefined;
  /**
   * The writer's count of unwritten bytes at the last time when all snapshots were already written or being written.
   */
  #unwrittenBytes = 0;
  readonly #ticks: Loop;
  #closing: Promise<void> | undefined;

  constructor(options: JournalOptions, recovered: Map<string, RecoveredLeg>, firstSeq: number) {
    this.#dir = options.dir;
    this.#clock = options.clock;
    this.#log = options.log.child({ component: 'journal' });
    this.recovered = recovered;
    this.#writer = new JournalWriter({
      dir: join(options.dir, 'wal'),
      run: randomInt(2 ** 32),
      firstSeq,
      clock: this.#clock,
      log: this.#log,
      onSealed: (segment) => this.#seal(segment),
      onRecovered: () => this.#rewriteAll(),
    });
    this.#ticks = every(this.#clock, tickMs, () => this.#tick());
  }

  /**
   * Writes the legs of the earlier run into this run's segments, where they wait until a call continues them. The old
   * segments are removed once this copy is on disk. A full disk delays that, and each tick tries again.
   */
  async takeOver(removeOldSegments: () => Promise<void>): Promise<void> {
    for (const leg of this.recovered.values())
      this.#writeDown(this.#newEntry(leg.legId, () => leg.snapshot));
    this.#oldSegments = { movedAt: this.#writer.mark, remove: removeOldSegments };
    this.#writer.flush();
    await this.#freeOldSegments();
    if (this.#oldSegments)
      this.#log.warn('segments of the earlier run stay until the disk takes a copy');
  }

  /** Opens a new leg, or continues one of an earlier run from its recovered state. */
  openLeg(leg: OpenLeg): { store: LegStore; entry: JournalEntry } {
    const left = this.recovered.get(leg.legId);
    this.recovered.delete(leg.legId);
    const file = left?.file ?? LegFile.fresh(this.#filePath(leg.legId), leg.silence, leg.recording);
    const entry = this.#legs.get(leg.legId) ?? this.#newEntry(leg.legId, () => leg.snapshot());
    entry.snapshot = () => leg.snapshot();
    const store = new LegStore({
      ...leg,
      number: entry.number,
      writer: this.#writer,
      clock: this.#clock,
      file,
    });
    entry.store = store;
    return { store, entry };
  }

  /** Creates a file for the audio of a leg that was on another node. */
  newFile(legId: string, silence: number, recording: boolean): LegFile {
    return LegFile.fresh(this.#filePath(legId), silence, recording);
  }

  /**
   * Takes in a leg of a node that was lost together with its disk. The leg continues here with the audio in the file.
   */
  takeIn(snapshot: LegSnapshot, gaps: RecoveredLeg['gaps'], file: LegFile): RecoveredLeg {
    const { legId, callId, ledger, finishing, recording, paused } = snapshot;
    const left = {
      legId,
      callId,
      ledger: ledger.counts,
      sessionId: undefined,
      finishing,
      recording,
      paused,
      snapshot,
      gaps,
      file,
    };
    this.recovered.set(legId, left);
    return left;
  }

  /** Ends the leg in the journal. Its recording is completed, and everything else of it is removed. */
  async finish(entry: JournalEntry): Promise<void> {
    const { store } = entry;
    if (this.#legs.get(entry.legId) === entry) await store?.spillRecording();
    this.#forget(entry);
    this.#writer.flush();
    await store?.closeFile();
  }

  /** Passes everything appended so far to the operating system. If the disk is slow, this takes a moment. */
  flush(): void {
    this.#writer.flush();
  }

  /** True if the operating system has everything appended so far. */
  get isWritten(): boolean {
    return this.#writer.isWritten(this.#writer.mark);
  }

  async recordingOf(legId: string): Promise<LegRecording | undefined> {
    const path = this.#filePath(legId);
    const header = await LegFile.headerOf(path);
    if (!header?.recording) return undefined;
    const { silence } = header;
    const file = await LegFile.load(path, silence, true);
    // The recording may have moved to the object store after its header was read. An empty file without a header means
    // that it is gone from here, not that it is empty.
    if (file.end === 0 && (await LegFile.headerOf(path)) === undefined) return undefined;
    return { bytes: file.end, read: (from, to) => readRecording(file, silence, from, to) };
  }

  /** Ids of legs that are open here, or were open when the process before ended. */
  get legIds(): string[] {
    return [...this.#legs.keys(), ...this.recovered.keys()];
  }

  /** Lists the recordings of legs that have finished here, with the total size of their files. */
  async finishedRecordings(): Promise<{ files: string[]; bytes: number }> {
    const folder = join(this.#dir, 'legs');
    const files: string[] = [];
    let bytes = 0;
    for (const name of await readdir(folder)) {
      const legId = legIdOf(name);
      if (legId === undefined || this.#legs.has(legId) || this.recovered.has(legId)) continue;
      const found = await stat(join(folder, name)).catch(() => undefined); // the recording may be erased meanwhile
      if (found === undefined) continue;
      files.push(legId);
      bytes += found.size;
    }
    return { files, bytes };
  }

  /**
   * Changes the kept audio of a finished leg for good. Shared segments may still hold the leg's audio and words; they
   * are removed within seconds. Returns false if the leg is still open here.
   */
  async changeRecording(
    legId: string,
    change: (position: number, bytes: Buffer) => void,
  ): Promise<boolean> {
    if (this.#legs.has(legId) || this.recovered.has(legId)) return false;
    this.#writer.flush();
    this.#writer.roll();
    await LegFile.rewrite(this.#filePath(legId), change);
    return true;
  }

  /** Removes the recording of a finished leg after it was stored elsewhere. */
  async removeRecording(legId: string): Promise<void> {
    if (!this.#legs.has(legId)) await rm(this.#filePath(legId), { force: true });
  }

  /**
   * Removes all data of a leg from the disk, including its recording. Shared segments that hold some of it are removed
   * within seconds.
   */
  async erase(legId: string): Promise<void> {
    this.recovered.delete(legId);
    const entry = this.#legs.get(legId);
    if (entry) this.#forget(entry);
    this.#writer.flush();
    this.#writer.roll();
    await entry?.store?.eraseFile();
    await rm(rewrittenPath(this.#filePath(legId)), { force: true });
    await rm(this.#filePath(legId), { force: true });
  }

  health(): { state: 'ok' | 'degraded' | 'down'; detail?: string } {
    const trouble = this.#writer.trouble;
    if (trouble !== undefined) return { state: 'degraded', detail: trouble };
    return this.#writer.slow ? { state: 'degraded', detail: 'the disk is slow' } : { state: 'ok' };
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    void this.#ticks.stop();
    for (const entry of this.#legs.values()) this.#writeDown(entry);
    await this.#writer.close();
    const released = [...this.#legs.values()].map(async ({ store }) => {
      await store?.releaseFile();
    });
    if (!(await within(this.#clock, closeMs, Promise.all(released))))
      this.#log.warn('the disk hangs: files of legs stay as they are for the next start');
    // Without a leg the next start needs no segment, and the sound and words in the segments may be secret.
    if (this.#legs.size > 0 || this.recovered.size > 0 || this.#oldSegments) return;
    const left = [...this.#sealed.map(({ segment }) => segment), this.#writer.segment];
    const removed = left.map((segment) => this.#writer.remove(segment));
    await within(this.#clock, closeMs, Promise.all(removed));
  }

  /** A finished or erased leg is not written again, because its last record in the journal says that it is done. */
  #writeDown(entry: JournalEntry): void {
    if (this.#legs.get(entry.legId) !== entry) return;
    const snapshot = entry.snapshot();
    this.#writer.leg(entry.number, snapshot.ledger.end, JSON.stringify(snapshot));
    entry.writtenInto(this.#writer.seq);
  }

  #newEntry(legId: string, snapshot: () => LegSnapshot): JournalEntry {
    const entry = new JournalEntry(legId, this.#nextNumber++, snapshot, (changed) =>
      this.#writeDown(changed),
    );
    this.#legs.set(legId, entry);
    return entry;
  }

  #forget(entry: JournalEntry): void {
    if (this.#legs.get(entry.legId) !== entry) return;
    this.#legs.delete(entry.legId);
    if (entry.store) entry.store.closed = true;
    this.#writer.leg(entry.number, 0, JSON.stringify({ legId: entry.legId, done: true }));
  }

  #tick(): void {
    if (this.#hasUnwritten) this.#writeAllAgain();
    if (this.#writer.isWritten(this.#lastRound.mark))
      for (const { store, settled } of this.#lastRound.legs) store.tidy(settled);
    const legs: { store: LegStore; settled: number }[] = [];
    for (const entry of this.#legs.values()) {
      if (!entry.hasChanged) continue;
      this.#writeDown(entry);
      if (entry.store) legs.push({ store: entry.store, settled: entry.store.settledTo });
    }
    this.#writer.flush();
    this.#lastRound = { mark: this.#writer.mark, legs };
    this.#freeSegments();
    this.#freeOldSegments().catch((error: unknown) => {
      this.#log.warn({ err: error }, 'segments of the earlier run could not be removed');
    });
    this.#writer.tick(); // the tick comes last because it begins a sync, and writes during a sync are slow
    Object.assign(journalTotals, this.#writer.totals);
  }

  #seal(segment: Segment): void {
    const needs = new Map<LegStore, number>();
    for (const { store } of this.#legs.values())
      if (store && store.safeTo() < store.end) needs.set(store, store.end);
    this.#sealed.push({ segment, needs, sealedAtMs: this.#clock.monotonicMs() });
  }

  /**
   * The writer has dropped data since then. An earlier position proves nothing after that, because a later batch passes
   * it too.
   */
  get #hasUnwritten(): boolean {
    return this.#writer.totals.unwrittenBytes !== this.#unwrittenBytes;
  }

  /** The dropped data may have held snapshots. All snapshots are written again, and nothing is removed before that. */
  #writeAllAgain(): void {
    this.#unwrittenBytes = this.#writer.totals.unwrittenBytes;
    this.#lastRound = { mark: 0, legs: [] };
    for (const entry of this.#legs.values()) entry.changed();
    for (const sealed of this.#sealed) sealed.movedAt = undefined;
    if (this.#oldSegments) this.#oldSegments.movedAt = undefined;
  }

  async #freeOldSegments(): Promise<void> {
    const old = this.#oldSegments;
    if (!old || this.#hasUnwritten) return;
    old.movedAt ??= this.#writer.mark;
    if (!this.#writer.isWritten(old.movedAt)) return;
    this.#oldSegments = undefined;
    await old.remove();
  }

  /** Segments are freed oldest first, so that a leg's last snapshot is never removed before its earlier ones. */
  #freeSegments(): void {
    if (this.#hasUnwritten) return;
    for (let first = this.#sealed[0]; first; first = this.#sealed[0]) {
      if (!this.#audioIsSafe(first)) return;
      first.movedAt ??= this.#moveSnapshots(first.segment.seq);
      if (!this.#writer.isWritten(first.movedAt)) return;
      this.#sealed.shift();
      void this.#writer.remove(first.segment);
    }
  }

  #audioIsSafe({ needs, sealedAtMs }: SealedSegment): boolean {
    const old = this.#clock.monotonicMs() - sealedAtMs > spillAfterMs;
    for (const [store, end] of needs) {
      if (store.closed || store.safeTo() >= end) needs.delete(store);
      else if (old) void store.spillAll(); // never rejects: the store keeps data that the disk refuses
    }
    return needs.size === 0;
  }

  /** If a leg's newest snapshot is in a segment that will be removed, the snapshot is written again in a later one. */
  #moveSnapshots(seq: number): number {
    for (const entry of this.#legs.values())
      if (entry.snapshotSegment <= seq) this.#writeDown(entry);
    const { mark } = this.#writer;
    this.#writer.flush();
    return mark;
  }

  #rewriteAll(): void {
    for (const entry of this.#legs.values()) {
      this.#writeDown(entry);
      entry.store?.rejournal();
    }
  }

  #filePath(legId: string): string {
    return join(this.#dir, 'legs', fileNameOf(legId));
  }
}

async function* readRecording(
  file: LegFile,
  silence: number,
  from: number,
  to: number,
): AsyncGenerator<Buffer> {
  const end = Math.min(to, file.end);
  for (let position = Math.max(0, from); position < end;) {
    const next = file.holds(position) ? position : Math.min(end, file.nextFrom(position));
    const piece =
      next > position
        ? silenceFrame(silence, next - position)
        : await file.read(position, end - position);
    position += piece.length;
    yield piece;
  }
}
