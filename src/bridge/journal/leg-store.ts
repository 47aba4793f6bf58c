import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { Backlog, silenceFrame } from './leg-backlog.ts';
import { DamagedChunk, maxChunkBytes, type LegFile } from './leg-file.ts';
import type { JournalWriter, WriteListener } from './writer.ts';

/** A recorded leg keeps this much in memory before it writes to the recording. */
export const maxRecordedBytesHeld = 12_288;
/** A leg whose service is unreachable keeps this much in memory. */
export const maxWaitingBytesHeld = 65_536;
/** The limit while the disk refuses the leg's file. Above it the oldest audio is dropped, and a gap is declared. */
export const maxSecondsHeldWithoutDisk = 30;
const retryMs = 1_000;

type LegStoreOptions = {
  /** The number of the leg in the shared segments. */
  number: number;
  writer: JournalWriter;
  file: LegFile;
  /** The positions from which a leg of an earlier run continues; 0 for a new leg. */
  position: { settled: number; end: number };
  recording: boolean;
  silence: number;
  bytesPerSecond: number;
  clock: Clock;
  log: Logger;
  /** The audio is journalled and may now be sent to the speech service. */
  onWritten(position: number, bytes: Buffer): void;
  /** No copy of these bytes is left. */
  onLost(start: number, end: number, cause: 'journal' | 'damaged'): void;
};

/** The audio that a running leg has. The copy to the object store reads it while the leg goes on. */
export type LegTail = {
  recording: boolean;
  settled: number;
  /** The audio is on disk up to here. */
  end: number;
  /** Before this position a recording can only be read from its file. */
  readableFrom: number;
  read(position: number, maxBytes: number): Buffer | Promise<Buffer>;
  /** For a recording: from this position on it must stay readable here. */
  keepFrom(position: number): void;
};

/**
 * The audio of one leg from its arrival until it is acknowledged, or for good if it is recorded. It is first in the
 * shared journal and in memory. Audio that is not acknowledged soon, and recorded audio, moves to the leg's own file.
 * All of it is readable by position.
 */
export class LegStore implements WriteListener {
  /** True once the journal has released the leg. */
  closed = false;
  /** The leg position up to which everything is journalled. Only that may be sent to the speech service. */
  writtenTo: number;
  readonly #options: LegStoreOptions;
  readonly #writer: JournalWriter;
  readonly #number: number;
  readonly #backlog: Backlog;
  /** The leg position up to which every byte is acknowledged, in a gap, or filler. */
  #settledTo: number;
  #spilledTo: number;
  #spilling: Promise<void> | undefined;
  #retryAfterMs = 0;
  #keptFrom = Infinity;

  constructor(options: LegStoreOptions) {
    this.#options = options;
    this.#writer = options.writer;
    this.#number = options.number;
    this.#backlog = new Backlog(options.position.end);
    this.#settledTo = options.position.settled;
    this.#spilledTo = options.file.end;
    this.writtenTo = options.position.end;
  }

  get settledTo(): number {
    return this.#settledTo;
  }

  tail(): LegTail {
    const { file, recording } = this.#options;
    return {
      recording,
      settled: this.#settledTo,
      end: Math.min(this.writtenTo, this.#backlog.end),
      readableFrom: file.end > 0 ? Math.min(file.start, this.#backlog.start) : this.#backlog.start,
      read: (position, maxBytes) => this.read(position, maxBytes),
      keepFrom: (position) => {
        this.#keptFrom = position;
      },
    };
  }

  /** Bytes of audio in memory. */
  get heldBytes(): number {
    return this.#backlog.heldBytes;
  }

  get end(): number {
    return this.#backlog.end;
  }

  audio(bytes: Buffer): void {
    const position = this.#backlog.end;
    this.#backlog.append(bytes);
    this.#writer.audio(this.#number, position, bytes, this);
    this.#bound();
  }

  /** Adds silence that we make ourselves. It is stored as a number in memory and in the journal, for any length. */
  silence(bytes: number, paused: boolean): void {
    const position = this.#backlog.end;
    this.#backlog.appendSilence(bytes, this.#options.silence);
    this.#writer.silence(this.#number, position, bytes, paused, this);
    this.#bound();
  }

  written(position: number, bytes: Buffer): void {
    this.writtenTo = position + bytes.length;
    this.#options.onWritten(position, bytes);
  }

  silenceWritten(position: number, bytes: number): void {
    const end = position + bytes;
    this.writtenTo = end;
    // The silence is sent in frames that the socket can carry. Frames that it cannot take now are read back later.
    for (let at = position; at < end;) {
      const frame = silenceFrame(this.#options.silence, end - at);
      this.#options.onWritten(at, frame);
      at += frame.length;
    }
  }

  /** The ledger has settled everything before the position. Audio that is not recorded may be dropped. */
  settled(position: number): void {
    this.#settledTo = position;
    if (!this.#options.recording) this.#trim();
  }

  /** Reads from memory at once or from the file in a moment. Returns silence where no audio is left. */
  read(position: number, maxBytes: number): Buffer | Promise<Buffer> {
    if (position >= this.#backlog.start) return this.#backlog.read(position, maxBytes);
    const { file } = this.#options;
    if (file.holds(position)) return this.#readFile(position, maxBytes);
    const next = Math.min(file.nextFrom(position), this.#backlog.start);
    return silenceFrame(this.#options.silence, Math.min(maxBytes, next - position));
  }

  /** The position before which the shared segments are no longer needed. */
  safeTo(): number {
    const kept = Math.max(this.#spilledTo, this.#backlog.start);
    return this.#options.recording ? kept : Math.max(this.#settledTo, kept);
  }

  /** Writes into the file all audio that is only in memory, so that a shared segment can be removed. */
  async spillAll(): Promise<void> {
    while (this.#backlog.end > this.#spillFrom()) {
      const before = this.#spilledTo;
      await this.#spill();
      if (this.#spilledTo === before) return; // the disk refuses; the journal's timer tries again
    }
  }

  async spillRecording(): Promise<void> {
    if (this.#options.recording) await this.spillAll();
  }

  /** The position from which the file is needed, for the snapshot. */
  get spilled(): number {
    return this.#spilledTo;
  }

  /** The journal could not be written for a while. Audio that is still in memory is written to it again. */
  rejournal(): void {
    const [writer, number] = [this.#writer, this.#number];
    let position = Math.max(this.#backlog.start, this.#settledTo);
    this.#backlog.visit(position, {
      audio(view) {
        writer.audio(number, position, view, nobody);
        position += view.length;
      },
      silence(bytes) {
        // The leg's snapshot says whether this was a pause. It is journalled before this.
        writer.silence(number, position, bytes, false, nobody);
        position += bytes;
      },
    });
  }

  /**
   * The snapshot on disk says that everything before the position is settled, so the file may drop it now. If it did
   * so earlier, the process after a crash would look for that audio and declare a gap.
   */
  tidy(settledOnDisk: number): void {
    const { file } = this.#options;
    const past = Math.min(settledOnDisk, this.#keptFrom);
    if (file.end > 0 && file.start < past) file.forgetTo(past).catch(() => undefined); // the next `tidy` tries again
  }

  /** The leg is over, and the journal says so. Only a recording stays. */
  async closeFile(): Promise<void> {
    if (this.#options.recording) await this.#options.file.release();
    else await this.#options.file.remove();
  }

  /** The process stops. The next one continues with the file. */
  async releaseFile(): Promise<void> {
    this.closed = true;
    await this.#spilling;
    await this.#options.file.release();
  }

  async eraseFile(): Promise<void> {
    await this.#spilling; // a spill in progress would create the file again
    await this.#options.file.remove();
  }

  async #readFile(position: number, maxBytes: number): Promise<Buffer> {
    try {
      const kept = await this.#options.file.read(position, maxBytes);
      const next = position + kept.length;
      const room = maxBytes - kept.length;
      // After a lost connection, the first message must hold all audio that is in doubt, wherever it is. While the
      // file was being read, more audio may have moved there.
      if (room === 0 || next >= this.#backlog.end) return kept;
      if (next >= this.#backlog.start) return Buffer.concat([kept, this.#backlog.read(next, room)]);
      if (!this.#options.file.holds(next)) return kept;
      return Buffer.concat([kept, await this.#readFile(next, room)]);
    } catch (error) {
      if (!(error instanceof DamagedChunk)) throw error;
      this.#options.onLost(position, error.end, 'damaged');
      return silenceFrame(this.#options.silence, Math.min(maxBytes, error.end - position));
    }
  }

  #spillFrom(): number {
    const unspilled = Math.max(this.#spilledTo, this.#backlog.start);
    return this.#options.recording ? unspilled : Math.max(unspilled, this.#settledTo);
  }

  #bound(): void {
    const limit = this.#limit();
    if (this.#backlog.heldBytes <= limit) return;
    const { clock, bytesPerSecond } = this.#options;
    // `#spill` never rejects. Audio that the disk refuses is written again after a moment.
    if (!this.#spilling && clock.monotonicMs() >= this.#retryAfterMs) void this.#spill();
    const most = Math.max(limit * 2, maxSecondsHeldWithoutDisk * bytesPerSecond);
    if (this.#backlog.heldBytes > most && this.#retryAfterMs > 0) this.#dropOldest(most);
  }

  #spill(): Promise<void> {
    this.#spilling ??= this.#spillDown().finally(() => {
      this.#spilling = undefined;
    });
    return this.#spilling;
  }

  async #spillDown(): Promise<void> {
    const limit = this.#limit();
    do {
      const before = this.#spilledTo;
      await this.#spillOnce();
      if (this.#spilledTo === before) return;
    } while (this.#backlog.heldBytes > limit);
  }

  #limit(): number {
    return this.#options.recording ? maxRecordedBytesHeld : maxWaitingBytesHeld;
  }

  async #spillOnce(): Promise<void> {
    if (this.closed) return;
    const { file, clock, log } = this.#options;
    const from = this.#spillFrom();
    const bytes = Math.min(maxChunkBytes, this.#backlog.end - from);
    if (bytes <= 0) return;
    try {
      await this.#backlog.lend(from, bytes, (views) => file.append(from, views));
      this.#spilledTo = from + bytes;
      this.#retryAfterMs = 0;
      this.#trim();
    } catch (error) {
      if (this.#retryAfterMs === 0)
        log.error({ reason: reasonOf(error) }, 'audio cannot be put into its file');
      this.#retryAfterMs = clock.monotonicMs() + retryMs;
    }
  }

  #trim(): void {
    const kept = this.#spilledTo;
    this.#backlog.dropTo(this.#options.recording ? kept : Math.max(this.#settledTo, kept));
  }

  #dropOldest(most: number): void {
    const start = this.#backlog.start;
    const end = this.#backlog.startOfNewest(Math.floor(most * 0.9));
    this.#backlog.dropTo(end);
    if (end > this.#settledTo)
      this.#options.onLost(Math.max(start, this.#settledTo), end, 'journal');
  }
}

const nobody: WriteListener = { written: () => undefined, silenceWritten: () => undefined };
