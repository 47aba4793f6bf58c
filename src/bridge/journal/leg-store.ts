import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { Backlog, silenceFrame } from './leg-backlog.ts';
import { DamagedChunk, maxChunkBytes, type LegFile } from './leg-file.ts';
import type { JournalWriter, WriteListener } from './writer.ts';

/** A recorded leg keeps this much in memory before it writes to the recording. */
export const maxRecordedBytesHeld = 12_288;
/** A leg whose service is unreachable keeps at most this much in memory. */
export const maxWaitingBytesHeld = 65_536;
/**
 * Limit of audio in memory while the disk rejects writes to the leg's file. Above it the oldest audio is dropped, and a
 * gap is declared.
 */
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
  /** Called when the audio is journalled. It may now be sent to the speech service. */
  onWritten(position: number, bytes: Buffer): void;
  /** Called when no copy of these bytes is left. */
  onLost(start: number, end: number, cause: 'journal' | 'damaged'): void;
};

/** The audio of a running leg, as the copy to the object store sees it. The copy is made while the leg goes on. */
export type LegTail = {
  recording: boolean;
  settled: number;
  /** The position up to which the audio is on disk. */
  end: number;
  /** Audio of a recording before this position can be read only from its file. */
  readableFrom: number;
  read(position: number, maxBytes: number): Buffer | Promise<Buffer>;
  /** For a recording: keeps audio from this position on readable here. */
  keepFrom(position: number): void;
};

/**
 * The audio of one leg until it is acknowledged, or for good if it is recorded. It begins in the shared journal and in
 * memory. Audio that is not acknowledged soon, and recorded audio, moves to the leg's own file. All of it can be read
 * by position.
 */
export class LegStore implements WriteListener {
  /** True once the journal has released the leg. */
  closed = false;
  /** The leg position up to which everything is journalled. Audio beyond it must not be sent to the speech service. */
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

  /** Adds silence that we make ourselves. It is stored as a length in memory and in the journal, however long it is. */
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
    // The silence is sent in frames that the socket can carry. Frames that the socket cannot take now are read again
    // later.
    for (let at = position; at < end;) {
      const frame = silenceFrame(this.#options.silence, end - at);
      this.#options.onWritten(at, frame);
      at += frame.length;
    }
  }

  /** Called when the ledger has settled everything before the position. Audio that is not recorded may be dropped. */
  settled(position: number): void {
    this.#settledTo = position;
    if (!this.#options.recording) this.#trim();
  }

  /**
   * Reads audio: at once from memory, or asynchronously from the file. Returns silence for audio that no longer exists.
   */
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

  /** Writes all audio that is only in memory into the file, so that a shared segment can be removed. */
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

  /** The position from which the leg's file is needed. It is stored in the snapshot. */
  get spilled(): number {
    return this.#spilledTo;
  }

  /** Writes audio that is still in memory to the journal again, after the journal could not be written for a while. */
  rejournal(): void {
    const [writer, number] = [this.#writer, this.#number];
    let position = Math.max(this.#backlog.start, this.#settledTo);
    this.#backlog.visit(position, {
      audio(view) {
        writer.audio(number, position, view, nobody);
        position += view.length;
      },
      silence(bytes) {
        // The note need not say whether this was a pause: the leg's snapshot says so, and it is journalled earlier.
        writer.silence(number, position, bytes, false, nobody);
        position += bytes;
      },
    });
  }

  /**
   * Drops audio from the file that the snapshot on disk counts as settled. If the file dropped it earlier, the process
   * after a crash would look for that audio and declare a gap.
   */
  tidy(settledOnDisk: number): void {
    const { file } = this.#options;
    const past = Math.min(settledOnDisk, this.#keptFrom);
    if (file.end > 0 && file.start < past) file.forgetTo(past).catch(() => undefined); // the next `tidy` tries again
  }

  /** Closes the file of a leg that the journal marks as finished. Only a recording stays. */
  async closeFile(): Promise<void> {
    if (this.#options.recording) await this.#options.file.release();
    else await this.#options.file.remove();
  }

  /** Releases the file because the process stops. The next process continues with it. */
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
      // After a lost connection, the first message must hold all audio that the service may not have, whether in memory
      // or in the file. While the file was being read, more audio may have moved into it.
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
    // `#spill` never rejects. If the disk rejects the audio, it is tried again after a moment.
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
        log.error({ reason: reasonOf(error) }, 'audio of a leg could not be written to its file');
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
