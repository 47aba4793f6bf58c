import type { ByteSource } from './byte-source.ts';
import { MediaError } from './media-error.ts';
import { isReadable, type PcmFormat } from './pcm.ts';

/** The layout of a file's samples and their number of bytes; undefined means up to the end. */
export type PcmHeader = { format: PcmFormat; dataBytes: number | undefined };

/** `foreign` means a coding that is not read here. ffmpeg may know it. */
export type FoundHeader = PcmHeader | 'foreign';

const maxChunks = 1_000;
const maxFormatBytes = 65_536;
/** The length that writers state if they do not know it or cannot go back to write it. */
const unknownLength = 0xffff_ffff;
const tags = { pcm: 1, float: 3, alaw: 6, mulaw: 7, extensible: 0xfffe } as const;

/**
 * Reads up to the first sample. If the data chunk claims more bytes than the file has, the file was cut off, and its
 * existing bytes count.
 */
export async function readWavHeader(source: ByteSource): Promise<FoundHeader> {
  const riff = await source.read(12);
  const isLong = riff.toString('latin1', 0, 4) === 'RF64';
  let longDataBytes: number | undefined;
  let format: PcmFormat | undefined;
  for (let chunk = 0; chunk < maxChunks; chunk++) {
    const head = Buffer.from(await source.read(8));
    if (head.length < 8) break;
    const id = head.toString('latin1', 0, 4);
    const size = head.readUInt32LE(4);
    if (id === 'data') {
      if (!format) throw new MediaError(422, 'the WAV file has samples before their format');
      if (!isReadable(format)) return 'foreign';
      return { format, dataBytes: dataBytesOf(size, longDataBytes, source.remaining) };
    }
    if (id === 'fmt ') {
      if (size > maxFormatBytes) throw new MediaError(422, 'the format of the WAV file is broken');
      format = formatOf(await source.read(size));
      await source.skip(size % 2);
      continue;
    }
    if (id === 'ds64' && isLong && size >= 16 && size <= maxFormatBytes) {
      longDataBytes = Number((await source.read(size)).readBigUInt64LE(8));
      await source.skip(size % 2);
      continue;
    }
    await source.skip(size + (size % 2));
  }
  throw new MediaError(422, 'the WAV file ends before its samples begin');
}

/** True for a header of a stream that was never completed: its size is 0 although bytes follow. */
function dataBytesOf(
  said: number,
  saidLong: number | undefined,
  remaining: number | undefined,
): number | undefined {
  if (remaining === undefined) return said === 0 || said === unknownLength ? undefined : said;
  if (said === unknownLength) return Math.min(saidLong ?? remaining, remaining);
  return said === 0 ? remaining : Math.min(said, remaining);
}

function formatOf(chunk: Buffer): PcmFormat {
  if (chunk.length < 16) throw new MediaError(422, 'the format of the WAV file is cut short');
  const plain = chunk.readUInt16LE(0);
  // The extensible form has its real tag in the first two bytes of a GUID.
  const tag = plain === tags.extensible && chunk.length >= 26 ? chunk.readUInt16LE(24) : plain;
  const channels = chunk.readUInt16LE(2);
  const blockBytes = chunk.readUInt16LE(12);
  const bits = chunk.readUInt16LE(14);
  // A 20-bit sample takes 3 or 4 bytes. The size of a frame tells which, if it is consistent.
  const fromBlock = channels > 0 && blockBytes % channels === 0 ? blockBytes / channels : 0;
  const fromBits = Math.ceil(bits / 8);
  const bytesPerSample =
    fromBlock >= fromBits && fromBlock <= 8 && fromBlock > 0 ? fromBlock : fromBits;
  return {
    coding: codingOf(tag, bytesPerSample),
    bytesPerSample,
    isBigEndian: false,
    channels,
    rateHz: chunk.readUInt32LE(4),
  };
}

/** The coding of samples. Files with the coding `foreign` go to ffmpeg. */
function codingOf(tag: number, bytesPerSample: number): PcmFormat['coding'] {
  switch (tag) {
    case tags.pcm:
      return bytesPerSample === 1 ? 'unsigned' : 'signed';
    case tags.float:
      return 'float';
    case tags.alaw:
      return 'alaw';
    case tags.mulaw:
      return 'mulaw';
    default:
      return 'foreign';
  }
}
