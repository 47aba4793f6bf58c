import { type AudioFormat, bytesPerSecond, frameBytes, parseHeader } from './audio-format.ts';

export type Taken =
  | {
      outcome: 'taken';
      /** Whole frames that can be recognised now; possibly none. */
      frames: Buffer;
      byteRange: [number, number];
      timeRange: [number, number];
    }
  | { outcome: 'contradiction'; reason: string };

/**
 * Counts a session's bytes and cuts them at frame borders. Pure: where the bytes are kept is not its
 * business. Clients split their backlog at sizes that no frame of 3, 5 or 7 bytes fits into, so the tail
 * of a message waits for the head of the next.
 */
export class FrameCutter {
  readonly #format: AudioFormat;
  readonly #perFrame: number;
  readonly #perSecond: number;
  #bytes = 0;
  #headerBytes = 0;
  /** Before the header question is settled: everything; after it: less than one frame. */
  #held: Buffer = Buffer.alloc(0);
  #settled = false;

  constructor(format: AudioFormat) {
    this.#format = format;
    this.#perFrame = frameBytes(format);
    this.#perSecond = bytesPerSecond(format);
  }

  /** All bytes accepted, header included: what acks count. */
  get bytes(): number {
    return this.#bytes;
  }

  get headerBytes(): number {
    return this.#headerBytes;
  }

  /** Whole frames accepted. */
  get frames(): number {
    return Math.floor(Math.max(0, this.#bytes - this.#headerBytes) / this.#perFrame);
  }

  /** Seconds of audio accepted. */
  get durationS(): number {
    return this.secondsAt(this.#bytes);
  }

  /** After a restart: the counts as they were, from the beginning and the tail of what was kept. */
  static resumed(format: AudioFormat, bytes: number, start: Buffer, tail: Buffer): FrameCutter {
    const cutter = new FrameCutter(format);
    const header = parseHeader(start, format);
    cutter.#bytes = bytes;
    if (header.outcome === 'incomplete') {
      cutter.#held = Buffer.from(start);
      return cutter;
    }
    cutter.#settled = true;
    if (header.outcome === 'header') cutter.#headerBytes = header.headerBytes;
    const left = (bytes - cutter.#headerBytes) % cutter.#perFrame;
    cutter.#held = left === 0 ? Buffer.alloc(0) : Buffer.from(tail.subarray(tail.length - left));
    return cutter;
  }

  take(bytes: Buffer): Taken {
    const from = this.#bytes;
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    if (!this.#settled) {
      const header = parseHeader(all, this.#format);
      if (header.outcome === 'contradiction') return header;
      if (header.outcome === 'incomplete') {
        this.#bytes += bytes.length;
        this.#held = Buffer.from(all);
        return {
          outcome: 'taken',
          frames: Buffer.alloc(0),
          byteRange: [from, this.#bytes],
          timeRange: [0, 0],
        };
      }
      this.#settled = true;
      if (header.outcome === 'header') this.#headerBytes = header.headerBytes;
    }
    this.#bytes += bytes.length;
    // The header arrived in earlier messages at most in part: what is held then still begins with it.
    const start = this.#headerBytes > 0 && from < this.#headerBytes ? this.#headerBytes : 0;
    const usable = all.subarray(start);
    const whole = usable.length - (usable.length % this.#perFrame);
    this.#held = whole === usable.length ? Buffer.alloc(0) : Buffer.from(usable.subarray(whole));
    return {
      outcome: 'taken',
      frames: usable.subarray(0, whole),
      byteRange: [from, this.#bytes],
      timeRange: [this.secondsAt(from), this.secondsAt(this.#bytes)],
    };
  }

  /** Where a byte of the session lies on its audio clock. */
  secondsAt(bytes: number): number {
    return Math.max(0, bytes - this.#headerBytes) / this.#perSecond;
  }
}
