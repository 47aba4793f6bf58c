import type { Logger } from '../../lib/log.ts';
import { reasonOf } from '../../lib/errors.ts';
import { Backlog } from './backlog.ts';
import type { JournalWriter, WrittenTo } from './journal-writer.ts';
import { DamagedChunk, type LegFile } from './leg-file.ts';
import type { Ledger } from '../leg/ledger.ts';

/** A leg's audio moves from memory into its own file in pieces of this size at most. */
const spillBytes = 262_144;
/** A recorded leg keeps this much in memory before it goes to the recording ... */
const recordedBytes = 12_288;
/** ... and a leg whose service is away this much. */
const waitingBytes = 65_536;
/** Only while the disk refuses: then the oldest goes, and a gap says so (reliability.md section 5). */
const heldSeconds = 30;
const retryMs = 1_000;

export type LegStoreOptions = {
  /** What the shared segments call the leg. */
  number: number;
  writer: JournalWriter;
  file: LegFile;
  ledger: Ledger;
  recording: boolean;
  silence: number;
  bytesPerSecond: number;
  log: Logger;
  /** Journalled: may go to the speech service now. */
  onWritten(position: number, bytes: Buffer): void;
  /** No copy of these bytes is left. */
  onLost(start: number, end: number, cause: 'journal' | 'damaged'): void;
};

/**
 * The audio of one leg from the moment it arrives until it is acknowledged (or for good, as the recording):
 * first in the shared journal and in memory; what is not acknowledged soon, and what is recorded, in the
 * leg's own file. Always readable by position.
 */
export class LegStore implements WrittenTo {
  /** The journal has let go of the leg. */
  closed = false;
  /** Leg position up to which everything is journalled: only that may go to the speech service. */
  writtenTo: number;
  private readonly options: LegStoreOptions;
  private readonly ledger: Ledger;
  private readonly backlog: Backlog;
  private readonly number: number;
  private spilledTo: number;
  private spilling: Promise<void> | undefined;
  private retryAfterMs = 0;

  constructor(options: LegStoreOptions) {
    this.options = options;
    this.ledger = options.ledger;
    this.number = options.number;
    this.backlog = new Backlog(options.ledger.end);
    this.spilledTo = options.file.end;
    this.writtenTo = options.ledger.end;
  }

  get heldBytes(): number {
    return this.backlog.heldBytes;
  }

  get end(): number {
    return this.backlog.end;
  }

  audio(bytes: Buffer): void {
    const position = this.ledger.end;
    this.ledger.audio(bytes.length);
    this.backlog.append(bytes);
    this.options.writer.audio(this.number, position, bytes, this);
    this.bound();
  }

  /** Silence that we put in, in frames that the wire can carry. */
  filler(bytes: number, paused: boolean): void {
    const { writer, silence } = this.options;
    const frame = silenceOf(silence);
    for (let left = bytes; left > 0; left -= Math.min(left, frame.length)) {
      const piece = frame.subarray(0, Math.min(left, frame.length));
      const position = this.ledger.end;
      this.ledger.filler(piece.length, paused);
      this.backlog.append(piece);
      writer.filler(this.number, position, fillerNote(piece.length, paused), piece, this);
    }
    this.bound();
  }

  written(position: number, bytes: Buffer): void {
    this.writtenTo = position + bytes.length;
    this.options.onWritten(position, bytes);
  }

  /** The ledger has settled more: what is not recorded may be forgotten. */
  settled(): void {
    if (!this.options.recording) this.trim();
  }

  /** From memory at once, from the file in a moment, silence where nothing is left. */
  read(position: number, maxBytes: number): Buffer | Promise<Buffer> {
    if (position >= this.backlog.start) return this.backlog.read(position, maxBytes);
    const { file } = this.options;
    if (file.holds(position)) return this.readFile(position, maxBytes);
    const next = Math.min(file.nextFrom(position), this.backlog.start);
    return silenceOf(this.options.silence).subarray(0, Math.min(maxBytes, next - position));
  }

  /** The shared segments are no longer needed for anything before this position. */
  safeTo(): number {
    const kept = Math.max(this.spilledTo, this.backlog.start);
    return this.options.recording ? kept : Math.max(this.ledger.settled, kept);
  }

  /** Puts into the file whatever memory alone holds, so that a shared segment can go. */
  async spillAll(): Promise<void> {
    while (this.unspilled() > 0) {
      const before = this.spilledTo;
      await this.spill();
      if (this.spilledTo === before) return; // the disk refuses; asked again by the journal's clock
    }
  }

  async spillRecording(): Promise<void> {
    if (this.options.recording) await this.spillAll();
  }

  /** Where the file begins to be all that is needed: for the snapshot. */
  get spilled(): number {
    return this.spilledTo;
  }

  /** After the journal could not be written for a while: what is still held goes into it again. */
  rejournal(): void {
    const { writer } = this.options;
    let position = Math.max(this.backlog.start, this.ledger.settled);
    for (const piece of this.backlog.pieces(position, this.backlog.heldBytes)) {
      writer.audio(this.number, position, piece, noOne);
      position += piece.length;
    }
  }

  /**
   * The journal on disk says what the ledger says: only now may the file lose what that settled. Earlier, a
   * killed process would look for it.
   */
  tidy(): void {
    const { file } = this.options;
    if (file.end > 0 && file.start < this.ledger.settled)
      void file.forgetTo(this.ledger.settled).catch(() => undefined); // tried again by the next tidy
  }

  /** The leg is over and the journal says so: only a recording stays. */
  async closeFile(): Promise<void> {
    if (this.options.recording) await this.options.file.release();
    else await this.options.file.remove();
  }

  /** The process stops; the next one goes on with it. */
  async releaseFile(): Promise<void> {
    this.closed = true;
    await this.spilling;
    await this.options.file.release();
  }

  async eraseFile(): Promise<void> {
    await this.spilling; // what is being put there would make the file anew
    await this.options.file.remove();
  }

  private async readFile(position: number, maxBytes: number): Promise<Buffer> {
    try {
      const kept = await this.options.file.read(position, maxBytes);
      const next = position + kept.length;
      const room = maxBytes - kept.length;
      // The first message after a drop must hold all that is in doubt, wherever it lies; while the file was
      // read, more of it may have moved there.
      if (room === 0 || next >= this.backlog.end) return kept;
      if (next >= this.backlog.start) return Buffer.concat([kept, this.backlog.read(next, room)]);
      if (!this.options.file.holds(next)) return kept;
      return Buffer.concat([kept, await this.readFile(next, room)]);
    } catch (error) {
      if (!(error instanceof DamagedChunk)) throw error;
      this.options.onLost(position, error.end, 'damaged');
      const bytes = Math.min(maxBytes, error.end - position);
      return silenceOf(this.options.silence).subarray(0, bytes);
    }
  }

  private unspilled(): number {
    return this.backlog.end - this.spillFrom();
  }

  private spillFrom(): number {
    return this.options.recording
      ? Math.max(this.spilledTo, this.backlog.start)
      : Math.max(this.spilledTo, this.backlog.start, this.ledger.settled);
  }

  private bound(): void {
    const limit = this.limit();
    if (this.backlog.heldBytes <= limit) return;
    if (!this.spilling && performance.now() >= this.retryAfterMs) void this.spill();
    const most = Math.max(limit * 2, heldSeconds * this.options.bytesPerSecond);
    if (this.backlog.heldBytes > most && this.retryAfterMs > 0) this.dropOldest(most);
  }

  private spill(): Promise<void> {
    this.spilling ??= this.spillDown().finally(() => {
      this.spilling = undefined;
    });
    return this.spilling;
  }

  private async spillDown(): Promise<void> {
    const limit = this.limit();
    do {
      const before = this.spilledTo;
      await this.spillOnce();
      if (this.spilledTo === before) return;
    } while (this.backlog.heldBytes > limit);
  }

  private limit(): number {
    return this.options.recording ? recordedBytes : waitingBytes;
  }

  private async spillOnce(): Promise<void> {
    if (this.closed) return;
    const from = this.spillFrom();
    const bytes = Math.min(spillBytes, this.backlog.end - from);
    if (bytes <= 0) return;
    try {
      await this.backlog.lend(from, bytes, (pieces) => this.options.file.append(from, pieces));
      this.spilledTo = from + bytes;
      this.retryAfterMs = 0;
      this.trim();
    } catch (error) {
      if (this.retryAfterMs === 0)
        this.options.log.error({ reason: reasonOf(error) }, 'audio cannot be put into its file');
      this.retryAfterMs = performance.now() + retryMs;
    }
  }

  private trim(): void {
    const kept = this.spilledTo;
    this.backlog.dropTo(this.options.recording ? kept : Math.max(this.ledger.settled, kept));
  }

  private dropOldest(most: number): void {
    const start = this.backlog.start;
    const end = this.backlog.end - Math.floor(most * 0.9);
    this.backlog.dropTo(end);
    if (end > this.ledger.settled)
      this.options.onLost(Math.max(start, this.ledger.settled), end, 'journal');
  }
}

const noOne: WrittenTo = { written: () => undefined };

export function fillerNote(bytes: number, paused: boolean): Buffer {
  const note = Buffer.alloc(5);
  note.writeUInt32LE(bytes, 0);
  note[4] = paused ? 1 : 0;
  return note;
}

const silences = new Map<number, Buffer>();

/** One long frame of silence for all legs of an encoding. */
export function silenceOf(code: number): Buffer {
  const known = silences.get(code);
  if (known) return known;
  const frame = Buffer.alloc(16_000, code);
  silences.set(code, frame);
  return frame;
}
