import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppendFile, type DiskWriter } from './disk-writer.ts';

export type SessionPaths = { audio: string; log: string };

/** The files of a session. Its id is our own UUID, so no path contains text of a client. */
export function pathsOf(folder: string, id: string): SessionPaths {
  return { audio: join(folder, `${id}.audio`), log: join(folder, `${id}.log`) };
}

/**
 * The audio of a session as it was received. It serves clients that resume, restarted recogniser streams, and the file
 * route.
 */
export type SessionAudio = {
  readonly bytes: number;
  /** The number of accepted bytes that are not yet written. */
  readonly waitingBytes: number;
  /** Resolves, in order, once the bytes survive the end of this process. */
  append(bytes: Buffer): Promise<void>;
  flushed(): Promise<void>;
  read(from: number, to: number): Promise<Buffer>;
  /** Releases the bytes between these positions. Neither the recogniser nor a resumed client needs them again. */
  release(from: number, before: number): void;
  /** Closes the files. The audio stays for a process that restores the session. */
  close(): Promise<void>;
  /** Closes the ended session's audio, and deletes it unless recordings are kept. */
  end(): Promise<void>;
};

/** Released audio is overwritten in steps of this size: four seconds of a telephone call. */
const eraseStepBytes = 32_768;

/**
 * Audio in a file. An acknowledged byte must survive a crash while a client could resume, so the file is written even
 * where no recording is kept. In that case audio that is not needed any more is overwritten with zeros during the
 * session, and the end deletes the file. The file keeps its length meanwhile, because a restart takes the count of
 * bytes from it.
 */
export function audioOnDisk(
  disk: DiskWriter,
  path: string,
  { size = 0, kept }: { size?: number; kept: boolean },
): SessionAudio {
  const file = new AppendFile(disk, path, size);
  const erasing = kept ? undefined : new Erasing(path);
  const close = async (): Promise<void> => {
    await erasing?.settled();
    await file.close();
  };
  return {
    get bytes() {
      return file.size;
    },
    get waitingBytes() {
      return file.waitingBytes;
    },
    append: (bytes) => file.append(bytes),
    flushed: () => file.flushed(),
    read: (from, to) => file.read(from, to),
    release: (from, before) => erasing?.release(from, Math.min(before, file.size)),
    close,
    async end() {
      await close();
      if (!kept) await rm(path, { force: true });
    },
  };
}

const zeros = new Uint8Array(eraseStepBytes);

/** Overwrites the released beginning of a file with zeros, one erasure at a time. */
class Erasing {
  readonly #path: string;
  #erased: number | undefined;
  #atWork: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  release(first: number, before: number): void {
    const from = this.#erased ?? first;
    if (this.#atWork || before - from < eraseStepBytes) return;
    this.#atWork = this.#erase(from, before)
      .then(() => {
        this.#erased = before;
      })
      // The next release tries the same range again. The end of the session deletes the file anyway.
      .catch(() => undefined)
      .finally(() => {
        this.#atWork = undefined;
      });
  }

  async settled(): Promise<void> {
    await this.#atWork;
  }

  async #erase(from: number, before: number): Promise<void> {
    await using file = await open(this.#path, 'r+');
    for (let at = from; at < before;) {
      const length = Math.min(zeros.length, before - at);
      at += (await file.write(zeros, 0, length, at)).bytesWritten;
    }
  }
}

/**
 * Audio in memory, for zero data retention: nothing touches the disk, and memory holds only what may be needed again.
 */
export function audioInMemory(): SessionAudio {
  let chunks: Buffer[] = [];
  let first = 0;
  let bytes = 0;
  const drop = (): Promise<void> => {
    chunks = [];
    return Promise.resolve();
  };
  return {
    get bytes() {
      return bytes;
    },
    waitingBytes: 0,
    append(chunk) {
      chunks.push(Buffer.from(chunk));
      bytes += chunk.length;
      return Promise.resolve();
    },
    flushed: () => Promise.resolve(),
    read(from, to) {
      let at = first;
      const parts: Buffer[] = [];
      for (const chunk of chunks) {
        const start = Math.max(from, at);
        const end = Math.min(to, at + chunk.length);
        if (start < end) parts.push(chunk.subarray(start - at, end - at));
        at += chunk.length;
      }
      return Promise.resolve(Buffer.concat(parts));
    },
    release(_from, before) {
      let gone = 0;
      while (gone < chunks.length && first + (chunks[gone]?.length ?? 0) <= before) {
        first += chunks[gone]?.length ?? 0;
        gone++;
      }
      if (gone > 0) chunks = chunks.slice(gone);
    },
    close: drop,
    end: drop,
  };
}
