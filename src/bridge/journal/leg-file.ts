import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { isMissing } from '../../lib/is-missing.ts';

const fileMagic = 0x544c4c32;
const chunkMagic = 0xc41c0de5;
const fileHeaderBytes = 8;
const chunkHeaderBytes = 24;
/** A chunk has at most this many bytes of a leg's audio, because it is read back as a whole to check it. */
export const maxChunkBytes = 262_144;

/** We generate leg ids ourselves. Still, a file name made from an id must not lead out of the folder. */
export function fileNameOf(legId: string): string {
  return `${legId.replace(/[^A-Za-z0-9_-]/g, '_')}.audio`;
}

/** The leg id in a file name of that folder. Undefined if the name is not one of ours. */
export function legIdOf(fileName: string): string | undefined {
  return /^([A-Za-z0-9_-]+)\.audio$/.exec(fileName)?.[1];
}

/**
 * The temporary file for a rewrite. Its name is not that of a leg's file, so remains of a killed process are never
 * read.
 */
export function rewrittenPath(path: string): string {
  return `${path}.rewritten`;
}

type FileChunk = { position: number; bytes: number; offset: number; crc: number };

/**
 * Audio of one leg that outlived the shared segments: audio that waits for an unreachable service, and the recording.
 * The chunks are in order of position, and each has its own checksum.
 *
 *   file   "TLL2" silence:u8 recording:u8 0 0 | chunk chunk ...
 *   chunk magic:u32 crc(payload):u32 bytes:u32 crc(the rest of this header):u32 position:u64 | payload
 */
export class LegFile {
  readonly #path: string;
  readonly #silence: number;
  readonly #recording: boolean;
  #chunks: FileChunk[] = [];
  #size = 0;
  /** The handle stays open while the leg lives, because a recorded leg appends every few seconds. */
  #handle: FileHandle | undefined;
  /**
   * The chunk being read. A leg that catches up reads a chunk in many small steps, but the chunk is loaded and checked
   * only once.
   */
  #begun: { chunk: FileChunk; whole: Buffer } | undefined;
  #busy: Promise<unknown> = Promise.resolve();

  private constructor(path: string, silence: number, recording: boolean) {
    this.#path = path;
    this.#silence = silence;
    this.#recording = recording;
  }

  /** Creates the file of a new leg. Nothing is written to disk until there is audio to keep. */
  static fresh(path: string, silence: number, recording: boolean): LegFile {
    return new LegFile(path, silence, recording);
  }

  /** Loads the file of an earlier run, up to the first damage. */
  static async load(path: string, silence: number, recording: boolean): Promise<LegFile> {
    const file = new LegFile(path, silence, recording);
    await file.#scan();
    return file;
  }

  /** Reads the file's own header. Returns undefined if there is none. */
  static async headerOf(
    path: string,
  ): Promise<{ silence: number; recording: boolean } | undefined> {
    const handle = await openIfThere(path);
    if (!handle) return undefined;
    await using _closing = handle;
    const header = Buffer.alloc(fileHeaderBytes);
    const { bytesRead } = await handle.read(header, 0, header.length, 0);
    if (bytesRead !== header.length || header.readUInt32LE(0) !== fileMagic) return undefined;
    return { silence: header.readUInt8(4), recording: header[5] === 1 };
  }

  /** The leg position after the last byte in the file; 0 if the file is empty. */
  get end(): number {
    const last = this.#chunks.at(-1);
    return last ? endOf(last) : 0;
  }

  get start(): number {
    return this.#chunks[0]?.position ?? 0;
  }

  /** Appends one run of bytes. The pieces must stay unchanged until this resolves. */
  async append(position: number, pieces: readonly Buffer[]): Promise<void> {
    await this.#inOrder(async () => {
      const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
      if (bytes === 0) return;
      let crc = 0;
      for (const piece of pieces) crc = crc32(piece, crc);
      const first = this.#size === 0;
      this.#handle ??= await open(this.#path, first ? 'w' : 'r+', 0o600);
      const header = chunkHeader(position, bytes, crc);
      const parts = first ? [this.#fileHeader(), header, ...pieces] : [header, ...pieces];
      const length = parts.reduce((sum, part) => sum + part.length, 0);
      // Writes start at the last position that is known to be good, so they overwrite the remains of a failed write.
      const { bytesWritten } = await this.#handle.writev(parts, this.#size);
      if (bytesWritten !== length) throw new Error('short write');
      this.#size += length;
      this.#chunks.push({ position, bytes, offset: this.#size - bytes, crc });
    });
  }

  /** Closes the file and leaves it unchanged. */
  async release(): Promise<void> {
    await this.#inOrder(async () => {
      await this.#handle?.close();
      this.#handle = undefined;
      this.#begun = undefined;
    });
  }

  /**
   * Reads at most `maxBytes` from the position, across adjoining chunks. Returns an empty buffer if the file has none.
   */
  async read(position: number, maxBytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (
      let chunk = this.#chunkAt(position);
      chunk && bytes < maxBytes;
      chunk = this.#chunkAt(position + bytes)
    ) {
      const whole = await this.#wholeOf(chunk);
      if (!whole && bytes > 0) break; // the damage is reported when its own position is read
      if (!whole) throw new DamagedChunk(chunk);
      const from = position + bytes - chunk.position;
      const part = whole.subarray(from, Math.min(chunk.bytes, from + maxBytes - bytes));
      this.#begun = from + part.length < chunk.bytes ? { chunk, whole } : undefined;
      parts.push(part);
      bytes += part.length;
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  }

  /** Undefined if the chunk is damaged. */
  async #wholeOf(chunk: FileChunk): Promise<Buffer | undefined> {
    if (this.#begun?.chunk === chunk) return this.#begun.whole;
    await using handle = await open(this.#path, 'r');
    const whole = Buffer.allocUnsafeSlow(chunk.bytes);
    const { bytesRead } = await handle.read(whole, 0, chunk.bytes, chunk.offset);
    return bytesRead === chunk.bytes && crc32(whole) === chunk.crc ? whole : undefined;
  }

  holds(position: number): boolean {
    return this.#chunkAt(position) !== undefined;
  }

  /** The leg position after the chunk that holds this position. */
  endOfRun(position: number): number {
    const chunk = this.#chunkAt(position);
    return chunk ? endOf(chunk) : position;
  }

  /** The first position in the file at or after the given one. Infinity if there is none. */
  nextFrom(position: number): number {
    for (const chunk of this.#chunks)
      if (endOf(chunk) > position) return Math.max(position, chunk.position);
    return Infinity;
  }

  /**
   * Forgets audio before the position, because nobody will read it again. A recording stays on disk and loses only its
   * index; the last chunk stays in the index because it gives the end of the file. Any other file is removed once all
   * its audio lies before the position.
   */
  async forgetTo(position: number): Promise<void> {
    // This runs after pending appends: audio that is being appended now is still needed.
    await this.#inOrder(async () => {
      const past = this.#chunks.findIndex((chunk) => endOf(chunk) > position);
      const gone = past < 0 ? this.#chunks.length : past;
      if (this.#begun && endOf(this.#begun.chunk) <= position) this.#begun = undefined;
      if (this.#recording) this.#chunks.splice(0, Math.min(gone, this.#chunks.length - 1));
      else if (gone > 0 && past < 0) await this.#clear();
    });
  }

  /**
   * Writes the file again with changed audio of the same length, and replaces the old file with it. A process that is
   * killed meanwhile leaves the old file. A damaged chunk stays damaged.
   */
  static async rewrite(
    path: string,
    change: (position: number, bytes: Buffer) => void,
  ): Promise<void> {
    const header = await LegFile.headerOf(path);
    if (header === undefined) return;
    const old = await LegFile.load(path, header.silence, header.recording);
    await using source = await open(path, 'r');
    await using target = await open(rewrittenPath(path), 'w', 0o600);
    await target.write(old.#fileHeader(), 0, fileHeaderBytes, 0);
    let size = fileHeaderBytes;
    for (const { position, bytes, offset, crc } of old.#chunks) {
      const whole = Buffer.allocUnsafeSlow(bytes);
      await source.read(whole, 0, bytes, offset);
      const isSound = crc32(whole) === crc;
      change(position, whole);
      // The checksum of damaged bytes must stay wrong, so that the damage is not hidden.
      const changed = isSound ? crc32(whole) : ~crc32(whole) >>> 0;
      const parts = [chunkHeader(position, bytes, changed), whole];
      const { bytesWritten } = await target.writev(parts, size);
      if (bytesWritten !== chunkHeaderBytes + bytes) throw new Error('short write');
      size += bytesWritten;
    }
    await target.sync();
    await rename(rewrittenPath(path), path);
  }

  async remove(): Promise<void> {
    await this.#inOrder(async () => {
      await this.#clear();
    });
  }

  async #clear(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
    this.#chunks = [];
    this.#begun = undefined;
    this.#size = 0;
    await rm(this.#path, { force: true });
  }

  #chunkAt(position: number): FileChunk | undefined {
    return this.#chunks.findLast((chunk) => position >= chunk.position && position < endOf(chunk));
  }

  async #inOrder(work: () => Promise<void>): Promise<void> {
    const done = this.#busy.then(work, work);
    this.#busy = done.catch(() => undefined); // the caller gets the error; the next in the queue continues
    await done;
  }

  #fileHeader(): Buffer {
    const header = Buffer.alloc(fileHeaderBytes);
    header.writeUInt32LE(fileMagic, 0);
    header[4] = this.#silence;
    header[5] = this.#recording ? 1 : 0;
    return header;
  }

  async #scan(): Promise<void> {
    const handle = await openIfThere(this.#path);
    if (!handle) return;
    await using _closing = handle;
    // The size is read from the open file, because the file may be removed from the disk meanwhile.
    const { size } = await handle.stat();
    const header = Buffer.alloc(chunkHeaderBytes);
    await handle.read(header, 0, fileHeaderBytes, 0);
    if (header.readUInt32LE(0) !== fileMagic) return;
    this.#size = fileHeaderBytes;
    while (this.#size + chunkHeaderBytes <= size) {
      await handle.read(header, 0, chunkHeaderBytes, this.#size);
      const chunk = readChunkHeader(header, this.#size + chunkHeaderBytes);
      if (!chunk || chunk.offset + chunk.bytes > size) return;
      this.#chunks.push(chunk);
      this.#size = chunk.offset + chunk.bytes;
    }
  }
}

export class DamagedChunk extends Error {
  readonly start: number;
  readonly end: number;

  constructor(chunk: { position: number; bytes: number }) {
    super('a piece of kept audio is damaged');
    this.start = chunk.position;
    this.end = chunk.position + chunk.bytes;
  }
}

function endOf(chunk: FileChunk): number {
  return chunk.position + chunk.bytes;
}

function chunkHeader(position: number, bytes: number, crc: number): Buffer {
  const header = Buffer.alloc(chunkHeaderBytes);
  header.writeUInt32LE(chunkMagic, 0);
  header.writeUInt32LE(crc, 4);
  header.writeUInt32LE(bytes, 8);
  header.writeBigUInt64LE(BigInt(position), 16);
  header.writeUInt32LE(headerCrc(header), 12);
  return header;
}

function headerCrc(header: Buffer): number {
  return crc32(header.subarray(16, 24), crc32(header.subarray(0, 12)));
}

function readChunkHeader(header: Buffer, offset: number): FileChunk | undefined {
  if (header.readUInt32LE(0) !== chunkMagic || header.readUInt32LE(12) !== headerCrc(header))
    return undefined;
  return {
    position: Number(header.readBigUInt64LE(16)),
    bytes: header.readUInt32LE(8),
    offset,
    crc: header.readUInt32LE(4),
  };
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
