import { closeSync, copyFileSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { MediaError } from './media-error.ts';

type DistinctChannel = { channels: number[]; path: string; samples: number };

/** Channels are compared in blocks of 100 ms. One word on one channel makes it distinct, however long the file is. */
const blockSamples = 1_600;
/**
 * A codec may introduce this difference between two equal channels: 40 dB below the louder one, or three steps of 16
 * bits.
 */
const maxRelativePower = 1e-4;
const maxAbsolutePower = 3 ** 2;

type Group = { channels: number[]; path: string; file: number };

/**
 * Writes each distinct channel to a file of its own. All channels begin as one group. A block in which some
 * channels differ divides their group, and the new group begins with a copy of the shared audio so far.
 *
 *   {0 1 2 3} ──block 7──▶ {0 1} {2 3} ──block 900──▶ {0 1} {2} {3}
 */
export class DistinctChannels {
  readonly #folder: string;
  readonly #maxSamples: number;
  readonly #blocks: Int16Array[];
  readonly #groups: Group[] = [];
  #filled = 0;
  #samples = 0;

  constructor(folder: string, channels: number, maxSamples: number) {
    this.#folder = folder;
    this.#maxSamples = maxSamples;
    this.#blocks = Array.from({ length: channels }, () => new Int16Array(blockSamples));
    this.#groups.push(this.#open(Array.from({ length: channels }, (_, channel) => channel)));
  }

  get samples(): number {
    return this.#samples + this.#filled;
  }

  get writtenBytes(): number {
    return this.#samples * 2 * this.#groups.length;
  }

  /** Takes one array for each channel, with a full scale of 1. */
  write(channels: readonly Float32Array[], samples: number): void {
    for (let from = 0; from < samples;) {
      const take = Math.min(blockSamples - this.#filled, samples - from);
      for (const [index, block] of this.#blocks.entries())
        quantise(channels[index] ?? new Float32Array(0), from, block, this.#filled, take);
      this.#filled += take;
      from += take;
      if (this.samples > this.#maxSamples)
        throw new MediaError(413, tooLong(this.#maxSamples / 16_000));
      if (this.#filled === blockSamples) this.#writeBlock();
    }
  }

  finish(): DistinctChannel[] {
    this.#writeBlock();
    for (const { file } of this.#groups) closeSync(file);
    return this.#groups
      .toSorted((a, b) => (a.channels[0] ?? 0) - (b.channels[0] ?? 0))
      .map(({ channels, path }) => ({ channels, path, samples: this.#samples }));
  }

  #writeBlock(): void {
    const length = this.#filled;
    for (const group of [...this.#groups]) this.#divide(group, length);
    for (const { channels, file } of this.#groups) {
      const block = this.#blocks[channels[0] ?? 0];
      if (block) writeAll(file, new Uint8Array(block.buffer, 0, length * 2));
    }
    this.#samples += length;
    this.#filled = 0;
  }

  /** The first channel keeps the file. Channels that differ from it move to groups of their own. */
  #divide(group: Group, length: number): void {
    const parts: number[][] = [];
    for (const channel of group.channels) {
      const part = parts.find(([first = channel]) => this.#isSame(first, channel, length));
      if (part) part.push(channel);
      else parts.push([channel]);
    }
    const [kept = [], ...others] = parts;
    group.channels = kept;
    for (const channels of others) this.#groups.push(this.#open(channels, group));
  }

  #isSame(first: number, other: number, length: number): boolean {
    const a = this.#blocks[first];
    const b = this.#blocks[other];
    if (!a || !b) return false;
    let difference = 0;
    let louder = 0;
    let softer = 0;
    for (let index = 0; index < length; index++) {
      const x = a[index] ?? 0;
      const y = b[index] ?? 0;
      difference += (x - y) ** 2;
      louder += x * x;
      softer += y * y;
    }
    const power = Math.max(louder, softer);
    return difference <= Math.max(length * maxAbsolutePower, power * maxRelativePower);
  }

  #open(channels: number[], like?: Group): Group {
    const path = join(this.#folder, `channel-${channels[0] ?? 0}.pcm`);
    if (like) copyFileSync(like.path, path);
    // The copy already contains samples, so the next ones are appended.
    return { channels, path, file: openSync(path, like ? 'a' : 'w', 0o600) };
  }
}

export function tooLong(maxSeconds: number): string {
  return `the audio is longer than ${Math.round((maxSeconds / 60) * 10) / 10} minutes, the most that is transcribed`;
}

function quantise(
  from: Float32Array,
  fromAt: number,
  to: Int16Array,
  toAt: number,
  length: number,
): void {
  for (let index = 0; index < length; index++) {
    const value = Math.round((from[fromAt + index] ?? 0) * 0x8000);
    to[toAt + index] = Math.max(-0x8000, Math.min(0x7fff, value));
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
}
