import type { FileHandle } from 'node:fs/promises';

/** Bytes that are read in order from a file or from a program's output. */
export type ByteSource = {
  /** Returns up to that many bytes, fewer only at the end. They are valid until the next call. */
  read(bytes: number): Promise<Buffer>;
  skip(bytes: number): Promise<void>;
  /** The number of remaining bytes, if known. */
  readonly remaining: number | undefined;
};

export function fileSource(file: FileHandle, size: number): ByteSource {
  let at = 0;
  let buffer = Buffer.alloc(0);
  return {
    get remaining() {
      return size - at;
    },
    async read(bytes) {
      if (buffer.length < bytes) buffer = Buffer.allocUnsafe(bytes);
      let filled = 0;
      while (filled < bytes) {
        const { bytesRead } = await file.read(buffer, filled, bytes - filled, at + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      at += filled;
      return buffer.subarray(0, filled);
    },
    skip(bytes) {
      at = Math.min(size, at + bytes);
      return Promise.resolve();
    },
  };
}

/** A source over a stream. The stream is read only on demand, and its program waits meanwhile. */
export function streamSource(stream: AsyncIterable<Buffer>): ByteSource {
  const pieces = stream[Symbol.asyncIterator]();
  let held: Buffer[] = [];
  let heldBytes = 0;
  const read = async (bytes: number): Promise<Buffer> => {
    while (heldBytes < bytes) {
      const next = await pieces.next();
      if (next.done === true) break;
      held.push(next.value);
      heldBytes += next.value.length;
    }
    const [only] = held;
    const all = held.length === 1 && only ? only : Buffer.concat(held);
    const taken = all.subarray(0, bytes);
    held = [all.subarray(taken.length)];
    heldBytes = all.length - taken.length;
    return taken;
  };
  return {
    remaining: undefined,
    read,
    async skip(bytes) {
      let left = bytes;
      while (left > 0) {
        const { length } = await read(Math.min(left, 65_536));
        if (length === 0) return;
        left -= length;
      }
    },
  };
}
