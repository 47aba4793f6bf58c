import { open, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { deadline, type Clock } from '../../lib/clock.ts';
import { FileError } from './file-error.ts';

type IntakeOptions = {
  path: string;
  maxBytes: number;
  /** The longest wait for further bytes. */
  stallMs: number;
  clock: Clock;
  signal: AbortSignal;
  /** Called with each chunk before it is written. May throw. */
  take(piece: Buffer): void;
};

/**
 * Writes a stream to a new file and resolves with its number of bytes. Each chunk is read only after the last one is
 * written, so memory stays bounded. When this resolves, the bytes are synced to the disk. If it fails, the caller
 * deletes the file.
 */
export async function writeToDisk(source: Readable, options: IntakeOptions): Promise<number> {
  const { path, maxBytes } = options;
  // The stream may fail while a chunk is being written. Without this listener that error would end the process.
  source.on('error', () => undefined);
  const pieces = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const file = await open(path, 'wx', 0o600);
  try {
    let bytes = 0;
    for (;;) {
      const piece = await nextOf(pieces, options);
      if (piece === undefined) break;
      bytes += piece.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      options.take(piece);
      await writeWhole(file, piece);
    }
    // The file is synced before it gets a row. Otherwise a row could survive a power cut while its bytes do not.
    await file.sync();
    return bytes;
  } finally {
    source.destroy();
    await file.close();
  }
}

export function tooLarge(maxBytes: number): FileError {
  return new FileError(
    413,
    `payload too large: a file may have ${maxBytes} bytes (TRUNKLINE_JOBS_MAX_BYTES)`,
  );
}

async function nextOf(
  pieces: AsyncIterator<Buffer>,
  { stallMs, clock, signal }: IntakeOptions,
): Promise<Buffer | undefined> {
  const next = pieces.next();
  using late = deadline(clock, stallMs, signal);
  const { promise: given, reject: giveUp } = Promise.withResolvers<never>();
  const end = (): void => {
    giveUp(signal.aborted ? reasonToStop(signal) : stalled(stallMs));
  };
  if (late.signal.aborted) end();
  else late.signal.addEventListener('abort', end, { once: true });
  next.catch(() => undefined);
  const result = await Promise.race([next, given]);
  return result.done === true ? undefined : result.value;
}

export function stalled(stallMs: number): FileError {
  return new FileError(408, `no byte came for ${Math.round(stallMs / 1_000)} s`);
}

function reasonToStop(signal: AbortSignal): Error {
  return signal.reason instanceof FileError
    ? signal.reason
    : new FileError(400, 'the file was given up before its end', { cause: signal.reason });
}

async function writeWhole(file: FileHandle, piece: Buffer): Promise<void> {
  for (let at = 0; at < piece.length;) {
    const { bytesWritten } = await file.write(piece, at, piece.length - at);
    at += bytesWritten;
  }
}
