import { linearToAlaw, linearToMulaw } from '../../audio/g711.ts';
import type { StreamEncoding } from '../streams.ts';

/** Times of words are exact to about this many seconds. */
const marginS = 0.2;
const toneHz = 1_000;
const toneLevel = 3_000;

export type HiddenSpan = { start: number; end: number };

/** The place of a leg's audio in the call, with its format. */
type TonedLeg = {
  encoding: StreamEncoding;
  sampleRate: number;
  channels: 1 | 2;
  /** The second of the call at which the leg's audio begins. */
  offsetS: number;
};

/** The value of the tone at a frame of the call, as a linear sample. */
export function toneAt(frame: number, sampleRate: number): number {
  return Math.round(toneLevel * Math.sin((2 * Math.PI * toneHz * frame) / sampleRate));
}

/** The first frame of the tone and the first frame after it. */
export function framesOf({ start, end }: HiddenSpan, sampleRate: number): [number, number] {
  return [Math.floor((start - marginS) * sampleRate), Math.ceil((end + marginS) * sampleRate)];
}

/**
 * Writes the tone over the hidden seconds of a piece of a leg's audio, in every channel. `position` is the leg position
 * of the piece's first byte. A sample that is divided between two pieces is covered in both. Repeating it changes
 * nothing.
 */
export function coverWithTone(
  bytes: Buffer,
  position: number,
  leg: TonedLeg,
  hidden: readonly HiddenSpan[],
): void {
  const { encoding, sampleRate, channels, offsetS } = leg;
  const perSample = encoding === 'pcm16' ? 2 : 1;
  const perFrame = perSample * channels;
  const whole = Buffer.alloc(2);
  for (const { start, end } of hidden) {
    const span = { start: start - offsetS, end: end - offsetS };
    const [first, last] = framesOf(span, sampleRate);
    const from = Math.max(position, first * perFrame);
    const to = Math.min(position + bytes.length, last * perFrame);
    for (let at = from; at < to; at++) {
      encodeTone(whole, toneAt(Math.floor(at / perFrame), sampleRate), encoding);
      bytes[at - position] = whole[at % perSample] ?? 0;
    }
  }
}

function encodeTone(into: Buffer, value: number, encoding: StreamEncoding): void {
  switch (encoding) {
    case 'mulaw':
      into[0] = linearToMulaw(value);
      break;
    case 'alaw':
      into[0] = linearToAlaw(value);
      break;
    case 'pcm8':
      into[0] = 128 + Math.round(value / 256);
      break;
    case 'pcm16':
      into.writeInt16LE(value);
  }
}
