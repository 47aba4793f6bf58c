import { randomInt } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { recoverJournal } from './journal-recovery.ts';
import { JournalWriter, type Segment } from './journal-writer.ts';
import { journalTotals } from '../leg/leg-metrics.ts';
import { fileNameOf, LegFile } from './leg-file.ts';
import { LegStore, silenceOf } from './leg-store.ts';
import type { Ledger } from '../leg/ledger.ts';
import type { LegSnapshot, RecoveredLeg } from '../leg/leg-snapshot.ts';

const tickMs = 1_000;
/** A full segment that a leg still needs after this time has that leg's audio moved to the leg's own file. */
const spillAfterMs = 5_000;

export type { RecoveredLeg } from '../leg/leg-snapshot.ts';

export type Recording = {
  bytes: number;
  /** Raw audio of the leg, silence included where the call was paused or the carrier lost something. */
  read(from: number, to: number): AsyncIterable<Buffer>;
};

export type LegEntry = {
  readonly legId: string;
  readonly number: number;
  /** The segment that has its newest snapshot. */
  snapshotSegment: number;
  dirty: boolean;
  store: LegStore | undefined;
  snapshot: () => LegSnapshot;
};

export type OpenLegStore = {
  legId: string;
  recording: boolean;
  silence: number;
  bytesPerSecond: number;
  ledger: Ledger;
  log: Logger;
  snapshot(): LegSnapshot;
  onWritten(position: number, bytes: Buffer): void;
  onLost(start: number, end: number, cause: 'journal' | 'damaged'): void;
};

type SealedSegment = {
  segment: Segment;
  sealedAtMs: number;
  /** Legs with audio in it that is neither settled nor in a file of their own, and up to where. */
  needs: Map<LegStore, number>;
  /** The writer's mark behind the snapshots that were only in it. */
  movedAt?: number;
};

export type JournalOptions = { dir: string; clock: Clock; log: Logger };

/** The folder is private: recordings and session addresses are in it. */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  for (const part of ['', 'wal', 'legs'])
    mkdirSync(join(options.dir, part), { recursive: true, mode: 0o700 });
  const found = await recoverJournal(options.dir, options.log);
  const journal = new Journal(options, found.recovered, found.nextSeq);
  journal.takeOver();
  await found.removeOldSegments();
  return journal;
}

/** Audio of all legs on disk until it is acknowledged, and after that if it is recorded. */
export class Journal implements AsyncDisposable {
  readonly recovered: Map<string, RecoveredLeg>;
  private readonly dir: string;
  private readonly clock: Clock;
  private readonly log: Logger;
  private readonly writer: JournalWriter;
  private readonly legs = new Map<string, LegEntry>();
  private readonly sealed: SealedSegment[] = [];
  private nextNumber = 1;
  /** Legs whose snapshot of the last second lets go of older copies once it is on disk. */
  private written: { mark: number; entries: LegEntry[] } = { mark: 0, entries: [] };
  private stopTimer: (() => void) | undefined;
  private closing: Promise<void> | undefined;

  constructor(options: JournalOptions, recovered: Map<string, RecoveredLeg>, firstSeq: number) {
    this.dir = options.dir;
    this.clock = options.clock;
    this.log = options.log.child({ component: 'journal' });
    this.recovered = recovered;
    this.writer = new JournalWriter({
      dir: join(options.dir, 'wal'),
      run: randomInt(2 ** 32),
      firstSeq,
      clock: this.clock,
      log: this.log,
      onSealed: (segment) => this.seal(segment),
      onRecovered: () => this.rewriteAll(),
    });
    this.stopTimer = this.clock.after(tickMs, () => this.tick());
  }

  /** Legs of the earlier run are remembered in this run's segments until somebody takes them. */
  takeOver(): void {
    for (const leg of this.recovered.values()) {
      const entry = this.entry(leg.legId, () => leg.snapshot);
      this.writeSnapshot(entry);
    }
    this.writer.flush();
  }

  /** A new leg, or one of an earlier run that goes on from what was recovered. */
  openLeg(leg: OpenLegStore): { store: LegStore; entry: LegEntry } {
    const left = this.recovered.get(leg.legId);
    this.recovered.delete(leg.legId);
    const file = left?.file ?? LegFile.fresh(this.filePath(leg.legId), leg.silence, leg.recording);
    const entry = this.legs.get(leg.legId) ?? this.entry(leg.legId, () => leg.snapshot());
    entry.snapshot = () => leg.snapshot();
    const store = new LegStore({ ...leg, number: entry.number, writer: this.writer, file });
    entry.store = store;
    return { store, entry };
  }

  /** The leg is over: its recording is completed, everything else of it goes. */
  async finish(entry: LegEntry): Promise<void> {
    const { store } = entry;
    if (entry.store && this.legs.get(entry.legId) === entry) await entry.store.spillRecording();
    this.close(entry);
    this.writer.flush();
    await store?.closeFile();
  }

  private close(entry: LegEntry): void {
    if (this.legs.get(entry.legId) !== entry) return;
    this.legs.delete(entry.legId);
    if (entry.store) entry.store.closed = true;
    this.writer.leg(entry.number, 0, JSON.stringify({ legId: entry.legId, done: true }));
  }

  /** Everything appended so far is with the operating system afterwards. */
  flush(): void {
    this.writer.flush();
  }

  /** Everything appended so far is with the operating system: beside a sync, or on a slow disk, it may not be yet. */
  get isWritten(): boolean {
    return this.writer.isWritten(this.writer.mark);
  }

  snapshotNow(entry: LegEntry): void {
    this.writeSnapshot(entry);
  }

  async recordingOf(legId: string): Promise<Recording | undefined> {
    const path = this.filePath(legId);
    const header = await LegFile.headerOf(path);
    if (!header?.recording) return undefined;
    const { silence } = header;
    const file = await LegFile.load(path, silence, true);
    return { bytes: file.end, read: (from, to) => readRecording(file, silence, from, to) };
  }

  /** Removes everything of a leg from the disk, recording included; shared segments follow within seconds. */
  async erase(legId: string): Promise<void> {
    this.recovered.delete(legId);
    const entry = this.legs.get(legId);
    if (entry) this.close(entry);
    this.writer.flush();
    this.writer.roll();
    await entry?.store?.eraseFile();
    await rm(this.filePath(legId), { force: true });
  }

  /** The recording goes, the leg's place in the journal stays: for retention. */
  async eraseRecording(legId: string): Promise<void> {
    await rm(this.filePath(legId), { force: true });
  }

  health(): { state: 'ok' | 'degraded' | 'down'; detail?: string } {
    const trouble = this.writer.trouble;
    if (trouble !== undefined) return { state: 'degraded', detail: trouble };
    return this.writer.slow ? { state: 'degraded', detail: 'the disk is slow' } : { state: 'ok' };
  }

  get writes(): JournalWriter['totals'] {
    return this.writer.totals;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.closing ??= this.shut();
    return this.closing;
  }

  private async shut(): Promise<void> {
    this.stopTimer?.();
    for (const entry of this.legs.values()) this.writeSnapshot(entry);
    await this.writer.close();
    for (const { store } of this.legs.values()) await store?.releaseFile();
  }

  private entry(legId: string, snapshot: () => LegSnapshot): LegEntry {
    const entry: LegEntry = {
      legId,
      number: this.nextNumber++,
      snapshotSegment: 0,
      dirty: false,
      store: undefined,
      snapshot,
    };
    this.legs.set(legId, entry);
    return entry;
  }

  private writeSnapshot(entry: LegEntry): void {
    const snapshot = entry.snapshot();
    entry.dirty = false;
    this.writer.leg(entry.number, snapshot.ledger.end, JSON.stringify(snapshot));
    entry.snapshotSegment = this.writer.seq;
  }

  private tick(): void {
    if (this.writer.isWritten(this.written.mark))
      for (const { store } of this.written.entries.splice(0)) store?.tidy();
    const written: LegEntry[] = [];
    for (const entry of this.legs.values()) {
      if (!entry.dirty) continue;
      this.writeSnapshot(entry);
      written.push(entry);
    }
    this.writer.flush();
    this.written = { mark: this.writer.mark, entries: written };
    this.freeSegments();
    this.writer.tick(); // its sync last: beside one, writes take their time
    Object.assign(journalTotals, this.writer.totals);
    this.stopTimer = this.clock.after(tickMs, () => this.tick());
  }

  private seal(segment: Segment): void {
    const needs = new Map<LegStore, number>();
    for (const { store } of this.legs.values())
      if (store && store.safeTo() < store.end) needs.set(store, store.end);
    this.sealed.push({ segment, needs, sealedAtMs: this.clock.monotonicMs() });
  }

  /** Oldest first, so that a leg's last word is never gone before its earlier ones. */
  private freeSegments(): void {
    for (let first = this.sealed[0]; first; first = this.sealed[0]) {
      if (!this.audioIsSafe(first)) return;
      first.movedAt ??= this.moveSnapshots(first.segment.seq);
      if (!this.writer.isWritten(first.movedAt)) return;
      this.sealed.shift();
      this.writer.remove(first.segment);
    }
  }

  private audioIsSafe({ needs, sealedAtMs }: SealedSegment): boolean {
    const old = this.clock.monotonicMs() - sealedAtMs > spillAfterMs;
    for (const [store, end] of needs) {
      if (store.closed || store.safeTo() >= end) needs.delete(store);
      else if (old) void store.spillAll();
    }
    return needs.size === 0;
  }

  /** A leg whose newest snapshot is in a segment that goes is written down again in a later one. */
  private moveSnapshots(seq: number): number {
    for (const entry of this.legs.values())
      if (entry.snapshotSegment <= seq) this.writeSnapshot(entry);
    const { mark } = this.writer;
    this.writer.flush();
    return mark;
  }

  private rewriteAll(): void {
    for (const entry of this.legs.values()) {
      this.writeSnapshot(entry);
      entry.store?.rejournal();
    }
  }

  private filePath(legId: string): string {
    return join(this.dir, 'legs', fileNameOf(legId));
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
        ? silenceOf(silence).subarray(0, Math.min(16_000, next - position))
        : await file.read(position, end - position);
    position += piece.length;
    yield piece;
  }
}
