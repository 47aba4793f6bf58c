import { type AudioFormat, bytesPerSecond, frameBytes, parseHeader } from './audio-format.ts';

export type Taken =
  | {
      outcome: 'taken';
      /** The whole frames that can be recognised now. May be empty. */
      frames: Buffer;
      byteRange: [number, number];
      timeRange: [number, number];
    }
  | { outcome: 'contradiction'; reason: string };

/**
 * Counts a session's bytes and cuts them into whole frames. Clients split audio at any byte, so the incomplete end of a
 * message waits for the next message.
 */
export class FrameCutter {
  readonly #format: AudioFormat;
  readonly #perFrame: number;
  readonly #perSecond: number;
  #bytes = 0;
  #headerBytes = 0;
  /** The held bytes: everything until a WAV header is found or excluded, then less than one frame. */
  #held: Buffer = Buffer.alloc(0);
  #settled = false;

  constructor(format: AudioFormat) {
    this.#format = format;
    this.#perFrame = frameBytes(format);
    this.#perSecond = bytesPerSecond(format);
  }

  /** All accepted bytes including the header, as acks count them. */
  get bytes(): number {
    return this.#bytes;
  }

  get headerBytes(): number {
    return this.#headerBytes;
  }

  /** The number of accepted whole frames. */
  get frames(): number {
    return Math.floor(Math.max(0, this.#bytes - this.#headerBytes) / this.#perFrame);
  }

  /** The length of the accepted audio in seconds. */
  get durationS(): number {
    return this.secondsAt(this.#bytes);
  }

  /** Restores the counts after a restart from the start and the end of the stored audio. */
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
    // A header that came in several messages is now complete. The held bytes begin with it.
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

  /** The position of a byte in the session's audio, in seconds. */
  secondsAt(bytes: number): number {
    return Math.max(0, bytes - this.#headerBytes) / this.#perSecond;
  }
}
