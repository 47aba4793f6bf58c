import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { Backlog, silenceFrame } from './leg-backlog.ts';
import { DamagedChunk, maxChunkBytes, type LegFile } from './leg-file.ts';
import type { JournalWriter, WriteListener } from './writer.ts';

/** A recorded leg keeps this much in memory before it goes to the recording ... */
export const maxRecordedBytesHeld = 12_288;
/** ... and a leg whose service is away this much. */
export const maxWaitingBytesHeld = 65_536;
/** Only while the disk refuses the leg's file: then the oldest audio goes, and a gap says so. */
export const maxSecondsHeldWithoutDisk = 30;
const retryMs = 1_000;

type LegStoreOptions = {
  /** What the shared segments call the leg. */
  number: number;
  writer: JournalWriter;
  file: LegFile;
  /** Leg positions that a leg of an earlier run goes on from; 0 for a new one. */
  position: { settled: number; end: number };
  recording: boolean;
  silence: number;
  bytesPerSecond: number;
  clock: Clock;
  log: Logger;
  /** Journalled: may go to the speech service now. */
  onWritten(position: number, bytes: Buffer): void;
  /** No copy of these bytes is left. */
  onLost(start: number, end: number, cause: 'journal' | 'damaged'): void;
};

/** What a running leg has, for whoever copies it elsewhere while it comes. */
export type LegTail = {
  recording: boolean;
  settled: number;
  /** Up to here it is written down. */
  end: number;
  /** Before this a recording is read from its file alone. */
  readableFrom: number;
  read(position: number, maxBytes: number): Buffer | Promise<Buffer>;
  /** Of a recording: from here on it is to stay readable here. */
  keepFrom(position: number): void;
};

/**
 * The audio of one leg from the moment it arrives until it is acknowledged (or for good, as the recording):
 * first in the shared journal and in memory; audio that is not acknowledged soon, and audio that is recorded, in
 * the leg's own file. Always readable by position.
 */
export class LegStore implements WriteListener {
  /** The journal has let go of the leg. */
  closed = false;
  /** Leg position up to which everything is journalled: only that may go to the speech service. */
  writtenTo: number;
  readonly #options: LegStoreOptions;
  readonly #writer: JournalWriter;
  readonly #number: number;
  readonly #backlog: Backlog;
  /** Leg position up to which every byte is acknowledged, a gap or filler. */
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

  /** Audio that is in memory. */
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

  /** Silence that we put in. It stays a number in memory and in the journal, however long it is. */
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
    // In frames that the wire can carry; what the wire does not take now is read back when its turn comes.
    for (let at = position; at < end;) {
      const frame = silenceFrame(this.#options.silence, end - at);
      this.#options.onWritten(at, frame);
      at += frame.length;
    }
  }

  /** The ledger has settled everything before the position: audio that is not recorded may be forgotten. */
  settled(position: number): void {
    this.#settledTo = position;
    if (!this.#options.recording) this.#trim();
  }

  /** From memory at once, from the file in a moment, silence where nothing is left. */
  read(position: number, maxBytes: number): Buffer | Promise<Buffer> {
    if (position >= this.#backlog.start) return this.#backlog.read(position, maxBytes);
    const { file } = this.#options;
    if (file.holds(position)) return this.#readFile(position, maxBytes);
    const next = Math.min(file.nextFrom(position), this.#backlog.start);
    return silenceFrame(this.#options.silence, Math.min(maxBytes, next - position));
  }

  /** The shared segments are no longer needed for anything before this position. */
  safeTo(): number {
    const kept = Math.max(this.#spilledTo, this.#backlog.start);
    return this.#options.recording ? kept : Math.max(this.#settledTo, kept);
  }

  /** Puts into the file whatever memory alone holds, so that a shared segment can go. */
  async spillAll(): Promise<void> {
    while (this.#backlog.end > this.#spillFrom()) {
      const before = this.#spilledTo;
      await this.#spill();
      if (this.#spilledTo === before) return; // the disk refuses; asked again by the journal's clock
    }
  }

  async spillRecording(): Promise<void> {
    if (this.#options.recording) await this.spillAll();
  }

  /** Where the file begins to be all that is needed: for the snapshot. */
  get spilled(): number {
    return this.#spilledTo;
  }

  /** After the journal could not be written for a while: audio that memory still holds goes into it again. */
  rejournal(): void {
    const [writer, number] = [this.#writer, this.#number];
    let position = Math.max(this.#backlog.start, this.#settledTo);
    this.#backlog.visit(position, {
      audio(view) {
        writer.audio(number, position, view, nobody);
        position += view.length;
      },
      silence(bytes) {
        // Whether it was a pause is in the leg's snapshot, which goes into the journal before this.
        writer.silence(number, position, bytes, false, nobody);
        position += bytes;
      },
    });
  }

  /**
   * The snapshot on disk says that everything before the position is settled: only now may the file lose that.
   * Earlier, a killed process would look for it and declare a gap.
   */
  tidy(settledOnDisk: number): void {
    const { file } = this.#options;
    const past = Math.min(settledOnDisk, this.#keptFrom);
    if (file.end > 0 && file.start < past) file.forgetTo(past).catch(() => undefined); // tried again by the next tidy
  }

  /** The leg is over and the journal says so: only a recording stays. */
  async closeFile(): Promise<void> {
    if (this.#options.recording) await this.#options.file.release();
    else await this.#options.file.remove();
  }

  /** The process stops; the next one goes on with the file. */
  async releaseFile(): Promise<void> {
    this.closed = true;
    await this.#spilling;
    await this.#options.file.release();
  }

  async eraseFile(): Promise<void> {
    await this.#spilling; // a spill that is under way would make the file anew
    await this.#options.file.remove();
  }

  async #readFile(position: number, maxBytes: number): Promise<Buffer> {
    try {
      const kept = await this.#options.file.read(position, maxBytes);
      const next = position + kept.length;
      const room = maxBytes - kept.length;
      // The first message after a drop must hold all that is in doubt, wherever it lies; while the file was
      // read, more of it may have moved there.
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
    // `#spill` never rejects: what the disk refuses is tried again after a moment.
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
