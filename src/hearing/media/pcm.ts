import { alawToLinear, mulawToLinear } from '../../audio/g711.ts';
import { MediaError } from './media-error.ts';

/** The layout of samples in a file: channels interleaved, each sample in whole bytes. */
export type PcmFormat = {
  coding: 'unsigned' | 'signed' | 'float' | 'alaw' | 'mulaw' | 'foreign';
  bytesPerSample: number;
  isBigEndian: boolean;
  channels: number;
  rateHz: number;
};

/** The samples of each channel, with a full scale of 1. They are valid until the next block is requested. */
export type SampleBlock = { channels: Float32Array[]; frames: number };

/** All audio is converted to this rate for recognition. */
export const engineRateHz = 16_000;
export const maxChannels = 8;
const minRateHz = 1_000;
export const maxRateHz = 384_000;

/** Refuses layouts that no recording has, before memory is sized by them. */
export function checkLayout({ channels, rateHz }: { channels: number; rateHz: number }): void {
  if (channels < 1) throw new MediaError(422, 'the file says that it has 0 channels');
  if (channels > maxChannels)
    throw new MediaError(
      422,
      `the file has ${channels} channels; at most ${maxChannels} are read: send them in several files`,
    );
  if (rateHz < minRateHz || rateHz > maxRateHz)
    throw new MediaError(
      422,
      `the file states a sample rate of ${rateHz} Hz; ${minRateHz} to ${maxRateHz} Hz are read`,
    );
}

type SampleReader = (view: DataView, at: number) => number;

const readers: Record<string, SampleReader> = {
  'unsigned 1': (view, at) => (view.getUint8(at) - 128) / 128,
  'signed 2': (view, at) => view.getInt16(at, true) / 0x8000,
  // The lowest byte of longer integers is below the precision of 16 bits.
  'signed 3': (view, at) => (view.getInt16(at + 1, true) * 256 + view.getUint8(at)) / 0x80_0000,
  'signed 4': (view, at) => view.getInt32(at, true) / 0x8000_0000,
  'signed 2 big': (view, at) => view.getInt16(at, false) / 0x8000,
  'float 4': (view, at) => view.getFloat32(at, true),
  'float 8': (view, at) => view.getFloat64(at, true),
  'alaw 1': (view, at) => (alawToLinear[view.getUint8(at)] ?? 0) / 0x8000,
  'mulaw 1': (view, at) => (mulawToLinear[view.getUint8(at)] ?? 0) / 0x8000,
};

function readerOf({ coding, bytesPerSample, isBigEndian }: PcmFormat): SampleReader | undefined {
  return readers[`${coding} ${bytesPerSample}${isBigEndian ? ' big' : ''}`];
}

export function isReadable(format: PcmFormat): boolean {
  return readerOf(format) !== undefined;
}

/**
 * Splits whole frames into one array per channel, with a full scale of 1. The splitter reuses the arrays for the next
 * block.
 */
export function splitter(format: PcmFormat, maxFrames: number): (bytes: Buffer) => SampleBlock {
  const read = readerOf(format);
  if (!read) throw new MediaError(422, 'the samples of the file are of a kind that is not read');
  const step = format.bytesPerSample;
  const frameBytes = step * format.channels;
  const channels = Array.from({ length: format.channels }, () => new Float32Array(maxFrames));
  let framesBefore = 0;
  return (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const frames = Math.min(maxFrames, Math.floor(bytes.length / frameBytes));
    for (const [index, samples] of channels.entries()) {
      let at = index * step;
      for (let frame = 0; frame < frames; frame++, at += frameBytes)
        samples[frame] = read(view, at);
    }
    if (format.coding === 'float') refuseNonNumbers(channels, frames, framesBefore / format.rateHz);
    framesBefore += frames;
    return { channels, frames };
  };
}

/** Refuses samples that are not numbers. The resampler would spread one of them to all samples near it. */
function refuseNonNumbers(channels: Float32Array[], frames: number, fromS: number): void {
  for (const samples of channels)
    for (let frame = 0; frame < frames; frame++)
      if (!Number.isFinite(samples[frame]))
        throw new MediaError(
          422,
          `the file has floating-point samples that are not numbers (near second ${Math.floor(fromS)})`,
        );
}
