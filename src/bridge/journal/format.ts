import { crc32 } from 'node:zlib';

/**
 * A segment is a header and batches. A batch holds what all legs received in one turn of the event loop; it is
 * written with one call and has one checksum. A torn or damaged batch is skipped as a whole.
 *
 *   segment "TLJ1" run:u32 | batch batch batch ...
 *   batch    magic:u32 bodyBytes:u32 crc(body):u32 crc(the 12 bytes before):u32 | record record ...
 *   record   leg:u32 kind:u8 bytes:u24 position:u48 | payload
 *            The payload is audio, a silence note (bytes:u32 paused:u8), or a leg's snapshot as JSON.
 */
const segmentMagic = 0x544c4a31;
export const segmentHeaderBytes = 8;
export const batchHeaderBytes = 16;
export const recordHeaderBytes = 14;
const batchMagic = 0xb47c0de5;

export const recordKinds = { audio: 1, silence: 2, leg: 3 } as const;
export type RecordKind = (typeof recordKinds)[keyof typeof recordKinds];

/** Payload of a silence record: bytes:u32 paused:u8. */
export const silenceNoteBytes = 5;

export type JournalRecord = { leg: number; kind: RecordKind; position: number; payload: Buffer };

export function writeSegmentHeader(into: Buffer, run: number): void {
  into.writeUInt32LE(segmentMagic, 0);
  into.writeUInt32LE(run, 4);
}

export function readSegmentHeader(bytes: Buffer): { run: number } | undefined {
  if (bytes.length < segmentHeaderBytes || bytes.readUInt32LE(0) !== segmentMagic) return undefined;
  return { run: bytes.readUInt32LE(4) };
}

/**
 * The bytes are written by hand because this runs once per frame, and Buffer's checked writes cost several times as
 * much.
 */
export function writeRecordHeader(
  into: Buffer,
  at: number,
  leg: number,
  kind: RecordKind,
  bytes: number,
  position: number,
): void {
  into[at] = leg;
  into[at + 1] = leg >>> 8;
  into[at + 2] = leg >>> 16;
  into[at + 3] = leg >>> 24;
  into[at + 4] = kind;
  into[at + 5] = bytes;
  into[at + 6] = bytes >>> 8;
  into[at + 7] = bytes >>> 16;
  const high = Math.floor(position / 0x1_0000_0000);
  into[at + 8] = position;
  into[at + 9] = position >>> 8;
  into[at + 10] = position >>> 16;
  into[at + 11] = position >>> 24;
  into[at + 12] = high;
  into[at + 13] = high >>> 8;
}

export function writeSilenceNote(into: Buffer, bytes: number, paused: boolean): void {
  into.writeUInt32LE(bytes, 0);
  into[4] = paused ? 1 : 0;
}

export function readSilenceNote(payload: Buffer): { bytes: number; paused: boolean } {
  return { bytes: payload.readUInt32LE(0), paused: payload[4] === 1 };
}

/** Writes the header of a batch whose body begins at `batchHeaderBytes`. */
export function sealBatch(batch: Buffer, end: number): void {
  batch.writeUInt32LE(batchMagic, 0);
  batch.writeUInt32LE(end - batchHeaderBytes, 4);
  batch.writeUInt32LE(crc32(batch.subarray(batchHeaderBytes, end)), 8);
  batch.writeUInt32LE(crc32(batch.subarray(0, 12)), 12);
}

type ScanResult = { records: number; damagedBytes: number };

/**
 * Reads every undamaged batch of a segment. After damage it looks for the next batch with a sound header, so that one
 * bad sector costs one batch and not the rest of the file.
 */
export function scanSegment(bytes: Buffer, visit: (record: JournalRecord) => void): ScanResult {
  let at = segmentHeaderBytes;
  let records = 0;
  let damagedBytes = 0;
  while (at + batchHeaderBytes <= bytes.length) {
    const end = batchEnd(bytes, at);
    if (end === undefined) {
      const next = nextBatch(bytes, at + 1);
      damagedBytes += next - at;
      at = next;
      continue;
    }
    records += visitBatch(bytes, at + batchHeaderBytes, end, visit);
    at = end;
  }
  return { records, damagedBytes: damagedBytes + (bytes.length - at) };
}

function headerSound(bytes: Buffer, at: number): boolean {
  return (
    bytes.readUInt32LE(at) === batchMagic &&
    bytes.readUInt32LE(at + 12) === crc32(bytes.subarray(at, at + 12))
  );
}

function batchEnd(bytes: Buffer, at: number): number | undefined {
  if (!headerSound(bytes, at)) return undefined;
  const end = at + batchHeaderBytes + bytes.readUInt32LE(at + 4);
  if (end > bytes.length) return undefined;
  const body = bytes.subarray(at + batchHeaderBytes, end);
  return bytes.readUInt32LE(at + 8) === crc32(body) ? end : undefined;
}

const magicBytes = Buffer.alloc(4);
magicBytes.writeUInt32LE(batchMagic);

function nextBatch(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(magicBytes, from); at >= 0; at = bytes.indexOf(magicBytes, at + 1)) {
    if (at + batchHeaderBytes <= bytes.length && headerSound(bytes, at)) return at;
  }
  return bytes.length;
}

function visitBatch(
  bytes: Buffer,
  from: number,
  end: number,
  visit: (record: JournalRecord) => void,
): number {
  let count = 0;
  for (let at = from; at + recordHeaderBytes <= end; count++) {
    const payloadBytes = bytes.readUIntLE(at + 5, 3);
    const payloadAt = at + recordHeaderBytes;
    visit({
      leg: bytes.readUInt32LE(at),
      kind: bytes.readUInt8(at + 4) as RecordKind,
      position: bytes.readUIntLE(at + 8, 6),
      payload: bytes.subarray(payloadAt, payloadAt + payloadBytes),
    });
    at = payloadAt + payloadBytes;
  }
  return count;
}
