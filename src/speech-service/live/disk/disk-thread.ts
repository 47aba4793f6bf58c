import { closeSync, openSync, writeSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { isMissing } from '../../../lib/is-missing.ts';

/** One batch for the disk thread: the bytes of all files in one buffer, in the order of the calls. */
export type DiskBatch = {
  /** Files that are new to the thread, with their current size. Bytes before that size are not changed. */
  opens: { file: number; path: string; size: number }[];
  /** Pairs of a file's number and a length. The lengths divide `bytes` in order. */
  pieces: Uint32Array;
  bytes: Uint8Array<ArrayBuffer>;
  /** Files to close after the chunks are written. */
  closes: number[];
};

/** The chunks that failed, by index. All others are in their files. */
export type DiskReply = { failed: { piece: number; code: string; message: string }[] };

/*
 * Appends for all sessions in a thread of its own. A slow disk then delays acknowledgements and nothing else, and a
 * frame costs the main thread neither a task of the thread pool nor a promise.
 */

type OpenFile = { path: string; size: number; descriptor: number | undefined };

const files = new Map<number, OpenFile>();

/**
 * Opens or creates a file. It is not opened in append mode, so that the next chunk overwrites one that failed half way.
 */
function open(path: string): number {
  try {
    return openSync(path, 'r+');
  } catch (error) {
    if (!isMissing(error)) throw error;
    return openSync(path, 'w+', 0o600);
  }
}

function append(file: OpenFile | undefined, bytes: Uint8Array): void {
  if (bytes.length === 0) return; // an empty chunk only asks when everything before it is written
  if (!file) throw new Error('the file was closed');
  file.descriptor ??= open(file.path);
  let at = 0;
  while (at < bytes.length)
    at += writeSync(file.descriptor, bytes, at, bytes.length - at, file.size + at);
  file.size += bytes.length;
}

function close(number: number): void {
  const descriptor = files.get(number)?.descriptor;
  files.delete(number);
  if (descriptor !== undefined) closeSync(descriptor);
}

parentPort?.on('message', ({ opens, pieces, bytes, closes }: DiskBatch) => {
  const failed: DiskReply['failed'] = [];
  for (const { file, path, size } of opens) files.set(file, { path, size, descriptor: undefined });
  let at = 0;
  for (let piece = 0; piece * 2 < pieces.length; piece++) {
    const length = pieces[piece * 2 + 1] ?? 0;
    try {
      append(files.get(pieces[piece * 2] ?? -1), bytes.subarray(at, at + length));
    } catch (error) {
      const { code = 'EIO', message } = error as NodeJS.ErrnoException;
      failed.push({ piece, code, message });
    }
    at += length;
  }
  for (const file of closes) close(file);
  parentPort?.postMessage({ failed } satisfies DiskReply);
});
