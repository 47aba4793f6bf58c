import { open } from 'node:fs/promises';
import type { DiskWriter } from './disk-writer.ts';

const nothing = Buffer.alloc(0);

/** Bytes appended to one file and read back. An idle session holds no descriptor. */
export class AppendFile {
  readonly path: string;
  readonly #writer: DiskWriter;
  #size: number;
  #waitingBytes = 0;
  #waiting = 0;
  #wasOpened = false;
  #closed: Promise<void> | undefined;

  constructor(writer: DiskWriter, path: string, size = 0) {
    this.#writer = writer;
    this.path = path;
    this.#size = size;
  }

  /** What is in the file; what still waits to be written is not counted. */
  get size(): number {
    return this.#size;
  }

  /** Handed over and not yet in the file: whoever produces bytes slows down while this is high. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Resolves once the bytes are in the file, in the order of the calls. */
  append(bytes: Buffer): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('the file is closed'));
    if (bytes.length === 0) return this.flushed();
    this.#wasOpened = true;
    this.#waiting++;
    this.#waitingBytes += bytes.length;
    return this.#writer.append(this, bytes).then(
      () => {
        this.#settled(bytes);
        this.#size += bytes.length;
      },
      (error: unknown) => {
        this.#settled(bytes);
        throw error;
      },
    );
  }

  /** Everything that was appended before this call is in the file, or its append has failed; in the same order. */
  flushed(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve();
    this.#waiting++;
    const settled = (): void => this.#settled(nothing);
    return this.#writer.append(this, nothing).then(settled, settled);
  }

  async read(from: number, to: number): Promise<Buffer> {
    const bytes = Buffer.alloc(Math.max(0, to - from));
    if (bytes.length === 0) return bytes;
    await using handle = await open(this.path, 'r');
    let at = 0;
    while (at < bytes.length) {
      const { bytesRead } = await handle.read(bytes, at, bytes.length - at, from + at);
      if (bytesRead === 0) break;
      at += bytesRead;
    }
    return bytes.subarray(0, at);
  }

  close(): Promise<void> {
    this.#closed ??= this.#wasOpened ? this.#writer.release(this) : Promise.resolve();
    return this.#closed;
  }

  #settled(bytes: Buffer): void {
    this.#waiting--;
    this.#waitingBytes -= bytes.length;
  }
}
