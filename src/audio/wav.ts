import { alawToLinear, mulawToLinear } from './g711.ts';

type Wav = {
  sampleRate: number;
  /** The linear samples of each channel. */
  channels: Int16Array[];
};

const formats = { pcm: 1, alaw: 6, mulaw: 7, extensible: 0xfffe } as const;
const headerBytes = 12;

/** Reads 8- and 16-bit PCM, A-law and mu-law. Throws an error with a plain sentence for anything else. */
export function readWav(file: Buffer): Wav {
  if (
    file.length < headerBytes ||
    file.toString('latin1', 0, 4) !== 'RIFF' ||
    file.toString('latin1', 8, 12) !== 'WAVE'
  )
    throw new Error('not a WAV file');
  const format = chunkOf(file, 'fmt ');
  const data = chunkOf(file, 'data');
  if (!format || format.length < 16 || !data)
    throw new Error('a WAV file without its format or its data');
  const tag = format.readUInt16LE(0);
  const kind = tag === formats.extensible && format.length >= 26 ? format.readUInt16LE(24) : tag;
  const count = format.readUInt16LE(2);
  const sampleRate = format.readUInt32LE(4);
  const samples = linear(data, kind, format.readUInt16LE(14));
  if (count < 1 || count > 32) throw new Error(`a WAV file with ${count} channels`);
  const frames = Math.floor(samples.length / count);
  const channels = Array.from({ length: count }, (_, channel) =>
    Int16Array.from({ length: frames }, (__, at) => samples[at * count + channel] ?? 0),
  );
  return { sampleRate, channels };
}

/**
 * Finds a chunk of the file. The last chunk may state more bytes than the file has, because a stream was cut off or its
 * length was unknown.
 */
function chunkOf(file: Buffer, name: string): Buffer | undefined {
  for (let at = headerBytes; at + 8 <= file.length;) {
    const length = file.readUInt32LE(at + 4);
    if (file.toString('latin1', at, at + 4) === name) return file.subarray(at + 8, at + 8 + length);
    at += 8 + length + (length % 2);
  }
  return undefined;
}

function linear(data: Buffer, kind: number, bits: number): Int16Array {
  if (kind === formats.mulaw) return Int16Array.from(data, (code) => mulawToLinear[code] ?? 0);
  if (kind === formats.alaw) return Int16Array.from(data, (code) => alawToLinear[code] ?? 0);
  if (kind === formats.pcm && bits === 8) return Int16Array.from(data, (byte) => (byte - 128) << 8);
  if (kind === formats.pcm && bits === 16)
    return Int16Array.from({ length: data.length >> 1 }, (_, at) => data.readInt16LE(at * 2));
  throw new Error(
    `a WAV file of a kind that is not read here (format ${kind}, ${bits} bit): convert it to 16-bit PCM`,
  );
}
