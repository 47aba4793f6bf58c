import { join } from 'node:path';
import { AppendFile, type DiskWriter } from './disk-writer.ts';

export type SessionPaths = { audio: string; log: string };

/** Ids are our own uuids; nothing that a client chose becomes part of a path. */
export function pathsOf(folder: string, id: string): SessionPaths {
  return { audio: join(folder, `${id}.audio`), log: join(folder, `${id}.log`) };
}

/** The audio of a session as it came: for the file route, for resuming, for a recogniser that starts again. */
export type SessionAudio = {
  readonly bytes: number;
  /** Accepted and not yet written. */
  readonly waitingBytes: number;
  /** Resolves, in order, once the bytes would survive the end of this process. */
  append(bytes: Buffer): Promise<void>;
  flushed(): Promise<void>;
  read(from: number, to: number): Promise<Buffer>;
  /** Nothing before this byte is asked for again, by recogniser or resume. */
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
      // The whole recording is kept for the file route.
    },
    close: () => file.close(),
  };
}

/** With zero data retention nothing touches the disk: only what may be asked for again stays in memory. */
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
