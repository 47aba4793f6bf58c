import { alawToLinear, mulawToLinear } from '../../audio/g711.ts';
import { frameBytes, type AudioFormat } from './format.ts';

type ReadSample = (bytes: Buffer, at: number) => number;

/** 24 and 32 bit keep their upper 16 bits; 8 bit PCM is unsigned, as in WAV files. */
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

/** Whole frames in, one array of 16-bit samples per channel out. */
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
