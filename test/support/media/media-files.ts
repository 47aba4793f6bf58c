import { execFileSync } from 'node:child_process';

/** The reason why files of other formats cannot be made or read here, for the name of a skipped test. */
export const ffmpegMissing: string | undefined = missing();

function missing(): string | undefined {
  try {
    execFileSync('ffmpeg', ['-version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'ffmpeg is not installed';
  }
}

export type WavOptions = {
  tag?: number;
  bits?: number;
  rateHz?: number;
  channels?: number;
  /** The data length that the header states. */
  saidBytes?: number;
  blockBytes?: number;
  /** Complete chunks between the format and the data. */
  before?: Buffer;
  after?: Buffer;
};

/** A WAV file of these bytes. Its header is true unless the options say otherwise. */
export function wavFile(data: Buffer, options: WavOptions = {}): Buffer {
  const { tag = 1, bits = 16, rateHz = 8_000, channels = 1 } = options;
  const { before = Buffer.alloc(0), after = Buffer.alloc(0) } = options;
  const blockBytes = options.blockBytes ?? (channels * bits) / 8;
  const format = Buffer.alloc(24);
  format.write('fmt ', 0, 'latin1');
  format.writeUInt32LE(16, 4);
  format.writeUInt16LE(tag, 8);
  format.writeUInt16LE(channels, 10);
  format.writeUInt32LE(rateHz, 12);
  format.writeUInt32LE((rateHz * blockBytes) >>> 0, 16);
  format.writeUInt16LE(blockBytes, 20);
  format.writeUInt16LE(bits, 22);
  return Buffer.concat([
    Buffer.from('RIFF'),
    uint32(36 + before.length + data.length + after.length),
    Buffer.from('WAVE'),
    format,
    before,
    Buffer.from('data'),
    uint32(options.saidBytes ?? data.length),
    data,
    after,
  ]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

export function bytesOf(samples: Int16Array): Buffer {
  return Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
}

/** Repeats the samples on each of the channels. */
export function interleaved(channels: readonly Int16Array[]): Int16Array {
  const [first = new Int16Array(0)] = channels;
  return Int16Array.from(
    { length: first.length * channels.length },
    (_, at) => channels[at % channels.length]?.[Math.floor(at / channels.length)] ?? 0,
  );
}
