import type { LiveRequest } from '../../../protocol/live-request.ts';
import { alawToLinear, mulawToLinear } from '../../../audio/g711.ts';

/** The format of a session's bytes. The POST fixes it and nothing changes it later. */
type AudioEncoding = 'wav/pcm' | 'wav/alaw' | 'wav/ulaw';

export type AudioFormat = {
  encoding: AudioEncoding;
  bitDepth: number;
  sampleRate: number;
  channels: number;
};

/** Takes the format of a session's bytes from its request. */
export function formatOf(
  request: Pick<LiveRequest, 'encoding' | 'bit_depth' | 'sample_rate' | 'channels'>,
): AudioFormat {
  return {
    encoding: request.encoding,
    bitDepth: request.bit_depth,
    sampleRate: request.sample_rate,
    channels: request.channels,
  };
}

/** The length of one frame: one sample of every channel. */
export function frameBytes(format: AudioFormat): number {
  return (format.channels * format.bitDepth) / 8;
}

export function bytesPerSecond(format: AudioFormat): number {
  return format.sampleRate * frameBytes(format);
}

type ReadSample = (bytes: Buffer, at: number) => number;

/** Reads one sample. Of 24 and 32 bits the upper 16 are kept. 8-bit PCM is unsigned, as in WAV files. */
function readerOf(format: AudioFormat): ReadSample {
  if (format.encoding === 'wav/ulaw') return (bytes, at) => mulawToLinear[bytes[at] ?? 0] ?? 0;
  if (format.encoding === 'wav/alaw') return (bytes, at) => alawToLinear[bytes[at] ?? 0] ?? 0;
  switch (format.bitDepth) {
    case 8:
      return (bytes, at) => ((bytes[at] ?? 128) - 128) << 8;
    case 16:
      return (bytes, at) => bytes.readInt16LE(at);
    case 24:
      return (bytes, at) => bytes.readInt16LE(at + 1);
    default:
      return (bytes, at) => bytes.readInt16LE(at + 2);
  }
}

/** Splits whole frames into one array of 16-bit samples for each channel. */
export function samplesOf(format: AudioFormat): (frames: Buffer) => Int16Array[] {
  const read = readerOf(format);
  const step = format.bitDepth / 8;
  const { channels } = format;
  const perFrame = frameBytes(format);
  return (frames) => {
    const count = Math.floor(frames.length / perFrame);
    return Array.from({ length: channels }, (_, channel) => {
      const samples = new Int16Array(count);
      let at = channel * step;
      for (let index = 0; index < count; index++, at += perFrame) samples[index] = read(frames, at);
      return samples;
    });
  };
}

/** A header may contain long lists of tags. If it does not end within this length, it is refused. */
const longestHeaderBytes = 65_536;

/** This many bytes at the start of a session are enough to tell whether there is a WAV header and where it ends. */
export const headerReachBytes = longestHeaderBytes + 12;

type ParsedHeader =
  | { outcome: 'incomplete' }
  | { outcome: 'none' }
  | { outcome: 'header'; headerBytes: number }
  | { outcome: 'contradiction'; reason: string };

/** Searches for a WAV header at the start of a session and compares it with the format declared in the POST. */
export function parseHeader(start: Buffer, declared: AudioFormat): ParsedHeader {
  const magic = Buffer.from('RIFF');
  const seen = start.subarray(0, 4);
  if (!magic.subarray(0, seen.length).equals(seen)) return { outcome: 'none' };
  if (start.length < 12) return { outcome: 'incomplete' };
  if (start.toString('latin1', 8, 12) !== 'WAVE') return { outcome: 'none' };
  let found = false;
  for (let at = 12; ;) {
    if (at > longestHeaderBytes) return contradiction('its WAV header has no end');
    if (start.length < at + 8) return { outcome: 'incomplete' };
    const id = start.toString('latin1', at, at + 4);
    const size = start.readUInt32LE(at + 4);
    if (id === 'data')
      return found
        ? { outcome: 'header', headerBytes: at + 8 }
        : contradiction('its WAV header has no format');
    if (size > longestHeaderBytes) return contradiction('its WAV header has no end');
    if (start.length < at + 8 + size) return { outcome: 'incomplete' };
    if (id === 'fmt ') {
      const reason = compare(start.subarray(at + 8, at + 8 + size), declared);
      if (reason !== undefined) return contradiction(reason);
      found = true;
    }
    at += 8 + size + (size % 2);
  }
}

function contradiction(reason: string): ParsedHeader {
  return { outcome: 'contradiction', reason };
}

const tags = { 'wav/pcm': 1, 'wav/alaw': 6, 'wav/ulaw': 7 } as const;

function compare(fmt: Buffer, declared: AudioFormat): string | undefined {
  if (fmt.length < 16) return 'its WAV header is cut short';
  const plain = fmt.readUInt16LE(0);
  // The extensible form has its real format tag in the first two bytes of its GUID.
  const tag = plain === 0xfffe && fmt.length >= 26 ? fmt.readUInt16LE(24) : plain;
  const said = {
    format: tag,
    channels: fmt.readUInt16LE(2),
    sample_rate: fmt.readUInt32LE(4),
    bit_depth: fmt.readUInt16LE(14),
  };
  const meant = {
    format: tags[declared.encoding],
    channels: declared.channels,
    sample_rate: declared.sampleRate,
    bit_depth: declared.bitDepth,
  };
  for (const name of ['format', 'channels', 'sample_rate', 'bit_depth'] as const)
    if (said[name] !== meant[name])
      return `WAV header says ${name} ${said[name]}, the session ${meant[name]}`;
  return undefined;
}

/** A WAV header for that many bytes of audio in the session's encoding. */
export function buildHeader(format: AudioFormat, dataBytes: number): Buffer {
  const tag = tags[format.encoding];
  const fmtBytes = tag === 1 ? 16 : 18;
  const factBytes = tag === 1 ? 0 : 12;
  const header = Buffer.alloc(12 + 8 + fmtBytes + factBytes + 8);
  const limit = 0xffff_ffff;
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(Math.min(limit, header.length - 8 + dataBytes), 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(fmtBytes, 16);
  header.writeUInt16LE(tag, 20);
  header.writeUInt16LE(format.channels, 22);
  header.writeUInt32LE(format.sampleRate, 24);
  header.writeUInt32LE(bytesPerSecond(format), 28);
  header.writeUInt16LE(frameBytes(format), 32);
  header.writeUInt16LE(format.bitDepth, 34);
  let at = 20 + fmtBytes;
  if (factBytes > 0) {
    header.write('fact', at, 'latin1');
    header.writeUInt32LE(4, at + 4);
    header.writeUInt32LE(Math.floor(dataBytes / frameBytes(format)), at + 8);
    at += factBytes;
  }
  header.write('data', at, 'latin1');
  header.writeUInt32LE(Math.min(limit, dataBytes), at + 4);
  return header;
}
