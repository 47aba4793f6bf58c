import { open, rm, type FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { isMissing } from '../../lib/is-missing.ts';

const fileMagic = 0x544c4c32;
const chunkMagic = 0xc41c0de5;
const fileHeaderBytes = 8;
const chunkHeaderBytes = 24;
/** A chunk is read back whole, to check it: this much of a leg's audio at most goes into one. */
export const maxChunkBytes = 262_144;

/** Leg ids are our own; even so a name cannot lead out of the folder. */
export function fileNameOf(legId: string): string {
  return `${legId.replace(/[^A-Za-z0-9_-]/g, '_')}.audio`;
}

/** The leg of a file in that folder; undefined where its name says none. */
export function legIdOf(fileName: string): string | undefined {
  return /^([A-Za-z0-9_-]+)\.audio$/.exec(fileName)?.[1];
}

type FileChunk = { position: number; bytes: number; offset: number; crc: number };

/**
 * Audio of one leg that outlived the shared segments: what waits for a service that is away, and the
 * recording. Chunks in order of position, each with its own checksum.
 *
 *   file   "TLL2" silence:u8 recording:u8 0 0 | chunk chunk ...
 *   chunk  magic:u32 crc(payload):u32 bytes:u32 crc(the rest of this header):u32 position:u64 | payload
 */
export class LegFile {
  readonly #path: string;
  readonly #silence: number;
  readonly #recording: boolean;
  #chunks: FileChunk[] = [];
  #size = 0;
  /** Kept open while the leg lives: a recorded leg appends every few seconds. */
  #handle: FileHandle | undefined;
  /** A leg that catches up reads a chunk in many small turns: it comes from the disk, and is checked, once. */
  #begun: { chunk: FileChunk; whole: Buffer } | undefined;
  #busy: Promise<unknown> = Promise.resolve();

  private constructor(path: string, silence: number, recording: boolean) {
    this.#path = path;
    this.#silence = silence;
    this.#recording = recording;
  }

  /** For a leg that begins now: touches the disk only when there is something to keep. */
  static fresh(path: string, silence: number, recording: boolean): LegFile {
    return new LegFile(path, silence, recording);
  }

  /** The file of an earlier run, up to the first damage. */
  static async load(path: string, silence: number, recording: boolean): Promise<LegFile> {
    const file = new LegFile(path, silence, recording);
    await file.#scan();
    return file;
  }

  /** What the file's own header says; undefined where there is none. */
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

  /** Leg position after the last byte in the file; 0 when it is empty. */
  get end(): number {
    const last = this.#chunks.at(-1);
    return last ? endOf(last) : 0;
  }

  get start(): number {
    return this.#chunks[0]?.position ?? 0;
  }

  /** Appends one run of bytes; the pieces must stay as they are until this resolves. */
  async append(position: number, pieces: readonly Buffer[]): Promise<void> {
    await this.#inTurn(async () => {
      const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
      if (bytes === 0) return;
      let crc = 0;
      for (const piece of pieces) crc = crc32(piece, crc);
      const first = this.#size === 0;
      this.#handle ??= await open(this.#path, first ? 'w' : 'r+', 0o600);
      const header = chunkHeader(position, bytes, crc);
      const parts = first ? [this.#fileHeader(), header, ...pieces] : [header, ...pieces];
      const length = parts.reduce((sum, part) => sum + part.length, 0);
      // Always at the end that we know to be whole: what a failed write left there is overwritten.
      const { bytesWritten } = await this.#handle.writev(parts, this.#size);
      if (bytesWritten !== length) throw new Error('short write');
      this.#size += length;
      this.#chunks.push({ position, bytes, offset: this.#size - bytes, crc });
    });
  }

  /** Lets go of the file; it stays as it is. */
  async release(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#handle?.close();
      this.#handle = undefined;
      this.#begun = undefined;
    });
  }

  /** Bytes from the position on, at most `maxBytes`, over all chunks that join; empty where the file has none. */
  async read(position: number, maxBytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (
      let chunk = this.#chunkAt(position);
      chunk && bytes < maxBytes;
      chunk = this.#chunkAt(position + bytes)
    ) {
      const whole = await this.#wholeOf(chunk);
      if (!whole && bytes > 0) break; // the damage is reported when it is asked for by its own position
      if (!whole) throw new DamagedChunk(chunk);
      const from = position + bytes - chunk.position;
      const part = whole.subarray(from, Math.min(chunk.bytes, from + maxBytes - bytes));
      this.#begun = from + part.length < chunk.bytes ? { chunk, whole } : undefined;
      parts.push(part);
      bytes += part.length;
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  }

  /** Undefined where it is damaged. */
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

  /** Leg position after the chunk that holds this one. */
  endOfRun(position: number): number {
    const chunk = this.#chunkAt(position);
    return chunk ? endOf(chunk) : position;
  }

  /** Where the file has bytes again at or after the position; Infinity where it has none. */
  nextFrom(position: number): number {
    for (const chunk of this.#chunks)
      if (endOf(chunk) > position) return Math.max(position, chunk.position);
    return Infinity;
  }

  /**
   * Nothing before the position is read again. A recording stays and only its index goes, up to the last
   * chunk, which knows where the file ends; anything else goes once all of it is past.
   */
  async forgetTo(position: number): Promise<void> {
    // In turn, because audio that is being appended meanwhile is not past.
    await this.#inTurn(async () => {
      const past = this.#chunks.findIndex((chunk) => endOf(chunk) > position);
      const gone = past < 0 ? this.#chunks.length : past;
      if (this.#begun && endOf(this.#begun.chunk) <= position) this.#begun = undefined;
      if (this.#recording) this.#chunks.splice(0, Math.min(gone, this.#chunks.length - 1));
      else if (gone > 0 && past < 0) await this.#clear();
    });
  }

  async remove(): Promise<void> {
    await this.#inTurn(async () => {
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

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#busy.then(work, work);
    this.#busy = turn.catch(() => undefined); // the caller gets the error; the next in turn goes on
    await turn;
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
    // Of what was opened: the file may leave the disk meanwhile.
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
