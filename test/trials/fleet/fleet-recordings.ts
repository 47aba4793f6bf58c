import { alawToLinear, mulawToLinear } from '../../../src/audio/g711.ts';
import type { Caller } from './fleet-caller.ts';

const headerBytes = 44;
const rateHz = 8_000;

export type HeardAgain = {
  /** Numbers of the caller's frames that a leg's channel has, in their order. */
  frames: Set<number>[];
  /** Frames that come twice, or behind a later one. */
  misplaced: number;
  /** Samples that are neither the caller's nor silence, in frames' lengths beyond the cut ones. */
  foreign: number;
};

/** Finds what the caller said in the recordings of its call: each frame of it is like no other. */
export function heardAgain(caller: Caller, wavs: readonly Buffer[]): HeardAgain {
  const samplesPerFrame = (caller.frameMs * rateHz) / 1_000;
  const numbers = new Map<string, number>();
  const frameBytes = samplesPerFrame * 2;
  const count = Math.floor(caller.audio.length / ((caller.frameMs * caller.bytesPerSecond) / 1_000)); // prettier-ignore
  const linear = Buffer.concat(
    Array.from({ length: count }, (_, number) => toLinear(caller.frameAt(number), caller.encoding)),
  );
  for (let number = 0; number < count; number++)
    numbers.set(keyOf(linear, number * frameBytes), number);
  const heard: HeardAgain = { frames: [], misplaced: 0, foreign: 0 };
  for (const [at] of caller.legs.entries()) {
    const frames = new Set<number>();
    for (const wav of wavs) readChannel(channelOf(wav, at), frames);
    heard.frames.push(frames);
  }
  return heard;

  function readChannel(channel: Buffer, frames: Set<number>): void {
    let last = -1;
    for (let at = 0; at + 2 <= channel.length;) {
      if (channel.readInt16LE(at) === 0 && isSilent(channel, at)) {
        at += 2;
        continue;
      }
      const number = at + frameBytes <= channel.length ? numbers.get(keyOf(channel, at)) : undefined; // prettier-ignore
      const whole = number === undefined ? undefined : linear.subarray(number * frameBytes, (number + 1) * frameBytes); // prettier-ignore
      if (number === undefined || whole?.equals(channel.subarray(at, at + frameBytes)) !== true) {
        heard.foreign += 1 / samplesPerFrame;
        at += 2;
        continue;
      }
      if (number <= last || frames.has(number)) heard.misplaced++;
      last = number;
      frames.add(number);
      at += frameBytes;
    }
  }
}

/** Eight samples tell one frame from all others. */
function keyOf(samples: Buffer, at: number): string {
  return samples.toString('latin1', at, at + 16);
}

/** A stretch of nothing: silence that was written in place of what was lost. */
function isSilent(samples: Buffer, at: number): boolean {
  const end = Math.min(samples.length, at + 16);
  for (let next = at; next < end; next++) if (samples[next] !== 0) return false;
  return true;
}

function channelOf(wav: Buffer, channel: number): Buffer {
  const frames = Math.floor((wav.length - headerBytes) / 4);
  const one = Buffer.alloc(frames * 2);
  for (let at = 0; at < frames; at++)
    one.writeInt16LE(wav.readInt16LE(headerBytes + at * 4 + channel * 2), at * 2);
  return one;
}

function toLinear(bytes: Buffer, encoding: Caller['encoding']): Buffer {
  if (encoding === 'slin') return bytes;
  const table = encoding === 'mulaw' ? mulawToLinear : alawToLinear;
  const linear = Buffer.alloc(bytes.length * 2);
  for (const [at, byte] of bytes.entries()) linear.writeInt16LE(table[byte] ?? 0, at * 2);
  return linear;
}
