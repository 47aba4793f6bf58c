/*
 * Writers of files on the data disk, and what each asks before:
 *
 *   calls: journal and recordings (bridge/journal)       acceptsNewCalls when they begin, nothing while they run
 *   live sessions: audio and log (speech-service/live)   the same
 *   uploads, fetched audio (speech-service/files)        reserve with the announced length, extend every 4 MiB
 *   copies out of the object store (stored-files.ts)     reserve with their length
 *   decoded audio of jobs (jobs/job-work.ts)             reserve with the decoded length, extend every half minute of it
 *   rows, their log, the reserve file (store)            nothing: the room under the mark is theirs
 *
 * Models lie in a folder of their own, outside the data folder.
 */

/** Thrown if the data disk has no room for work that can wait. */
export class NoRoomError extends Error {
  /** The free bytes above the low-water mark that the work needs. Before there are as many, another try is useless. */
  readonly neededBytes: number;

  constructor(message: string, neededBytes: number) {
    super(message);
    this.name = 'NoRoomError';
    this.neededBytes = neededBytes;
  }
}

/** Room on the data disk that is promised to one piece of work, until it is disposed of. */
export type DiskRoom = Disposable & {
  /**
   * Aborts with a `NoRoomError` when the disk falls below its low-water mark. The work then ends and deletes the bytes
   * it wrote.
   */
  readonly signal: AbortSignal;
  /** Lets the work write up to this many bytes in total. Throws a `NoRoomError` if they do not fit. */
  extend(reachBytes: number): void;
  /** Reports that the work has written this many bytes in total. It may not write more than it was promised. */
  wrote(totalBytes: number): void;
  /** Ends the work's writing. Promised bytes that were not used are free for other work. */
  settle(): void;
};

type Promised = { reachBytes: number; writtenBytes: number; abort: AbortController };

/**
 * Decides how much each may write to the data disk. Calls come first and ask for nothing while they run; everything else is
 * promised room that lies above the low-water mark.
 *
 *     free at the last measurement
 *     ├── mark ──┤── promised, not written ──┤── written since ──┤── what can still be promised ──┤
 */
export class DiskRooms {
  readonly #markBytes: number;
  readonly #promised = new Set<Promised>();
  #freeBytes = Number.POSITIVE_INFINITY;
  /** The bytes that were written in total, and how many of them the last measurement includes. */
  #writtenBytes = 0;
  #measuredBytes = 0;

  constructor(markBytes: number) {
    this.#markBytes = markBytes;
  }

  /** The bytes that can still be promised. Negative if the disk is below its mark. */
  get leftBytes(): number {
    let promisedBytes = 0;
    for (const { reachBytes, writtenBytes } of this.#promised)
      promisedBytes += reachBytes - writtenBytes;
    const sinceBytes = this.#writtenBytes - this.#measuredBytes;
    return this.#freeBytes - sinceBytes - promisedBytes - this.#markBytes;
  }

  /** Begins a measurement. The returned function takes the result, which counts everything written so far. */
  measuring(): (freeBytes: number) => void {
    const knownBytes = this.#writtenBytes;
    return (freeBytes) => {
      this.#freeBytes = freeBytes;
      // Measurements may overlap. Each says which written bytes it includes, and its result replaces the one before.
      this.#measuredBytes = knownBytes;
      if (freeBytes >= this.#markBytes) return;
      for (const { abort, reachBytes } of this.#promised)
        abort.abort(this.#noRoom(reachBytes, 'the data disk came under its mark'));
    };
  }

  /** Promises this many bytes to the caller. Throws a `NoRoomError` if they do not fit. */
  reserve(bytes: number): DiskRoom {
    const promised: Promised = { reachBytes: 0, writtenBytes: 0, abort: new AbortController() };
    const extend = (reachBytes: number): void => {
      const moreBytes = reachBytes - promised.reachBytes;
      if (moreBytes <= 0) return;
      if (this.leftBytes < moreBytes) throw this.#noRoom(reachBytes, 'the data disk has no room');
      promised.reachBytes = reachBytes;
    };
    // Work that announces no size also waits while the disk is below its mark.
    if (this.leftBytes < 0) throw this.#noRoom(bytes, 'the data disk has no room');
    extend(bytes);
    this.#promised.add(promised);
    return {
      signal: promised.abort.signal,
      extend,
      wrote: (totalBytes) => {
        if (!this.#promised.has(promised)) return;
        this.#writtenBytes += Math.max(0, totalBytes - promised.writtenBytes);
        promised.writtenBytes = Math.max(promised.writtenBytes, totalBytes);
        promised.reachBytes = Math.max(promised.reachBytes, promised.writtenBytes);
      },
      settle: () => {
        promised.reachBytes = promised.writtenBytes;
      },
      [Symbol.dispose]: () => {
        this.#promised.delete(promised);
      },
    };
  }

  #noRoom(neededBytes: number, why: string): NoRoomError {
    const free = mebibytes(Math.max(0, this.leftBytes));
    return new NoRoomError(
      `${why}: this work needs ${mebibytes(neededBytes)} MiB and ${free} MiB may be used; ${mebibytes(this.#markBytes)} MiB are kept for calls (TRUNKLINE_DISK_LOW_WATER_BYTES)`,
      neededBytes,
    );
  }
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 1_048_576);
}
