import { join } from 'node:path';
import { AppendFile, type DiskWriter } from './disk-writer.ts';

export type SessionPaths = { audio: string; log: string };

/** The files of a session. Its id is our own uuid: nothing that a client chose is part of a path. */
export function pathsOf(folder: string, id: string): SessionPaths {
  return { audio: join(folder, `${id}.audio`), log: join(folder, `${id}.log`) };
}

/**
 * The audio of a session as it came. It serves clients that resume, recogniser streams that start again,
 * and the file route.
 */
export type SessionAudio = {
  readonly bytes: number;
  /** Bytes that were accepted and are not yet written. */
  readonly waitingBytes: number;
  /** Resolves, in order, once the bytes survive the end of this process. */
  append(bytes: Buffer): Promise<void>;
  flushed(): Promise<void>;
  read(from: number, to: number): Promise<Buffer>;
  /** No recogniser and no resumed client needs anything before this byte again. */
  release(before: number): void;
  close(): Promise<void>;
};

export function audioOnDisk(disk: DiskWriter, path: string, size = 0): SessionAudio {
  const file = new AppendFile(disk, path, size);
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
    release() {
      // The file route hands out the whole audio, so nothing is dropped.
    },
    close: () => file.close(),
  };
}

/** With zero data retention nothing touches the disk: memory holds only what may be needed again. */
export function audioInMemory(): SessionAudio {
  let chunks: Buffer[] = [];
  let first = 0;
  let bytes = 0;
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
    release(before) {
      let gone = 0;
      while (gone < chunks.length && first + (chunks[gone]?.length ?? 0) <= before) {
        first += chunks[gone]?.length ?? 0;
        gone++;
      }
      if (gone > 0) chunks = chunks.slice(gone);
    },
    close() {
      chunks = [];
      return Promise.resolve();
    },
  };
}
