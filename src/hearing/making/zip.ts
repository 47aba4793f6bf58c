import { createWriteStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';

/** The table of contents of an archive with a thousand files is a hundredth of this size. */
const maxTableBytes = 16_777_216;

/**
 * An entry of a zip file. This reader supports what wheels and checkpoints use: stored and deflated entries, without
 * encryption or zip64.
 */
type ZipEntry = {
  name: string;
  bytes: number;
  compressedBytes: number;
  method: number;
  offset: number;
};

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const localSignature = 0x04034b50;
/** The length of the header before an entry's content, without the name that ends it. */
export const localBytes = 30;

/** Reads the table of contents from the end of the file. */
export async function zipEntries(file: FileHandle): Promise<ZipEntry[]> {
  const { size } = await file.stat();
  const tail = await readAt(file, Math.max(0, size - 65_557), Math.min(size, 65_557));
  let end = tail.length - 22;
  while (end >= 0 && tail.readUInt32LE(end) !== endSignature) end--;
  if (end < 0) throw new Error('not a zip file, or it is cut short');
  const count = tail.readUInt16LE(end + 10);
  const tableBytes = tail.readUInt32LE(end + 12);
  if (tableBytes > Math.min(size, maxTableBytes))
    throw new Error('the table of contents of the zip file is damaged');
  const table = await readAt(file, tail.readUInt32LE(end + 16), tableBytes);
  const entries: ZipEntry[] = [];
  for (let at = 0; entries.length < count;) {
    if (at + 46 > table.length || table.readUInt32LE(at) !== entrySignature)
      throw new Error('the table of contents of the zip file is damaged');
    const nameBytes = table.readUInt16LE(at + 28);
    entries.push({
      name: table.toString('utf8', at + 46, at + 46 + nameBytes),
      method: table.readUInt16LE(at + 10),
      compressedBytes: table.readUInt32LE(at + 20),
      bytes: table.readUInt32LE(at + 24),
      offset: table.readUInt32LE(at + 42),
    });
    at += 46 + nameBytes + table.readUInt16LE(at + 30) + table.readUInt16LE(at + 32);
  }
  return entries;
}

/** Computes the position of an entry's content, which follows its header, its name and an extra field. */
export function contentAt({ offset }: Pick<ZipEntry, 'offset'>, header: Buffer): number {
  return offset + localBytes + header.readUInt16LE(26) + header.readUInt16LE(28);
}

/**
 * Extracts one file from a zip file. The checksum can be checked only at the end, and a small archive may hold an
 * endless file, so at most `mostBytes` are written.
 */
export async function extractEntry(
  zipPath: string,
  wanted: string,
  to: string,
  {
    mostBytes,
    appends = false,
    onBytes,
  }: {
    mostBytes: number;
    /** True if the entry is a further piece of the file `to`. */
    appends?: boolean;
    onBytes?: (bytes: number) => void;
  },
): Promise<void> {
  await using file = await open(zipPath);
  const entry = (await zipEntries(file)).find(({ name }) => name === wanted);
  if (!entry) throw new Error(`the zip file holds no ${wanted}`);
  if (entry.method !== 0 && entry.method !== 8)
    throw new Error(`${wanted} is packed in a way this reader does not know`);
  const local = await readAt(file, entry.offset, localBytes);
  if (local.readUInt32LE(0) !== localSignature) throw new Error('the zip file is damaged');
  const start = contentAt(entry, local);
  const packed = file.createReadStream({
    start,
    end: start + entry.compressedBytes - 1,
    autoClose: false,
  });
  let written = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      written += chunk.length;
      if (written > mostBytes) {
        done(new Error(`${wanted} is longer in the archive than the file should be`));
        return;
      }
      onBytes?.(chunk.length);
      done(null, chunk);
    },
  });
  const out = createWriteStream(to, { flags: appends ? 'a' : 'w' });
  await (entry.method === 8
    ? pipeline(packed, createInflateRaw(), counted, out)
    : pipeline(packed, counted, out));
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw new Error('the zip file is cut short');
  return buffer;
}
