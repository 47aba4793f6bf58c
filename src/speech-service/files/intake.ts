import { open, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { deadline, type Clock } from '../../lib/clock.ts';
import { FileError } from './file-error.ts';

type IntakeOptions = {
  path: string;
  maxBytes: number;
  /** The longest wait for the next bytes. */
  stallMs: number;
  clock: Clock;
  signal: AbortSignal;
  /** Hears of each piece before it is written, and may throw. */
  take(piece: Buffer): void;
};

/**
 * Writes a stream to a new file, piece by piece, and says how many bytes it had. Nothing is kept in memory: the next
 * piece is asked for when the last one is written. The bytes are on the disk itself when this resolves. Whoever calls
 * deletes the file when this fails.
 */
export async function writeToDisk(source: Readable, options: IntakeOptions): Promise<number> {
  const { path, maxBytes } = options;
  // The stream may fail while a piece is being written, when nobody waits for the next one.
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
    // On the disk before there is a row: after a power cut the row would name bytes that are not there.
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
