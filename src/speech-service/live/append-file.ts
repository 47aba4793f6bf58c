import { open, type FileHandle } from 'node:fs/promises';

/**
 * Bytes appended to one file and read back. What is appended while a write is under way goes out with
 * the next one, so a slow disk makes fewer, larger writes. Opened at the first byte: an idle session
 * holds no handle.
 */
export class AppendFile implements AsyncDisposable {
  readonly #path: string;
  #handle: Promise<FileHandle> | undefined;
  #waiting: { bytes: Buffer; done: () => void; failed: (error: unknown) => void }[] = [];
  #writing: Promise<void> | undefined;
  #size: number;
  #waitingBytes = 0;
  #closed: Promise<void> | undefined;

  constructor(path: string, size = 0) {
    this.#path = path;
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
    return new Promise((done, failed) => {
      this.#waiting.push({ bytes, done, failed });
      this.#waitingBytes += bytes.length;
      this.#writing ??= this.#write();
    });
  }

  /** Everything that was appended before this call is in the file. */
  flushed(): Promise<void> {
    return this.append(Buffer.alloc(0));
  }

  async read(from: number, to: number): Promise<Buffer> {
    const bytes = Buffer.alloc(Math.max(0, to - from));
    if (bytes.length === 0) return bytes;
    const handle = await this.#open();
    let at = 0;
    while (at < bytes.length) {
      const { bytesRead } = await handle.read(bytes, at, bytes.length - at, from + at);
      if (bytesRead === 0) break;
      at += bytesRead;
    }
    return bytes.subarray(0, at);
  }

  async #write(): Promise<void> {
    // Never ends before the caller has remembered that it runs.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      const length = batch.reduce((sum, item) => sum + item.bytes.length, 0);
      try {
        const bytes = batch.map((item) => item.bytes).filter((item) => item.length > 0);
        if (length > 0) {
          const handle = await this.#open();
          await writeAll(handle, bytes, this.#size);
          this.#size += length;
        }
        for (const item of batch) item.done();
      } catch (error) {
        for (const item of batch) item.failed(error);
      }
      this.#waitingBytes -= length;
    }
    this.#writing = undefined;
  }

  #open(): Promise<FileHandle> {
    // 'a+' creates; explicit positions would be ignored by it, so the mode is chosen by what is there.
    this.#handle ??= open(this.#path, 'r+', 0o600).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return open(this.#path, 'w+', 0o600);
      throw error;
    });
    return this.#handle;
  }

  close(): Promise<void> {
    this.#closed ??= (async () => {
      await this.#writing;
      const handle = await this.#handle;
      await handle?.close();
    })();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer[], position: number): Promise<void> {
  const [first] = bytes;
  const all = bytes.length === 1 && first ? first : Buffer.concat(bytes);
  let at = 0;
  while (at < all.length) {
    const { bytesWritten } = await handle.write(all, at, all.length - at, position + at);
    at += bytesWritten;
  }
}
